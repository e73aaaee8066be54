"""How a cube is deleted: the seed first, so that from then on there is no cube, then the enrichments.

Each dataset goes as any other does (``kubothek.dataset.upkeep.delete``). Every header is read before the first goes.
What a deletion that was cut short has left, headers or notes of what is yet to be deleted, the next one deletes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from kubothek.codec.keys import is_deletion_key, private_root
from kubothek.cube.members import cube_not_found, is_member, list_members
from kubothek.dataset.upkeep.delete import check_deletable, delete_contents
from kubothek.errors import CorruptDatasetError, DatasetNotFoundError, combined_error
from kubothek.model.cube import SEPARATOR, Cube, cube_prefix, member_uuid
from kubothek.plan.cube.metadata import is_seed
from kubothek.plan.cube.selection import dataset_ids, select_datasets
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


def delete_cube(cube: Cube | str, store: StoreLike, *, datasets: str | Iterable[str] | None = None) -> None:
    """Delete a cube, or some of its datasets.

    As with :func:`~kubothek.delete_dataset`, what no header names stays, such as files that a running write has staged;
    :func:`~kubothek.cleanup_cube` deletes it. A deletion that failed half-way is finished by deleting again.

    Parameters
    ----------
    cube
        The specification, or the cube's name. Only the name matters: the cube may be broken.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    datasets
        Ids of the datasets to delete; ``None`` for all. Without the seed there is no cube.

    Raises
    ------
    CubeNotFoundError
        There is no dataset of such a cube, and no deletion of one to finish.
    InvalidInputError
        The cube does not have all the datasets; ``datasets`` lists those that it lacks.
    CorruptDatasetError
        Headers of datasets to delete cannot be read; ``keys`` lists them. Nothing was deleted in any of these cases.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, Store, build_cube, delete_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> seed = pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]})
    >>> datasets = build_cube(seed, cube, "memory://delete_cube")
    >>> delete_cube(cube, "memory://delete_cube")
    >>> list(Store("memory://delete_cube").list())
    []
    """
    prefix, opened, chosen = cube_prefix(cube), open_store(store), dataset_ids(datasets)
    known = {*list_members(prefix, opened), *_half_deleted(prefix, opened)}
    if not known:
        raise cube_not_found(prefix, opened)
    doomed = select_datasets(prefix, known, chosen)
    seeds = _find_seeds(prefix, doomed, opened) | ({cube.seed_dataset} if isinstance(cube, Cube) else set())
    notes: list[str] = []
    for dataset_id in sorted(doomed, key=lambda one: (one not in seeds, one)):
        with suppress(DatasetNotFoundError):  # somebody else has deleted it meanwhile
            notes += delete_contents(member_uuid(prefix, dataset_id), opened)
    opened.delete(notes)  # at the end, so that the same call finishes all of it


def _half_deleted(prefix: str, store: Store) -> set[str]:
    """Return the ids of the datasets of which a deletion has noted what it was about to delete."""
    start = private_root(prefix + SEPARATOR).removesuffix("/")
    uuids = {info.key.split("/")[1] for info in store.list(start) if is_deletion_key(info.key)}
    return {uuid.removeprefix(prefix + SEPARATOR) for uuid in uuids if is_member(uuid, prefix)}


def _find_seeds(prefix: str, dataset_ids: Iterable[str], store: Store) -> set[str]:
    """Return which datasets say that they are the seed.

    Raises
    ------
    CorruptDatasetError
        Headers cannot be read, so that nobody knows what is to be deleted with them.
    """
    seeds, unreadable = set[str](), list[CorruptDatasetError]()
    for dataset_id in dataset_ids:
        try:
            headers = check_deletable(member_uuid(prefix, dataset_id), store)
        except CorruptDatasetError as error:
            unreadable.append(error)
        else:
            seeds.update(dataset_id for header in headers if is_seed(header.metadata))
    if unreadable:
        raise combined_error(
            f"Cube {prefix!r} cannot be deleted, as these objects, which say what to delete, cannot be read; nothing "
            "was deleted. Delete the other datasets by name, and these objects by hand",
            unreadable,
        )
    return seeds
