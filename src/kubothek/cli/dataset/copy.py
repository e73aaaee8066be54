"""``kubothek dataset UUID copy``."""

from __future__ import annotations

import click

from kubothek import copy_dataset
from kubothek.cli.dataset.facts import extent, size_facts
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.options import json_option, parse_key_value
from kubothek.cli.terminal import done, open_console, print_json, waiting
from kubothek.dataset.snapshot import load_snapshot
from kubothek.store.interface import Store


@click.command()
@click.option("--to-uuid", metavar="UUID", help="Name of the copy; the same if not given.")
@click.option("--to-store", metavar="URL", help="Store of the copy; the same if not given.")
@click.option(
    "--to-store-option",
    "to_store_options",
    metavar="KEY=VALUE",
    multiple=True,
    type=parse_key_value,
    help="An option of that store; may be given several times.",
)
@click.option("--overwrite", is_flag=True, help="Replace a dataset that is there already.")
@json_option
@click.pass_obj
def copy(
    target: DatasetTarget,
    to_uuid: str | None,
    to_store: str | None,
    to_store_options: tuple[tuple[str, str | bool], ...],
    overwrite: bool,
    as_json: bool,
) -> None:
    """Copy a dataset to another name or store."""
    if to_uuid is None and to_store is None:
        raise click.UsageError("Say where to: with --to-uuid, --to-store or both.")
    if to_store_options and to_store is None:
        raise click.UsageError("--to-store-option goes with --to-store.")
    store = target.store
    other = store if to_store is None else Store(to_store, **dict(to_store_options))
    uuid = target.uuid if to_uuid is None else to_uuid
    with waiting(f"copying {target.uuid}"):
        copy_dataset(target.uuid, store, to_uuid=to_uuid, to_store=to_store and other, overwrite=overwrite)
        facts = size_facts(load_snapshot(uuid, other))
    if as_json:
        print_json(facts)
        return
    done(open_console(target.invocation), f"copied {target.uuid} to {uuid} in {other.url}: {extent(facts)}")
