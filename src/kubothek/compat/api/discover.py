"""Which datasets and cubes a store has."""

from __future__ import annotations

from collections.abc import Iterable

import kubothek as kb
from kubothek.compat.api.consistency import check_datasets
from kubothek.compat.core.cube.cube import Cube
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.stores import StoreInput, as_store
from kubothek.cube.members import list_members
from kubothek.errors import CubeNotFoundError, InvalidInputError
from kubothek.model.cube import member_uuid

__all__ = ["discover_cube", "discover_datasets", "discover_datasets_unchecked", "discover_ktk_cube_dataset_ids"]

Names = str | Iterable[str] | None


def discover_ktk_cube_dataset_ids(uuid_prefix: str, store: StoreInput) -> set[str]:
    """Return the ids of all datasets of a cube, whatever state they are in."""
    return set(list_members(uuid_prefix, as_store(store)))


def discover_datasets_unchecked(
    uuid_prefix: str, store: StoreInput, filter_ktk_cube_dataset_ids: Names = None
) -> dict[str, DatasetMetadata]:
    """Return the datasets of a cube by id, whether they fit together or not."""
    place, chosen = as_store(store), _names(filter_ktk_cube_dataset_ids)
    ids = [name for name in list_members(uuid_prefix, place) if chosen is None or name in chosen]
    return {name: DatasetMetadata.load_from_store(member_uuid(uuid_prefix, name), place) for name in ids}


def discover_datasets(
    cube: kb.Cube, store: StoreInput, filter_ktk_cube_dataset_ids: Names = None
) -> dict[str, DatasetMetadata]:
    """Return the datasets of a cube by id, checked.

    Raises
    ------
    InvalidInputError
        Some that were asked for are not there, or they do not form the cube.
    """
    chosen = _names(filter_ktk_cube_dataset_ids)
    found = discover_datasets_unchecked(cube.uuid_prefix, store, chosen)
    missing = sorted((chosen or set()) - set(found))
    if missing:
        raise InvalidInputError(f"Cube {cube.uuid_prefix!r} has no {', '.join(missing)}.", datasets=tuple(missing))
    return check_datasets(found, cube)


def discover_cube(
    uuid_prefix: str, store: StoreInput, filter_ktk_cube_dataset_ids: Names = None
) -> tuple[Cube, dict[str, DatasetMetadata]]:
    """Return the specification of a cube and its datasets by id: :func:`kubothek.discover_cube`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cube = Cube(["city"], ["country"], "geodata")
    >>> datasets = kb.build_cube(pa.table({"city": ["Hamburg"], "country": ["DE"]}), cube, "memory://compat_discover")
    >>> found, datasets = discover_cube("geodata", "memory://compat_discover")
    >>> found == cube, list(datasets)
    (True, ['seed'])
    """
    cube, datasets = kb.discover_cube(uuid_prefix, as_store(store))
    chosen = _names(filter_ktk_cube_dataset_ids)
    if chosen is not None and cube.seed_dataset not in chosen:
        raise CubeNotFoundError(
            f"The seed of cube {uuid_prefix!r}, {cube.seed_dataset!r}, is not among those asked for."
        )
    kept = {name: one for name, one in datasets.items() if chosen is None or name in chosen}
    return Cube.of(cube), {name: DatasetMetadata(one) for name, one in kept.items()}


def _names(given: Names) -> set[str] | None:
    return None if given is None else {given} if isinstance(given, str) else set(given)
