"""Whether datasets form a cube."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

import kubothek as kb
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.model.header import SINGLE_TABLE
from kubothek.plan.cube.check import find_problems, problems_error
from kubothek.plan.cube.members import Member, member_files_schema

__all__ = ["check_datasets", "get_cube_payload", "get_payload_subset"]


def check_datasets(datasets: Mapping[str, DatasetMetadata], cube: kb.Cube) -> dict[str, DatasetMetadata]:
    """Return the datasets of a cube with the indices of their partition columns.

    Raises
    ------
    InvalidInputError
        They do not form the cube; all problems are named.
    """
    members = [_member(name, one.dataset) for name, one in datasets.items()]
    problems = list(find_problems(cube, members))
    if problems:
        raise problems_error(cube, problems)
    return {name: one.load_partition_indices() for name, one in datasets.items()}


def get_payload_subset(columns: Iterable[str], cube: kb.Cube) -> set[str]:
    """Return which columns are neither dimensions nor partition columns.

    >>> sorted(get_payload_subset(["city", "country", "temp"], kb.Cube("geodata", "city", "country")))
    ['temp']
    """
    return set(columns) - set(cube.dimension_columns) - set(cube.partition_columns)


def get_cube_payload(datasets: Mapping[str, DatasetMetadata], cube: kb.Cube) -> set[str]:
    """Return the payload columns of all datasets."""
    return {column for one in datasets.values() for column in get_payload_subset(one.dataset.schema.names, cube)}


def _member(dataset_id: str, dataset: kb.Dataset) -> Member:
    """Return what the rules of cubes need of a dataset."""
    table = SINGLE_TABLE if SINGLE_TABLE in dataset.tables else dataset.tables[0]
    return Member(
        dataset_id=dataset_id,
        uuid=dataset.uuid,
        schema=dataset.schemas[table],
        partition_keys=dataset.partition_keys,
        index_columns=dataset.index_columns,
        files=member_files_schema(pa.schema([])).empty_table(),
        metadata=dataset.metadata,
        tables=dataset.tables,
    )
