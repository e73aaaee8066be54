"""``kubothek dataset UUID gc``: deletes files that nothing refers to any more."""

from __future__ import annotations

from datetime import timedelta

import click

from kubothek import garbage_collect_dataset
from kubothek.cli.garbage import Garbage, Spared, clean
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.options import dry_run_option, json_option, keep_option, older_than_option, yes_option
from kubothek.codec.keys import private_root


@click.command()
@older_than_option
@keep_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def gc(
    target: DatasetTarget, older_than: timedelta, keep: int | timedelta | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete files that nothing refers to any more.

    Writers that failed leave such files behind, and so do versions that are given up; the last ones stay, and whatever
    was current a while ago. All that goes is listed before.
    """
    uuid, store = target.uuid, target.store

    def collect(spared: Spared, dry_run: bool) -> list[str]:
        return garbage_collect_dataset(uuid, store, older_than=spared.older_than, keep=spared.keep, dry_run=dry_run)

    garbage = Garbage({"uuid": uuid, "store": store.url}, store, collect, (f"{uuid}/", f"{uuid}.", private_root(uuid)))
    clean(garbage, target.invocation, Spared(older_than, keep), dry_run=dry_run, yes=yes, as_json=as_json)
