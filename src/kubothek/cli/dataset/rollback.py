"""``kubothek dataset UUID rollback VERSION``: asks, and brings back an old version."""

from __future__ import annotations

from datetime import datetime

import click

from kubothek.cli.dataset.facts import extent, size_facts
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.options import dry_run_option, json_option, parse_version, yes_option
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.dataset.at import snapshot_at
from kubothek.dataset.rollback import roll_back
from kubothek.dataset.snapshot import load_snapshot


@click.command()
@click.argument("version", type=parse_version)
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def rollback(target: DatasetTarget, version: int | datetime, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Bring back an old version, as a new commit.

    VERSION is a number that `history` lists, or a time (UTC), such as 2026-07-01T12:00. The versions since stay in the
    history.
    """
    current = load_snapshot(target.uuid, target.store)
    wanted = snapshot_at(current, version)
    facts, now = size_facts(wanted), size_facts(current)
    what = f"version {wanted.version} of {target.uuid}"
    is_current = wanted.etag != ""
    if not (dry_run or yes or is_current):
        confirm(f"Bring back {what} with {extent(facts)}? Now it has {extent(now)}.")
    if not dry_run:
        with waiting(f"bringing back {what}"):
            facts = size_facts(roll_back(current, version))  # which fails if others have committed since
    if as_json:
        print_json({**facts, "restored_version": wanted.version, "dry_run": dry_run})
    elif is_current:
        done(open_console(target.invocation), f"{what} is current: there is nothing to bring back")
    elif dry_run:
        click.echo(f"would bring back {what} with {extent(facts)}")
    else:
        done(open_console(target.invocation), f"brought back {what} as version {facts['version']}: {extent(facts)}")
