"""``kubothek dataset UUID gc``: deletes files that nothing refers to any more."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta
from itertools import chain

import click

from kubothek import garbage_collect_dataset
from kubothek.cli.dataset.facts import size_text
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.layout import print_listing
from kubothek.cli.options import dry_run_option, json_option, parse_duration, yes_option
from kubothek.cli.render import plural
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.codec.keys import private_root
from kubothek.store.interface import Store


@click.command()
@click.option(
    "--older-than",
    metavar="DURATION",
    type=parse_duration,
    default="1d",
    show_default=True,
    help="Spare what is younger, as a writer or reader may need it; such as 30m, 12h or 7d.",
)
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def gc(target: DatasetTarget, older_than: timedelta, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete files that nothing refers to any more.

    Writers that failed and commits that replaced files leave such files behind. They are listed before they go.
    """
    store, begin = target.store, time.monotonic()
    with waiting("looking for what nothing refers to"):
        found = garbage_collect_dataset(target.uuid, store, older_than=older_than, dry_run=True)
        sizes = _sizes(found, target.uuid, store)
    if not as_json:
        print_listing(("object", found), ("size", [size_text(sizes.get(key)) for key in found]))
    gone = found
    if found and not dry_run:
        if not yes:
            confirm(f"Delete {_amount(found, sizes)}?")
        with waiting(f"deleting {_amount(found, sizes)}"):
            # What has only grown old enough since it was listed stays.
            since = timedelta(seconds=time.monotonic() - begin)
            gone = garbage_collect_dataset(target.uuid, store, older_than=older_than + since)
    if as_json:
        objects = [{"key": key, "bytes": sizes.get(key)} for key in gone]
        print_json({"uuid": target.uuid, "store": store.url, "dry_run": dry_run, "objects": objects})
    elif dry_run and found:
        click.secho(f"{_amount(found, sizes)} would be deleted", dim=True)
    else:
        done(
            open_console(target.invocation),
            f"deleted {_amount(gone, sizes)}" if found else "there is nothing to delete",
        )


def _sizes(keys: Iterable[str], uuid: str, store: Store) -> dict[str, int]:
    """Return the bytes of those objects that a listing shows."""
    wanted = set(keys)
    prefixes = (f"{uuid}/", f"{uuid}.", private_root(uuid)) if wanted else ()
    listed = chain.from_iterable(store.list(prefix) for prefix in prefixes)
    return {info.key: info.size for info in listed if info.key in wanted}


def _amount(keys: list[str], sizes: dict[str, int]) -> str:
    return f"{plural(len(keys), 'object')}, {size_text(sum(sizes.get(key, 0) for key in keys))}"
