"""How secondary indices are built on what a dataset holds already, and forgotten.

An index is built in three steps: the columns are checked; tasks read them from the data files and give pairs of value
and label (:mod:`kubothek.engine.postings`); one commit brings the index files and the header that names them. Where
others committed meanwhile, new files are read and the commit is tried again; files that are gone are left out::

    files of the dataset      a  b  c            read once
    after others' commit      a     c  d         b is left out, d is read
    index                     a     c  d
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import check_uuid, staged_prefix
from kubothek.dataset.commit import commit
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.indices.read import Pairs, read_postings
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.engine.postings import IndexTask
from kubothek.errors import IndexNotFoundError, InvalidInputError, StoreError
from kubothek.model.names import column_names
from kubothek.model.staged import ChangeSet
from kubothek.plan.dataset_layout import DatasetLayout, check_index_columns, listed
from kubothek.plan.index_merge import index_from_postings
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def build_dataset_indices(
    uuid: str, store: StoreLike, columns: str | Sequence[str], *, spark: SparkSession | None = None
) -> Dataset:
    """Build secondary indices on columns of a dataset, over all its partitions, in one commit.

    An index that exists is built anew from the data, whatever state it is in. Rows that others add while it is built
    are in it too. As everywhere, nulls and NaN are in no index, and ``-0.0`` is ``0.0``.

    Parameters
    ----------
    uuid
        Name of the dataset.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    columns
        Columns of any of its tables.
    spark
        The session whose tasks read the columns; ``None`` to read them in this process, in threads.

    Returns
    -------
    Dataset
        The dataset as committed.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset.
    UnknownColumnError, SchemaError, InvalidInputError
        Columns do not exist, are partition columns, hold nulls only, lists or structs, or one is called
        ``partition``. All of them are named; nothing was read.
    CommitConflictError
        The dataset was deleted or overwritten meanwhile, or others committed again and again before the index was done.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import build_dataset_indices, write_dataset
    >>> rows = pa.table({"MONTH": [1, 1, 2], "ORIGIN": ["EWR", "JFK", "EWR"]})
    >>> ds = write_dataset(rows, "flights", "memory://build_dataset_indices", partition_on="MONTH")
    >>> ds = build_dataset_indices("flights", "memory://build_dataset_indices", "ORIGIN")
    >>> [len(ds.indices["ORIGIN"].eval_operator("==", origin)) for origin in ("EWR", "JFK", "LGA")]
    [2, 1, 0]
    """
    opened = open_store(store)
    check_uuid(uuid)
    wanted = _columns(columns)
    base = load_snapshot(uuid, opened)
    check_index_columns(wanted, DatasetLayout(base.partition_keys, base.schemas), uuid)
    change = ChangeSet(write_id=opened.world.new_id(), operation="build_dataset_indices")
    with _staging(opened, base, change.write_id, spark) as task:
        return Dataset(_build(base, change, wanted, task, spark))


def drop_dataset_indices(uuid: str, store: StoreLike, columns: str | Sequence[str]) -> Dataset:
    """Forget secondary indices of a dataset, in one commit; the data stays as it is.

    The index files stay in the store for those who read them, until garbage is collected. An index on a column that no
    table has cannot be built again.

    Parameters
    ----------
    uuid
        Name of the dataset.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    columns
        Columns with a secondary index.

    Returns
    -------
    Dataset
        The dataset as committed.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset.
    IndexNotFoundError
        It has no index on some of the columns, which are named; none was dropped.
    CommitConflictError
        The dataset was deleted or overwritten meanwhile.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import drop_dataset_indices, write_dataset
    >>> rows = pa.table({"MONTH": [1, 2], "ORIGIN": ["EWR", "JFK"]})
    >>> ds = write_dataset(rows, "flights", "memory://drop_dataset_indices", secondary_indices=["MONTH", "ORIGIN"])
    >>> drop_dataset_indices("flights", "memory://drop_dataset_indices", "MONTH").index_columns
    ('ORIGIN',)
    """
    opened = open_store(store)
    check_uuid(uuid)
    wanted = _columns(columns)
    base = load_snapshot(uuid, opened)
    unknown = tuple(column for column in wanted if column not in base.index_columns)
    if unknown:
        raise IndexNotFoundError(
            f"Dataset {uuid!r} has no secondary index on {listed(unknown)} to drop; it has one on "
            f"{listed(base.index_columns)}.",
            columns=unknown,
        )
    change = ChangeSet(write_id=opened.world.new_id(), operation="drop_dataset_indices", drop_indices=wanted)
    return Dataset(commit(opened, uuid, change, base))


def _columns(columns: str | Sequence[str]) -> tuple[str, ...]:
    names = column_names(columns, "columns")
    if not names:
        raise InvalidInputError("columns names no column; say which columns the indices are on.")
    return names


@contextmanager
def _staging(store: Store, base: Snapshot, write_id: str, spark: SparkSession | None) -> Iterator[IndexTask]:
    """Give the task that reads values; what Spark's tasks stage, failed attempts included, is deleted at the end."""
    if spark is None:
        yield IndexTask()
        return
    store.check_swap()
    incarnation = write_id if base.header.state is None else base.header.state.incarnation
    prefix = staged_prefix(base.uuid, incarnation, write_id)
    try:
        yield IndexTask(prefix)
    finally:
        with suppress(StoreError):  # nothing refers to them: what is left costs space alone
            store.delete([info.key for info in store.list(prefix)])


def _build(
    base: Snapshot, change: ChangeSet, columns: Sequence[str], task: IndexTask, spark: SparkSession | None
) -> Snapshot:
    """Read the files of the base and commit; where others came first, read only what they have brought."""
    postings = read_postings(base, columns, task, spark)

    def rebase(asked: ChangeSet, old: Snapshot, new: Snapshot) -> ChangeSet:
        nonlocal postings
        postings = _rebased(postings, old, new, columns, task, spark)
        return replace(asked, build_indices=_indices(postings))

    return commit(base.store, base.uuid, replace(change, build_indices=_indices(postings)), base, rebase=rebase)


def _indices(postings: Mapping[str, Pairs]) -> dict[str, pa.Table]:
    return {name: index_from_postings(name, *pairs) for name, pairs in postings.items()}


def _rebased(
    postings: Mapping[str, Pairs],
    old: Snapshot,
    new: Snapshot,
    columns: Sequence[str],
    task: IndexTask,
    spark: SparkSession | None,
) -> dict[str, Pairs]:
    """Return the postings of another state of the dataset: those of files that stayed, and those of new files."""
    before, after = old.partitions["label"].combine_chunks(), new.partitions["label"].combine_chunks()
    added = new.partitions.filter(pc.invert(pc.is_in(after, value_set=before)))
    fresh = read_postings(replace(new, partitions=added, _file_tables={}), columns, task, spark)
    rebased = {}
    for column, (values, labels) in postings.items():
        stayed = pc.is_in(labels, value_set=after)
        parts = zip((values.filter(stayed), labels.filter(stayed)), fresh[column], strict=True)
        both = [pa.chunked_array([*one.chunks, *other.chunks], one.type) for one, other in parts]
        rebased[column] = both[0], both[1]
    return rebased
