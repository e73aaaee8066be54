"""``kubothek dataset UUID copy``."""

from __future__ import annotations

import click

from kubothek import copy_dataset
from kubothek.cli.dataset.facts import extent, size_facts
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.options import json_option, to_store_options
from kubothek.cli.terminal import done, open_console, print_json, waiting
from kubothek.dataset.snapshot import load_snapshot
from kubothek.store.interface import Store


@click.command()
@click.option("--to-uuid", metavar="UUID", help="Name of the copy; the same if not given.")
@to_store_options
@click.option("--overwrite", is_flag=True, help="Replace a dataset that is there already.")
@json_option
@click.pass_obj
def copy(target: DatasetTarget, to_uuid: str | None, other: Store | None, overwrite: bool, as_json: bool) -> None:
    """Copy a dataset to another name or store."""
    if to_uuid is None and other is None:
        raise click.UsageError("Say where to: with --to-uuid, --to-store or both.")
    store = target.store
    uuid = target.uuid if to_uuid is None else to_uuid
    with waiting(f"copying {target.uuid}"):
        copy_dataset(target.uuid, store, to_uuid=to_uuid, to_store=other, overwrite=overwrite)
        facts = size_facts(load_snapshot(uuid, other or store))
    if as_json:
        print_json(facts)
        return
    done(open_console(target.invocation), f"copied {target.uuid} to {uuid} in {facts['store']}: {extent(facts)}")
