"""What the data files of a dataset are made of: the facts in their footers, row group by row group.

Files are chosen as for a scan, their footers are read in threads or by Spark's tasks
(:mod:`kubothek.engine.footers`), and one table has a row for each row group.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kubothek.codec.keys import check_uuid
from kubothek.dataset.at import load_snapshot_at
from kubothek.dataset.scan import open_scan
from kubothek.engine.footers import FOOTERS, read_footers
from kubothek.engine.gather import gather
from kubothek.store.open import StoreLike, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def collect_dataset_metadata(
    uuid: str,
    store: StoreLike,
    *,
    where: Any = None,
    table: str | None = None,
    at: int | datetime | None = None,
    spark: SparkSession | None = None,
) -> pa.Table:
    """Collect what the footers of a dataset's files say about their row groups.

    Parameters
    ----------
    uuid
        Name of the dataset.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    where
        Which files: those that may hold a row that matches. Conditions on partition columns and on indexed columns
        decide before anything is read, others only where the statistics in a footer prove that no row matches. Files
        are chosen, never row groups.
    table
        Name of the table; ``None`` for the only one.
    at
        Which version, as for :func:`~kubothek.open_dataset`; ``None`` stands for now.
    spark
        The session whose tasks read the footers; ``None`` to read them in this process, in threads.

    Returns
    -------
    pa.Table
        One row per row group, files in the order of the header: ``partition_label`` (text), and as int64
        ``row_group_id``, ``row_group_compressed_size`` and ``row_group_uncompressed_size`` (bytes of all column
        chunks), ``number_rows_total`` and ``number_row_groups`` (of the file), ``serialized_size`` (bytes of the
        footer) and ``number_rows_per_row_group``. A Parquet file without row groups has one row in which what a row
        group has is null; a CSV file, which has no footer, one in which all but its label is.

    Raises
    ------
    DatasetNotFoundError, NotFoundError
        There is no such dataset, or it never had such a version.
    UnknownColumnError, PredicateTypeError
        The condition does not fit the schema.
    InvalidInputError
        There is no such table, or there are several and none was named.
    SnapshotExpiredError, CorruptDatasetError
        The version or a file is gone, or a file has no footer that can be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import collect_dataset_metadata, write_dataset
    >>> rows = pa.table({"MONTH": [1, 1, 2], "TEMP": [0.5, -1.0, 3.0]})
    >>> ds = write_dataset(rows, "weather", "memory://collect_dataset_metadata", partition_on="MONTH")
    >>> found = collect_dataset_metadata("weather", "memory://collect_dataset_metadata", where="MONTH == 1")
    >>> found.select(["row_group_id", "number_rows_total"]).to_pylist()
    [{'row_group_id': 0, 'number_rows_total': 2}]
    """
    check_uuid(uuid)
    snapshot = load_snapshot_at(uuid, open_store(store), at)
    plan = open_scan(snapshot, columns=(), where=where, table=table).plan
    found = gather(snapshot.store, plan, read_footers, spark, verb="read footers of", evenly=True)
    return pa.concat_tables([FOOTERS.empty_table(), *found])
