"""Which 64-bit number stands for the content of a dataset, as a whole or group by group.

Tasks read the rows and sum their hashes (:mod:`kubothek.engine.hash_sums`); the sums are added up. So the result
depends on the rows alone: not on their order, not on the files, partitions, encodings and widths in which they are
stored, nor on who reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from kubothek.codec.keys import check_uuid
from kubothek.dataset.at import load_snapshot_at
from kubothek.dataset.scan import open_scan
from kubothek.engine.gather import gather
from kubothek.engine.hash_sums import HASH, ROWS, HashTask, add_sums
from kubothek.errors import InvalidInputError, SchemaError
from kubothek.model.names import column_names
from kubothek.store.open import StoreLike, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def hash_dataset(
    uuid: str,
    store: StoreLike,
    *,
    columns: str | Sequence[str] | None = None,
    group_by: str | Sequence[str] | None = None,
    table: str | None = None,
    at: int | datetime | None = None,
    spark: SparkSession | None = None,
) -> pa.Table:
    """Hash the content of a dataset, whatever its layout, to find out whether two hold the same rows.

    Equal rows with the same column names and types of record have equal hashes, in whatever order, files, partitions
    and physical types they are stored; repeated rows count each time. ``0.0`` and ``-0.0`` are equal, as are all NaNs;
    null is a value of its own. The hash of many rows is the sum of theirs modulo 2^64, so those of groups add up to
    that of the whole. How it is computed never changes (:mod:`kubothek.engine.row_hash` says it in full). It finds
    accidents; it does not protect against somebody who looks for collisions.

    Parameters
    ----------
    uuid
        Name of the dataset.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    columns
        Columns that are hashed, in any order; ``None`` for all of the table.
    group_by
        Columns with one hash per distinct combination of their values; they need no index. ``None`` for one hash.
    table
        Name of the table; ``None`` for the only one.
    at
        Which version, as for :func:`~kubothek.open_dataset`; ``None`` stands for now.
    spark
        The session whose tasks read the rows; ``None`` to read them in this process, in threads.

    Returns
    -------
    pa.Table
        ``rows`` (int64), how many there are, and ``hash`` (uint64); with ``group_by`` first its columns, sorted by
        them, null and NaN last. One row without ``group_by``, also where the dataset has no rows.

    Raises
    ------
    DatasetNotFoundError, NotFoundError
        There is no such dataset, or it never had such a version.
    SnapshotExpiredError
        The version or a file of it is gone.
    UnknownColumnError
        Columns do not exist; all that do not are named.
    SchemaError, InvalidInputError
        A column of ``group_by`` is a list or a struct, or is called ``rows`` or ``hash``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import hash_dataset, write_dataset
    >>> rows = pa.table({"MONTH": [1, 1, 2], "TEMP": [0.5, -1.0, 3.0]})
    >>> one = write_dataset(rows, "one", "memory://hash_dataset", partition_on="MONTH")
    >>> two = write_dataset(rows.sort_by("TEMP"), "two", "memory://hash_dataset")
    >>> hash_dataset("one", "memory://hash_dataset") == hash_dataset("two", "memory://hash_dataset")
    True
    >>> hash_dataset("one", "memory://hash_dataset", group_by="MONTH")["rows"].to_pylist()
    [2, 1]
    """
    check_uuid(uuid)
    snapshot = load_snapshot_at(uuid, open_store(store), at)
    groups = column_names(group_by, "group_by")
    record = snapshot.schema(table)
    hashed = tuple(record.names) if columns is None else column_names(columns, "columns")
    plan = open_scan(snapshot, columns=tuple(dict.fromkeys((*groups, *hashed))), table=table).plan
    keys = pa.schema([plan.schema.field(name) for name in groups])
    _check_groups(keys)
    return add_sums(gather(snapshot.store, plan, HashTask(hashed, groups).sum_plan, spark, verb="hash"), keys)


def _check_groups(keys: pa.Schema) -> None:
    nested = [field for field in keys if types.is_nested(field.type)]
    if nested:
        raise SchemaError(
            "Rows cannot be grouped by lists or structs, but group_by names "
            + ", ".join(f"{field.name!r} of type {field.type}" for field in nested)
            + ".",
            columns=tuple(field.name for field in nested),
        )
    taken = [name for name in keys.names if name in (ROWS, HASH)]
    if taken:
        raise InvalidInputError(
            f"The result has columns {ROWS!r} and {HASH!r} of its own, so group_by cannot name {', '.join(taken)}.",
            columns=tuple(taken),
        )
