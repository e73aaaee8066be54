"""What a call brings for each dataset of a cube: rows with their schema, and metadata; parsed once, at the door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kubothek.cube.members import as_recorded_in_cube
from kubothek.dataset.staging.arguments import parse_metadata
from kubothek.dataset.staging.incoming import ArrowRows, Rows, SparkRows, parse_rows
from kubothek.engine.spark_types import arrow_schema
from kubothek.errors import InvalidInputError
from kubothek.model.cube import Cube
from kubothek.model.schema import merge_schemas, normalise_schema
from kubothek.plan.cube.members import Member


@dataclass(frozen=True, slots=True)
class DatasetRows:
    """The data for one dataset: its rows, and their normalised schema, partition columns included."""

    rows: Rows
    schema: pa.Schema


def parse_cube_data(data: Any, cube: Cube, members: Sequence[Member], *, creates: bool) -> dict[str, DatasetRows]:
    """Return what is given per dataset id; rows without an id are the seed's, ``None`` stands for no data.

    Frames are kept, because they are looked at twice.

    Parameters
    ----------
    data
        As the user gave it.
    cube, members
        The cube, and the datasets that it has: their types decide what those of Spark stand for.
    creates
        Whether what is given makes datasets, in place of those of these ids that there may be.

    Raises
    ------
    InvalidInputError, SchemaError
        There is no data, an id is not allowed, or frames of one dataset do not fit each other.
    """
    by_dataset = data if isinstance(data, Mapping) else {cube.seed_dataset: data}
    for dataset_id in by_dataset:
        cube.dataset_uuid(dataset_id)
    stay = [member for member in members if not (creates and member.dataset_id in by_dataset)]
    given = {name: _parsed(name, rows, cube, stay) for name, rows in by_dataset.items() if rows is not None}
    if not given:
        raise InvalidInputError(f"There is no data for cube {cube.uuid_prefix!r}.")
    return given


def _parsed(dataset_id: str, data: Any, cube: Cube, members: Sequence[Member]) -> DatasetRows:
    rows = parse_rows(data, f"dataset {dataset_id!r}")
    if isinstance(rows, SparkRows):
        schema = as_recorded_in_cube(arrow_schema(rows.frame.schema), members, cube, dataset_id)
        return DatasetRows(rows, normalise_schema(schema))
    frames = list(rows.frames)
    schema = normalise_schema(frames[0].schema if frames else pa.schema([]))
    for number, frame in enumerate(frames[1:], start=1):
        what = f"frame {number} of dataset {dataset_id!r}"
        schema = merge_schemas(schema, normalise_schema(frame.schema), what=what, stored=False)
    return DatasetRows(ArrowRows(iter(frames)), schema)


def parse_cube_metadata(metadata: Any, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return user metadata by dataset id, for datasets that the call has data for.

    Raises
    ------
    InvalidInputError
        It is no mapping from ids to entries that JSON can hold; ``problems`` lists everything that is wrong.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must map dataset ids to entries, but is {metadata!r}.")
    known = sorted(datasets)
    parsed, problems = dict[str, dict[str, Any]](), list[str]()
    for dataset_id, entries in metadata.items():
        if dataset_id not in known:
            problems.append(f"{dataset_id!r} is no dataset that there is data for ({', '.join(known)}).")
            continue
        try:
            parsed[dataset_id] = parse_metadata(entries)
        except InvalidInputError as error:
            problems.append(f"{dataset_id!r}: {error}")
    if problems:
        raise InvalidInputError("The metadata does not fit: " + " ".join(problems), problems=tuple(problems))
    return parsed
