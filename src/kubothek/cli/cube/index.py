"""``kubothek CUBE index``: secondary indices of a cube's datasets, built, dropped and listed."""

from __future__ import annotations

import click
from rich.text import Text

from kubothek.cli.commands import Commands
from kubothek.cli.cube.members import choose
from kubothek.cli.dataset.facts import index_facts
from kubothek.cli.dataset.index import build_indices, drop_indices
from kubothek.cli.dataset.info import index_rows
from kubothek.cli.invocation import CubeTarget, DatasetTarget
from kubothek.cli.layout import block
from kubothek.cli.options import dry_run_option, json_option, yes_option
from kubothek.cli.terminal import open_console, print_json
from kubothek.cube.members import cube_not_found, find_members, open_cube
from kubothek.model.cube import member_uuid


@click.group(cls=Commands)
def index() -> None:
    """Build, drop or list secondary indices."""


@index.command()
@click.argument("dataset")
@click.argument("columns", nargs=-1, required=True)
@json_option
@click.pass_obj
def build(target: CubeTarget, dataset: str, columns: tuple[str, ...], as_json: bool) -> None:
    """Build indices on columns of a dataset, from its data files.

    COLUMNS are names, or patterns such as "TEMP*", which stand for all columns without an index that can have one.
    """
    build_indices(_dataset(target, dataset), columns, as_json)


@index.command()
@click.argument("dataset")
@click.argument("columns", nargs=-1, required=True)
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def drop(target: CubeTarget, dataset: str, columns: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool) -> None:
    """Drop indices of a dataset.

    COLUMNS are names, or patterns such as "TEMP*", which stand for all indexed columns that match, but for those whose
    index the cube needs: the dimensions of its seed. Data stays as it is.
    """
    cube = open_cube(target.uuid_prefix, target.store).cube
    needed = set(cube.dimension_columns) - set(cube.suppress_index_on) if dataset == cube.seed_dataset else set()
    drop_indices(_dataset(target, dataset), columns, dry_run, yes, as_json, needed)


@index.command(name="list")
@click.argument("datasets", nargs=-1)
@json_option
@click.pass_obj
def list_indices(target: CubeTarget, datasets: tuple[str, ...], as_json: bool) -> None:
    """List indices with the types and numbers of their values.

    DATASETS are names, or patterns such as "air*"; all if none is given.
    """
    store = target.store
    members = find_members(target.uuid_prefix, store)
    if not members:
        raise cube_not_found(target.uuid_prefix, store)
    ids = choose(target.uuid_prefix, tuple(members), datasets, ()) or tuple(members)
    facts = {one: index_facts(members[one], members[one].index_columns) for one in ids}
    if as_json:
        listing = [{"dataset": one, "indices": indices} for one, indices in facts.items()]
        print_json({"cube": target.uuid_prefix, "store": store.url, "datasets": listing})
        return
    console = open_console(target.invocation)
    for one, indices in facts.items():
        console.print(block(one, index_rows(indices) if indices else [(Text("no secondary indices", style="dim"),)]))


def _dataset(target: CubeTarget, dataset_id: str) -> DatasetTarget:
    return DatasetTarget(target.invocation, member_uuid(target.uuid_prefix, dataset_id))
