"""How a cube is rid of what nothing refers to: list what there is of its datasets, decide for all of them, delete.

Each dataset is looked at as by :func:`~kubothek.garbage_collect_dataset`. Beside those that have a header there are
traces of others: folders of datasets that were deleted half-way, or whose first write never came to its end. All that
is to be deleted is known before the first object goes, so that a header that cannot be read keeps everything.
"""

from __future__ import annotations

from datetime import timedelta

from kubothek.codec.keys import private_root
from kubothek.cube.members import cube_not_found, is_member
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.garbage import (
    DAY,
    DatasetGarbage,
    collect_garbage,
    find_dataset_garbage,
)
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, combined_error
from kubothek.model.cube import SEPARATOR, Cube, cube_prefix
from kubothek.plan.retention import plan_retention
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

_PARALLEL = 8


def cleanup_cube(
    cube: Cube | str,
    store: StoreLike,
    *,
    older_than: timedelta = DAY,
    keep: int | timedelta | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Delete what nobody needs of the datasets of a cube, and give up old versions of them.

    That is what :func:`~kubothek.garbage_collect_dataset` deletes of each dataset, what is left of datasets that have
    no header any more, or never had one, and datasets whose creation was taken back. Anything else that somebody put
    among the cube's folders stays, and so does everything of other cubes.

    Parameters
    ----------
    cube
        The specification, or the cube's name. Only the name matters: the datasets may break the rules of a cube.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    older_than
        How long ago a version must have been replaced to be given up, and the age of files that no version names. It
        must be longer than any query of the cube takes, and any write from its first file to its last commit.
    keep
        Which versions of each dataset stay besides: so many of the last ones, the present one among them, or those that
        were the present one at some time in this last while. ``None`` is the same as 20.
    dry_run
        Only return what would be deleted.

    Returns
    -------
    list of str
        The keys, sorted.

    Raises
    ------
    CubeNotFoundError
        There is no dataset of such a cube, and nothing is left of one.
    CorruptDatasetError
        Headers, or versions that stay, cannot be understood, so what they refer to is unknown; ``keys`` lists them.
        Nothing was deleted.
    CommitStateUnknownError
        Whether versions of a dataset were given up is unknown; nothing of it was deleted. The next call goes on.
    InvalidInputError
        ``older_than`` is no age, or ``keep`` neither an age nor a number from 1 on.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, cleanup_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> for delay in (5, 40):
    ...     seed = pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [delay]})
    ...     datasets = build_cube(seed, cube, "memory://cleanup_cube", overwrite=True)
    >>> cleanup_cube(cube, "memory://cleanup_cube", older_than=timedelta(0))  # the last 20 versions stay
    []
    >>> gone = cleanup_cube(cube, "memory://cleanup_cube", older_than=timedelta(0), keep=1)
    >>> len(gone)  # one data file and one index, and the headers of two versions
    4
    """
    prefix, opened = cube_prefix(cube), open_store(store)
    check_flag(dry_run, "dry_run")
    asked = plan_retention(opened.world.clock(), older_than, keep)

    def look(uuid: str) -> DatasetGarbage | CorruptDatasetError | None:
        try:
            return find_dataset_garbage(uuid, opened, asked)
        except CorruptDatasetError as error:
            return error

    found = [one for one in map_in_threads(look, list_traces(prefix, opened), _PARALLEL) if one is not None]
    if not found:
        raise cube_not_found(prefix, opened)
    unreadable = [one for one in found if isinstance(one, CorruptDatasetError)]
    if unreadable:
        raise combined_error(
            f"Cube {prefix!r} cannot be cleaned up, as these headers do not tell what they refer to; nothing was "
            "deleted. Put them right or delete them, or collect the garbage of the other datasets one by one",
            unreadable,
        )
    garbage = [one for one in found if isinstance(one, DatasetGarbage)]
    if not dry_run:
        garbage = [collect_garbage(one, opened, asked) for one in garbage]
    return sorted(key for one in garbage for key in one.all_keys)


def list_traces(uuid_prefix: str, store: Store) -> tuple[str, ...]:
    """Return the names of all datasets of a cube of which there is anything: a header, files or our own objects.

    Two requests. Names tell alone: those that begin with the cube's name and the separator.
    """
    start = uuid_prefix + SEPARATOR
    beside, folders = store.list_level(start)
    root = private_root(start).removesuffix("/")
    private = [folder.removeprefix(root.removesuffix(start)) for folder in store.list_level(root)[1]]
    names = {name.removesuffix("/") for name in (*folders, *private)} | {info.key.partition(".")[0] for info in beside}
    return tuple(sorted(name for name in names if is_member(name, uuid_prefix)))
