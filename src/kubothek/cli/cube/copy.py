"""``kubothek CUBE copy``: copies a cube, or some of its datasets, to another store or name."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kubothek import copy_cube
from kubothek.cli.cube.members import Selected, select, selection_options
from kubothek.cli.dataset.facts import size_facts
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.options import json_option, to_store_options, yes_option
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.cube.members import list_members
from kubothek.dataset.snapshot import load_snapshots
from kubothek.store.interface import Store


def _parse_renaming(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise click.BadParameter(f"{text!r} says no new name; write it as old=new.")
    return old, new


@click.command()
@to_store_options
@click.option("--to-cube", metavar="NAME", help="Name of the copy; the same if not given.")
@click.option(
    "--rename",
    "renamed",
    metavar="OLD=NEW",
    multiple=True,
    type=_parse_renaming,
    help="Another name for a dataset of the copy; may be given several times.",
)
@selection_options
@click.option("--overwrite", is_flag=True, help="Replace datasets that are there already.")
@yes_option
@json_option
@click.pass_obj
def copy(
    target: CubeTarget,
    other: Store | None,
    to_cube: str | None,
    renamed: tuple[tuple[str, str], ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    overwrite: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy a cube, or some of its datasets, to another store or name.

    What --overwrite replaces is asked about first.
    """
    if to_cube is None and other is None:
        raise click.UsageError("Say where to: with --to-cube, --to-store or both.")
    cube, store, names = target.uuid_prefix, target.store, dict(renamed)
    new_cube, new_store = to_cube or cube, other or store
    selected = select(cube, store, include, exclude)
    replaced = _replaced(selected, names, list_members(new_cube, new_store)) if overwrite else ()
    if replaced and not yes:
        confirm(f"Replace {', '.join(replaced)} of cube {new_cube} in {new_store.url}?")
    with waiting(f"copying {selected.amount}"):
        copies = copy_cube(
            cube,
            store,
            to_store=new_store,
            datasets=selected.ids,
            overwrite=overwrite,
            renamed_cube_prefix=to_cube,
            renamed_datasets=names,
        )
        snapshots = load_snapshots([dataset.uuid for dataset in copies.values()], new_store)
    if as_json:
        listing = [{"dataset": one, **size_facts(s)} for one, s in zip(copies, snapshots, strict=True)]
        print_json({"cube": new_cube, "store": new_store.url, "datasets": listing})
        return
    done(
        open_console(target.invocation),
        f"copied {cube} to {new_cube} in {new_store.url}: {selected.amount}{selected.size}",
    )


def _replaced(selected: Selected, names: dict[str, str], there: Sequence[str]) -> tuple[str, ...]:
    """Return the datasets that the copies will replace."""
    return tuple(sorted({names.get(one, one) for one in selected.facts} & set(there)))
