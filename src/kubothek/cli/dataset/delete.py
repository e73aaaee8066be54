"""``kubothek dataset UUID delete``: asks, and deletes a dataset."""

from __future__ import annotations

import click

from kubothek import delete_dataset
from kubothek.cli.dataset.facts import extent, size_facts
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.options import dry_run_option, json_option, yes_option
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.dataset.snapshot import find_snapshot, load_snapshot


@click.command()
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def delete(target: DatasetTarget, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete a dataset.

    A deletion that was cut short is finished, without asking again.
    """
    store = target.store
    snapshot = load_snapshot(target.uuid, store) if dry_run else find_snapshot(target.uuid, store)
    if snapshot is None:  # nothing, which is an error, or what a deletion has left
        facts, what = {"uuid": target.uuid, "store": store.url}, f"what was left of {target.uuid} in {store.url}"
    else:
        facts = size_facts(snapshot)
        what = f"{target.uuid} with {extent(facts)} from {store.url}"
        if not (dry_run or yes):
            confirm(f"Delete {what}? This cannot be undone.")
    if not dry_run:
        with waiting(f"deleting {target.uuid}"):
            delete_dataset(target.uuid, store)
    if as_json:
        print_json({**facts, "dry_run": dry_run})
    elif dry_run:
        click.echo(f"would delete {what}")
    else:
        done(open_console(target.invocation), f"deleted {what}")
