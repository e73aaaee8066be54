"""``kubothek CUBE delete``: asks, and deletes a cube or some of its datasets."""

from __future__ import annotations

import click

from kubothek import delete_cube
from kubothek.cli.cube.members import Selected, select, selection_options
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.options import dry_run_option, json_option, yes_option
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.cube.members import list_members


@click.command()
@selection_options
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def delete(
    target: CubeTarget,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete a cube, or some of its datasets.

    The datasets are listed before they go. A deletion that was cut short is finished.
    """
    cube, store = target.uuid_prefix, target.store
    facts = {"cube": cube, "store": store.url, "dry_run": dry_run}
    if not (include or exclude or dry_run or list_members(cube, store)):  # nothing, or what a deletion has left
        delete_cube(cube, store)
        what, listing = f"what was left of cube {cube} in {store.url}", []
    else:
        selected = select(cube, store, include, exclude)
        size = f"{selected.size}," if selected.size else ""
        what, listing = f"{selected.amount} of cube {cube}{size} from {store.url}", selected.listing
        if not as_json:
            selected.show()
        if not dry_run:
            if not yes:
                confirm(f"Delete {what}?{_warning(selected)} This cannot be undone.")
            with waiting(f"deleting {selected.amount}"):
                delete_cube(cube, store, datasets=selected.ids)
    if as_json:
        print_json({**facts, "datasets": listing})
    elif dry_run:
        click.secho(f"would delete {what}", dim=True)
    else:
        done(open_console(target.invocation), f"deleted {what}")


def _warning(selected: Selected) -> str:
    """Return what to know before the seed goes and others stay."""
    return " What is left cannot be queried without its seed." if selected.seeds and selected.others else ""
