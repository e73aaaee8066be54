"""``kubothek dataset UUID index``: secondary indices, built, dropped and listed."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import click
from pyarrow import types

from kubothek import build_dataset_indices, drop_dataset_indices
from kubothek.cli.commands import Commands
from kubothek.cli.dataset.facts import index_facts
from kubothek.cli.dataset.info import index_rows
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.layout import block
from kubothek.cli.options import dry_run_option, json_option, yes_option
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.errors import UnknownColumnError
from kubothek.plan.index_merge import LABELS


@click.group(cls=Commands)
def index() -> None:
    """Build, drop or list secondary indices."""


@index.command()
@click.argument("columns", nargs=-1, required=True)
@json_option
@click.pass_obj
def build(target: DatasetTarget, columns: tuple[str, ...], as_json: bool) -> None:
    """Build indices on columns, from the data files.

    COLUMNS are names, or patterns such as "TEMP*", which stand for all columns without an index that can have one.
    """
    store = target.store
    snapshot = load_snapshot(target.uuid, store)
    wanted = _expand(columns, _without_index(snapshot), f"column without an index in dataset {target.uuid!r}")
    with waiting(f"building {_indices(wanted)}"):
        build_dataset_indices(target.uuid, store, wanted)
        facts = index_facts(load_snapshot(target.uuid, store), wanted)
    if as_json:
        print_json({"uuid": target.uuid, "store": store.url, "built": facts})
        return
    done(open_console(target.invocation), f"built {_indices(wanted)} of {target.uuid}")


@index.command()
@click.argument("columns", nargs=-1, required=True)
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def drop(target: DatasetTarget, columns: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool) -> None:
    """Drop indices.

    COLUMNS are names, or patterns such as "TEMP*", which stand for all indexed columns that match. Data stays as it is.
    """
    store = target.store
    snapshot = load_snapshot(target.uuid, store)
    wanted = _expand(columns, snapshot.index_columns, f"index in dataset {target.uuid!r}")
    if not dry_run:
        if not yes:
            confirm(f"Drop {_indices(wanted)} of {target.uuid}?")
        drop_dataset_indices(target.uuid, store, wanted)
    if as_json:
        print_json({"uuid": target.uuid, "store": store.url, "dry_run": dry_run, "dropped": list(wanted)})
    elif dry_run:
        click.echo(f"would drop {_indices(wanted)} of {target.uuid}")
    else:
        done(open_console(target.invocation), f"dropped {_indices(wanted)} of {target.uuid}")


@index.command(name="list")
@json_option
@click.pass_obj
def list_indices(target: DatasetTarget, as_json: bool) -> None:
    """List indices with the types and numbers of their values."""
    snapshot = load_snapshot(target.uuid, target.store)
    facts = index_facts(snapshot, snapshot.index_columns)
    if as_json:
        print_json({"uuid": target.uuid, "store": snapshot.store.url, "indices": facts})
    elif facts:
        open_console(target.invocation).print(block(target.uuid, index_rows(facts)))
    else:
        click.echo(f"{target.uuid} has no secondary indices")


def _expand(patterns: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the columns that are meant: names as they are, patterns as all that they match.

    Raises
    ------
    UnknownColumnError
        Patterns match nothing; all of them are named.
    """
    found = {one: [one] if one in known or not set(one) & set("*?[") else _matches(one, known) for one in patterns}
    idle = [one for one, columns in found.items() if not columns]
    if idle:
        raise UnknownColumnError(
            f"No {what} matches {', '.join(map(repr, idle))}; there are {', '.join(known) or 'none'}.",
            columns=tuple(idle),
        )
    return tuple(dict.fromkeys(column for columns in found.values() for column in columns))


def _matches(pattern: str, known: Sequence[str]) -> list[str]:
    return [column for column in known if fnmatchcase(column, pattern)]


def _without_index(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the columns on which an index can be built."""
    fields = {field.name: field.type for schema in snapshot.schemas.values() for field in schema}
    there = {*snapshot.partition_keys, *snapshot.index_columns, LABELS}
    return tuple(n for n, t in fields.items() if n not in there and not types.is_nested(t) and not types.is_null(t))


def _indices(columns: Sequence[str]) -> str:
    return f"the {'index' if len(columns) == 1 else 'indices'} on {', '.join(columns)}"
