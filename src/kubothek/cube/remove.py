"""How partitions are removed from a cube: one commit per dataset, the seed's first.

The seed says which cells exist, so they vanish at once; what the other datasets still know of them is seen by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubothek.cube.commit import CubeCommit, commit_in_order
from kubothek.cube.members import open_cube
from kubothek.dataset.dataset import Dataset
from kubothek.model.cube import Cube
from kubothek.model.header import SINGLE_TABLE, CubeCall
from kubothek.model.staged import ChangeSet
from kubothek.plan.cube.removal import removal_condition, removal_scope
from kubothek.plan.cube.selection import dataset_ids, select_datasets
from kubothek.plan.delete_scope import bind_scope
from kubothek.store.open import StoreLike, open_store


def remove_partitions(
    cube: Cube | str, store: StoreLike, where: Any, *, datasets: str | Iterable[str] | None = None
) -> dict[str, Dataset]:
    """Remove partitions from the datasets of a cube.

    Whole files go, by the partition columns of each dataset. A dataset that lacks some of the cube's is asked only for
    those parts of the condition that it can answer, so a dataset without partition columns is **emptied** by any call
    that includes it; name others in ``datasets`` to keep it.

    Parameters
    ----------
    cube
        The specification, or the cube's name.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    where
        Which partitions: a condition on partition columns of the cube, as an expression, a text or lists.
    datasets
        Ids of the datasets to remove from; all if not given.

    Returns
    -------
    dict
        These datasets as they are now, by id.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    InvalidInputError
        ``where`` names other columns than partition columns of the cube, or none, or a value that such a column cannot
        have; or the cube lacks one of the ``datasets``. Nothing was removed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, query_cube, remove_partitions
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> rows = pa.table({"FLIGHT": [1, 2], "MONTH": [1, 2], "DELAY": [5, 0]})
    >>> datasets = build_cube(rows, cube, "memory://remove_partitions")
    >>> datasets = remove_partitions(cube, "memory://remove_partitions", "MONTH == 1")
    >>> query_cube(cube, "memory://remove_partitions").to_arrow()["FLIGHT"].to_pylist()
    [2]
    """
    opened = open_store(store)
    chosen = dataset_ids(datasets)
    found = open_cube(cube, opened)
    spec = found.cube
    condition = removal_condition(where, spec)
    ids = select_datasets(spec.uuid_prefix, found.snapshots, chosen)
    ids = tuple(sorted(ids, key=lambda name: (name != spec.seed_dataset, name)))
    write_id = opened.world.new_id()
    commits = []
    for dataset_id in ids:
        base = found.snapshots[dataset_id]
        scope = removal_scope(condition, base.partition_keys)
        bind_scope((scope,), base.schema(SINGLE_TABLE), base.partition_keys, (), base.uuid)
        change = ChangeSet(
            write_id=write_id,
            operation="remove_partitions",
            delete_scope=(scope,),
            cube_call=CubeCall(write_id, "remove_partitions", ids) if len(ids) > 1 else None,
        )
        commits.append(CubeCommit(dataset_id, base, change))
    return commit_in_order(commits, spec.uuid_prefix, opened, lambda _: None)  # no files were staged
