"""``kubothek dataset UUID index``: secondary indices, built, dropped and listed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click
from pyarrow import types

from kubothek import build_dataset_indices, drop_dataset_indices
from kubothek.cli.commands import Commands
from kubothek.cli.dataset.facts import index_facts
from kubothek.cli.dataset.info import index_rows
from kubothek.cli.globs import describe_idle, is_pattern, match_names, merge
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.layout import block
from kubothek.cli.options import dry_run_option, json_option, yes_option
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.errors import InvalidInputError, UnknownColumnError
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
    build_indices(target, columns, as_json)


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
    drop_indices(target, columns, dry_run, yes, as_json)


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


def build_indices(target: DatasetTarget, patterns: Sequence[str], as_json: bool) -> None:
    """Build the indices that patterns stand for, and say so."""
    store = target.store
    snapshot = load_snapshot(target.uuid, store)
    wanted = _expand(patterns, _without_index(snapshot), f"column without an index in dataset {target.uuid!r}")
    with waiting(f"building {_indices(wanted)}"):
        build_dataset_indices(target.uuid, store, wanted)
        facts = index_facts(load_snapshot(target.uuid, store), wanted)
    if as_json:
        print_json({"uuid": target.uuid, "store": store.url, "built": facts})
        return
    done(open_console(target.invocation), f"built {_indices(wanted)} of {target.uuid}")


def drop_indices(
    target: DatasetTarget,
    patterns: Sequence[str],
    dry_run: bool,
    yes: bool,
    as_json: bool,
    needed: Collection[str] = (),
) -> None:
    """Drop the indices that patterns stand for, after a question, and say so.

    Raises
    ------
    UnknownColumnError
        Patterns match no index.
    InvalidInputError
        An index on one of the ``needed`` columns is named; patterns do not stand for them.
    """
    store = target.store
    known = [name for name in load_snapshot(target.uuid, store).index_columns if name not in needed]
    wanted = _expand(patterns, known, f"index in dataset {target.uuid!r}")
    kept = [name for name in wanted if name in needed]
    if kept:
        raise InvalidInputError(
            f"The cube needs {_indices(kept)} of {target.uuid!r}, the seed; "
            f"{'there are others on ' + ', '.join(known) if known else 'there are no others'}.",
            columns=tuple(kept),
        )
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


def _expand(patterns: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the columns that are meant: names as they are, patterns as all that they match.

    Raises
    ------
    UnknownColumnError
        Patterns match nothing; all of them are named.
    """
    found = match_names(patterns, known)
    found |= {one: (one,) for one in patterns if not is_pattern(one)}  # the library says what is wrong with a name
    message = describe_idle(found, what, known)
    if message:
        raise UnknownColumnError(message, columns=tuple(one for one, names in found.items() if not names))
    return merge(found)


def _without_index(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the columns on which an index can be built."""
    fields = {field.name: field.type for schema in snapshot.schemas.values() for field in schema}
    there = {*snapshot.partition_keys, *snapshot.index_columns, LABELS}
    return tuple(n for n, t in fields.items() if n not in there and not types.is_nested(t) and not types.is_null(t))


def _indices(columns: Sequence[str]) -> str:
    return f"the {'index' if len(columns) == 1 else 'indices'} on {', '.join(columns)}"
