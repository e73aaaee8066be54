"""``kubothek dataset UUID partitions``: one line per partition."""

from __future__ import annotations

from typing import Any

import click
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.cli.dataset.facts import size_facts, size_text, total
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.layout import print_listing
from kubothek.cli.options import json_option
from kubothek.cli.render import cell_text
from kubothek.cli.terminal import print_json
from kubothek.dataset.scan import open_scan
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.errors import UnindexedColumnError
from kubothek.model.condition import Condition
from kubothek.model.display import plural
from kubothek.model.header import FILE_PREFIX
from kubothek.model.where import parse_where


@click.command()
@click.option(
    "--where", metavar="CONDITION", help="""Only those that can match, such as 'MONTH == 7 & TAILNUM == "N1"'."""
)
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="List at most this many.")
@json_option
@click.pass_obj
def partitions(target: DatasetTarget, where: str | None, limit: int | None, as_json: bool) -> None:
    """List partitions with their rows and sizes.

    A condition looks at partition columns and indexed columns. It selects the partitions that hold a matching row, as
    far as these can tell: an index knows which values there are in a partition, not in which of its rows.
    """
    snapshot = load_snapshot(target.uuid, target.store)
    found = snapshot.partitions if where is None else _matching(snapshot, parse_where(where))
    listed = found if limit is None else found.slice(0, limit)
    if as_json:
        print_json(_facts(snapshot, found, listed))
        return
    print_listing(
        ("partition", listed["label"].to_pylist()),
        ("rows", [cell_text(rows) for rows in listed["rows"].to_pylist()]),
        ("size", [size_text(size) for size in listed["bytes"].to_pylist()]),
    )
    click.secho(_summary(snapshot, found, listed), dim=True)


def _matching(snapshot: Snapshot, condition: Condition) -> pa.Table:
    """Return the partitions that partition values and indices do not exclude."""
    names = (table for table, schema in snapshot.schemas.items() if condition.columns <= set(schema.names))
    scan = open_scan(snapshot, where=condition, table=next(names, snapshot.tables[0]))
    deciding = (*snapshot.partition_keys, *snapshot.index_columns)
    unindexed = sorted(condition.columns.difference(deciding))
    if unindexed:
        raise UnindexedColumnError(
            f"Which partitions match {', '.join(map(repr, unindexed))} is only known from their rows. --where looks at "
            f"partition columns and indexed columns, here {', '.join(deciding) or 'none'}.",
            columns=tuple(unindexed),
        )
    labels = scan.plan.files[0].column("label").combine_chunks()
    return snapshot.partitions.filter(pc.is_in(snapshot.partitions["label"], value_set=labels))


def _facts(snapshot: Snapshot, found: pa.Table, listed: pa.Table) -> dict[str, Any]:
    rows = listed.select(["label", "rows", "bytes"]).to_pylist()
    files = listed.select([FILE_PREFIX + table for table in snapshot.tables]).rename_columns(list(snapshot.tables))
    listing = [row | {"files": keys} for row, keys in zip(rows, files.to_pylist(), strict=True)]
    whole = size_facts(snapshot)
    return {"uuid": whole["uuid"], "store": whole["store"], "matching": found.num_rows, "partitions": listing}


def _summary(snapshot: Snapshot, found: pa.Table, listed: pa.Table) -> str:
    of = "" if found.num_rows == snapshot.partitions.num_rows else f" of {snapshot.partitions.num_rows:,}"
    rows, size = total(found["rows"]), total(found["bytes"])
    parts = [f"{found.num_rows:,}{of} partition{'' if found.num_rows == 1 and not of else 's'}"]
    parts += [] if rows is None else [plural(rows, "row")]
    parts += [] if size is None else [size_text(size)]
    cut = f"; {listed.num_rows:,} listed" if listed.num_rows < found.num_rows else ""
    return ", ".join(parts) + cut
