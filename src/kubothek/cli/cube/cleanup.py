"""``kubothek CUBE cleanup``: deletes files of a cube that nothing refers to any more."""

from __future__ import annotations

from datetime import timedelta

import click

from kubothek import cleanup_cube
from kubothek.cli.garbage import Garbage, Spared, clean
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.options import dry_run_option, json_option, keep_option, older_than_option, yes_option
from kubothek.codec.keys import private_root
from kubothek.model.cube import SEPARATOR


@click.command()
@older_than_option
@keep_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def cleanup(
    target: CubeTarget, older_than: timedelta, keep: int | timedelta | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete files that nothing refers to any more.

    Writers that failed leave such files behind, and so do datasets that are gone and versions that are given up; the
    last ones of each dataset stay, and whatever was current a while ago. All that goes is listed before.
    """
    store, start = target.store, target.uuid_prefix + SEPARATOR

    def collect(spared: Spared, dry_run: bool) -> list[str]:
        return cleanup_cube(target.uuid_prefix, store, older_than=spared.older_than, keep=spared.keep, dry_run=dry_run)

    facts = {"cube": target.uuid_prefix, "store": store.url}
    garbage = Garbage(facts, store, collect, (start, private_root(start).removesuffix("/")))
    clean(garbage, target.invocation, Spared(older_than, keep), dry_run=dry_run, yes=yes, as_json=as_json)
