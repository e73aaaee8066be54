"""How a cube's specification is kept in, and recovered from, the user metadata of its datasets.

Each dataset carries four entries. Index columns are not among them: they are the columns that any dataset has a
secondary index on, dimensions aside. Cubes of the format's predecessor carry ``klee_*`` entries instead; where these
name no partition columns, the seed's partition keys are the partition columns followed by a hidden timestamp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubothek.errors import CorruptDatasetError, CubeNotFoundError, InvalidInputError
from kubothek.model.cube import Cube
from kubothek.plan.cube.members import HIDDEN_TIMESTAMP, Member, is_hidden

_FORMER = "klee_"
_PREFIXES = ("ktk_cube_", _FORMER)


def cube_metadata(cube: Cube, dataset_id: str) -> dict[str, Any]:
    """Return the user metadata entries that mark a dataset as part of this cube.

    Examples
    --------
    >>> cube_metadata(Cube("c", ("x",), ("p",)), "seed")["ktk_cube_is_seed"]
    True
    """
    return {
        "ktk_cube_dimension_columns": list(cube.dimension_columns),
        "ktk_cube_is_seed": dataset_id == cube.seed_dataset,
        "ktk_cube_partition_columns": list(cube.partition_columns),
        "ktk_cube_suppress_index_on": list(cube.suppress_index_on),
    }


def metadata_entry(metadata: Mapping[str, Any], name: str) -> Any:
    """Return an entry under its present or its former name; ``None`` without either."""
    values = (metadata.get(prefix + name) for prefix in _PREFIXES)
    return next((value for value in values if value is not None), None)


def is_former(metadata: Mapping[str, Any]) -> bool:
    """Tell whether a dataset was written for a cube by the format's predecessor."""
    return any(name.startswith(_FORMER) for name in metadata)


def is_seed(metadata: Mapping[str, Any]) -> bool:
    """Tell whether a dataset's user metadata marks it as the seed of its cube."""
    return bool(metadata_entry(metadata, "is_seed"))


def cube_from_metadata(uuid_prefix: str, members: Sequence[Member]) -> Cube:
    """Return the specification that the datasets of a cube carry.

    Parameters
    ----------
    uuid_prefix
        Name of the cube.
    members
        All its datasets.

    Raises
    ------
    CubeNotFoundError
        No dataset says that it is the seed.
    CorruptDatasetError
        Several do, or the seed's entries are incomplete or contradict each other.
    """
    seed = _find_seed(uuid_prefix, members)
    dimension_columns = metadata_entry(seed.metadata, "dimension_columns")
    if dimension_columns is None:
        raise CorruptDatasetError(
            f"The metadata of {seed.uuid!r} does not name the cube's dimension columns "
            "(entry ktk_cube_dimension_columns); pass a Cube instead of its name.",
            key=seed.uuid,
        )
    partition_columns = metadata_entry(seed.metadata, "partition_columns") or _before_timestamp(seed)
    try:
        cube = Cube(
            uuid_prefix=uuid_prefix,
            dimension_columns=dimension_columns,
            partition_columns=partition_columns,
            seed_dataset=seed.dataset_id,
            suppress_index_on=metadata_entry(seed.metadata, "suppress_index_on") or (),
        )
    except InvalidInputError as error:
        raise CorruptDatasetError(
            f"The metadata of {seed.uuid!r} describes no cube: {error} Pass a Cube instead of its name.", key=seed.uuid
        ) from error
    indexed = {name for member in members for name in member.index_columns if not is_hidden(name)}
    return cube.copy(index_columns=tuple(sorted(indexed - {*cube.dimension_columns, *cube.partition_columns})))


def _find_seed(uuid_prefix: str, members: Sequence[Member]) -> Member:
    seeds = [member for member in members if is_seed(member.metadata)]
    if not seeds:
        found = ", ".join(sorted(member.dataset_id for member in members)) or "no dataset"
        raise CubeNotFoundError(
            f"Cube {uuid_prefix!r} has no seed: found {found}, and none is marked as the seed "
            "(metadata entry ktk_cube_is_seed). Check the cube's name and the store."
        )
    if len(seeds) > 1:
        raise CorruptDatasetError(
            f"Cube {uuid_prefix!r} has several seeds: {', '.join(sorted(seed.dataset_id for seed in seeds))}. "
            "Pass a Cube that names one, or delete the others.",
            key=seeds[0].uuid,
        )
    return seeds[0]


def _before_timestamp(seed: Member) -> tuple[str, ...]:
    timestamp = metadata_entry(seed.metadata, "timestamp_column") or HIDDEN_TIMESTAMP
    if timestamp != HIDDEN_TIMESTAMP or len(seed.partition_keys) < 2 or seed.partition_keys[-1] != timestamp:
        raise CorruptDatasetError(
            f"The metadata of {seed.uuid!r} does not name the cube's partition columns, and they do not follow from "
            f"its partition keys ({', '.join(seed.partition_keys) or 'none'}), of which the last should be "
            f"{HIDDEN_TIMESTAMP}; pass a Cube instead of its name.",
            key=seed.uuid,
        )
    return seed.partition_keys[:-1]
