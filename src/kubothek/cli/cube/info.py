"""``kubothek CUBE info``: what a cube is, and what each of its datasets holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import click
import pyarrow as pa
from rich.console import RenderableType
from rich.text import Text

from kubothek.cli.dataset.facts import dataset_facts
from kubothek.cli.dataset.info import field_row, index_rows, metadata_lines, size_rows
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.layout import block, grid
from kubothek.cli.options import json_option
from kubothek.cli.terminal import open_console, print_json, waiting
from kubothek.cube.members import OpenCube, open_cube
from kubothek.engine.local import map_in_threads
from kubothek.plan.cube.members import merge_columns
from kubothek.plan.cube.metadata import cube_metadata

_ROLES = ("dimension_columns", "partition_columns", "index_columns")


@click.command()
@json_option
@click.pass_obj
def info(target: CubeTarget, as_json: bool) -> None:
    """Show what a cube is, and its datasets with their columns.

    Rows and bytes are those that the headers record; no data file is read. Index columns are those that any dataset
    has an index on.
    """
    store = target.store
    with waiting(f"opening {target.uuid_prefix}"):
        opened = open_cube(target.uuid_prefix, store)
        facts = cube_facts(opened, store.url)
    if as_json:
        print_json(facts)
        return
    console = open_console(target.invocation)
    shown_above = cube_metadata(opened.cube, opened.cube.seed_dataset).keys()
    for number, part in enumerate(_blocks(facts, shown_above)):
        if number:
            console.print()
        console.print(part)


def cube_facts(opened: OpenCube, store_url: str) -> dict[str, Any]:
    """Return all that is worth knowing of a cube, its seed first; one request per index, to count its values."""
    cube = opened.cube
    columns = merge_columns(opened.members)
    members = sorted(opened.members, key=lambda member: member.dataset_id != cube.seed_dataset)
    datasets = map_in_threads(lambda member: dataset_facts(opened.snapshots[member.dataset_id]), members)
    return {
        "cube": cube.uuid_prefix,
        "store": store_url,
        "seed_dataset": cube.seed_dataset,
        **{role: _columns(columns, getattr(cube, role)) for role in _ROLES},
        "suppress_index_on": list(cube.suppress_index_on),
        "datasets": [
            {
                "dataset": member.dataset_id,
                **facts,
                "dimension_columns": list(member.dimensions(cube)),
                "payload_columns": _columns(member.schema, sorted(member.payload(cube))),
            }
            for member, facts in zip(members, datasets, strict=True)
        ],
    }


def _columns(schema: pa.Schema, names: Iterable[str]) -> list[dict[str, str]]:
    return [{"name": name, "type": str(schema.field(name).type)} for name in names]


def _blocks(facts: dict[str, Any], hidden: Collection[str]) -> Iterator[RenderableType]:
    rows = [field_row("store", facts["store"]), field_row("seed", facts["seed_dataset"])]
    rows += [field_row(role.replace("_", " "), _listed(facts[role])) for role in _ROLES if facts[role]]
    if facts["suppress_index_on"]:
        rows.append(field_row("no index on", ", ".join(facts["suppress_index_on"])))
    yield block(facts["cube"], rows)
    for dataset in facts["datasets"]:
        yield block(dataset["dataset"], list(_rows(dataset, hidden)))


def _rows(dataset: dict[str, Any], hidden: Collection[str]) -> Iterator[tuple[Text, RenderableType]]:
    yield from size_rows(dataset)
    yield field_row("dimensions", ", ".join(dataset["dimension_columns"]))
    if dataset["payload_columns"]:
        yield field_row("payload", _listed(dataset["payload_columns"]))
    if dataset["indices"]:
        yield field_row("indices", grid(index_rows(dataset["indices"])))
    metadata = metadata_lines({key: value for key, value in dataset["metadata"].items() if key not in hidden})
    if metadata:
        yield field_row("metadata", grid([(line,) for line in metadata]))


def _listed(columns: list[dict[str, str]]) -> RenderableType:
    return grid([(column["name"], column["type"]) for column in columns])
