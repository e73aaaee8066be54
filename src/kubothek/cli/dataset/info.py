"""``kubothek dataset UUID info``: what a dataset holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from kubothek.cli.dataset.facts import dataset_facts, size_text
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.layout import block
from kubothek.cli.options import json_option
from kubothek.cli.terminal import open_console, print_json
from kubothek.dataset.snapshot import load_snapshot
from kubothek.model.display import plural, printable
from kubothek.model.header import SINGLE_TABLE
from kubothek.plan.apply import CREATION_TIME


@click.command()
@json_option
@click.pass_obj
def info(target: DatasetTarget, as_json: bool) -> None:
    """Show schema, partitions, indices and metadata.

    Rows and bytes are those that the dataset's header records; no data file is read.
    """
    facts = dataset_facts(load_snapshot(target.uuid, target.store))
    if as_json:
        print_json(facts)
        return
    console = open_console(target.invocation)
    for number, part in enumerate(_blocks(facts)):
        if number:
            console.print()
        console.print(part)


def _blocks(facts: dict[str, Any]) -> Iterator[RenderableType]:
    yield block(facts["uuid"], [field_row("store", facts["store"]), *size_rows(facts)])
    for table, columns in facts["tables"].items():
        rows = [(column["name"], _type(column, facts["partition_keys"])) for column in columns]
        yield block("schema" if table == SINGLE_TABLE else f"schema of {table}", rows)
    if facts["indices"]:
        yield block("indices", index_rows(facts["indices"]))
    metadata = metadata_lines(facts["metadata"])
    if metadata:
        yield block("metadata", [(line,) for line in metadata])


def field_row(name: str, value: RenderableType) -> tuple[Text, RenderableType]:
    """Return what is known of something under a name, as a line for people."""
    return Text(name, style="dim"), value


def size_rows(facts: dict[str, Any]) -> list[tuple[Text, RenderableType]]:
    """Return version, age and size of a dataset as lines for people."""
    keys = facts["partition_keys"]
    fields = {
        "version": "-" if facts["version"] is None else str(facts["version"]),
        "created": _time(facts["created"]),
        "partitions": f"{facts['partitions']:,}" + (f", by {', '.join(keys)}" if keys else ""),
        "rows": "not recorded" if facts["rows"] is None else f"{facts['rows']:,}",
        "size": "not recorded" if facts["bytes"] is None else size_text(facts["bytes"]),
    }
    return [field_row(name, value) for name, value in fields.items()]


def metadata_lines(metadata: Mapping[str, Any]) -> list[str]:
    """Return what users keep in a dataset's metadata as lines for people; none where that is nothing."""
    kept = {key: value for key, value in metadata.items() if key != CREATION_TIME}
    return json.dumps(kept, indent=2, ensure_ascii=False).splitlines() if kept else []


def _time(created: Any) -> str:
    """Return a time for people; what is none stays as it is."""
    try:
        return f"{datetime.fromisoformat(created):%Y-%m-%d %H:%M:%S} UTC"
    except (TypeError, ValueError):
        return "-" if created is None else str(created)


def _type(column: dict[str, str], partition_keys: list[str]) -> Text:
    text = Text(printable(column["type"]))
    return text.append("  partition key", "cyan") if column["name"] in partition_keys else text


def index_rows(indices: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return indices as lines for people."""
    return [
        (index["column"], index["type"] or "-", "-" if index["values"] is None else plural(index["values"], "value"))
        for index in indices
    ]
