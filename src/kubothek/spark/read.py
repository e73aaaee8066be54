"""How Spark users read datasets and cubes: as lazy DataFrames, with the columns that they want and no others.

Files are chosen when the function is called; Spark's tasks read them when a job runs, without a shuffle. This is the
fastest way to read on Spark: its own reader gets the files where it can read them, and with ``using`` no columns are
read but those that a query needs, which Spark does not tell the data source ``kubothek``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kubothek.cube.query import query_cube
from kubothek.dataset.dataset import open_dataset
from kubothek.engine.spark import check_session, quoted, read_units
from kubothek.errors import InvalidInputError
from kubothek.model.names import column_names
from kubothek.spark.pruning import needed_columns, with_unread
from kubothek.store.open import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from kubothek.model.cube import Cube
    from kubothek.model.pin import Pin
    from kubothek.spark.pruning import Query
    from kubothek.store.open import StoreLike


def read_dataset(
    spark: SparkSession,
    uuid: str,
    store: StoreLike,
    *,
    columns: str | Sequence[str] | None = None,
    where: Any = None,
    at: int | datetime | None = None,
    table: str | None = None,
    using: Query | None = None,
) -> DataFrame:
    """Return rows of a dataset as a lazy Spark DataFrame.

    Parameters
    ----------
    spark
        The session to read in, classic or Connect. Its executors must reach the store.
    uuid
        Name of the dataset.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    columns
        Columns wanted, in this order; ``None`` for all.
    where
        Which rows, in any of the forms that :meth:`kubothek.Dataset.scan` takes. Files that cannot hold any are not
        read.
    at
        The number of a version, or a time, as :func:`~kubothek.open_dataset` takes it; ``None`` for now.
    table
        Name of the table, for datasets of several.
    using
        A query: a function that takes the DataFrame and returns another one. What it returns is the result, and
        columns that it does not need are not read. It is called twice and may not run jobs.

    Raises
    ------
    DatasetNotFoundError, NotFoundError, SnapshotExpiredError
        There is no such dataset, or it never had such a version, or has it no more.
    UnknownColumnError, PredicateTypeError
        A column does not exist, or holds no such values as the condition compares it with.
    InvalidInputError
        ``spark`` is no session, the dataset has several tables and none was named, or ``using`` and ``columns`` were
        both given.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from kubothek import write_dataset
    >>> from kubothek.spark import local_session
    >>> spark, store = local_session(), tempfile.mkdtemp()
    >>> rows = pa.table({"MONTH": [1, 1, 2], "STATION": ["A", "B", "A"], "TEMP": [0.5, -1.0, 3.0]})
    >>> ds = write_dataset(rows, "weather", store, partition_on="MONTH")
    >>> read_dataset(spark, "weather", store, columns=["TEMP", "MONTH"], where="MONTH == 2").collect()
    [Row(TEMP=3.0, MONTH=2)]
    >>> read_dataset(spark, "weather", store, using=lambda weather: weather.groupBy("MONTH").max("TEMP")).count()
    2
    """
    check_session(spark)
    dataset = open_dataset(uuid, open_store(store), at=at)

    def read(wanted: str | Sequence[str] | None) -> DataFrame:
        return dataset.scan(wanted, where, table=table).to_spark(spark)

    if using is None:
        return read(columns)
    return _used(spark, dataset.scan(columns, where, table=table).schema, read, using, columns)


def read_cube(
    spark: SparkSession,
    cube: Cube | str,
    store: StoreLike,
    *,
    columns: str | Sequence[str] | None = None,
    where: Any = None,
    datasets: str | Sequence[str] | None = None,
    at: Pin | str | datetime | None = None,
    using: Query | None = None,
) -> DataFrame:
    """Return cells of a cube as a lazy Spark DataFrame: one wide table, joined without a shuffle.

    Rows are those of :func:`~kubothek.query_cube`.

    Parameters
    ----------
    spark
        The session to read in, classic or Connect. Its executors must reach the store.
    cube
        The specification, or the cube's name.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    columns
        Columns wanted, in this order, dimension and partition columns only if they are among them; ``None`` for all,
        sorted by name. Datasets without any of them are not read, unless the condition restricts them.
    where
        Which cells, in any of the forms that :func:`~kubothek.query_cube` takes.
    datasets
        Ids of the datasets to look at, the seed among them; ``None`` for all.
    at
        Which versions of the datasets: a pin or its text, or a time; ``None`` for now.
    using
        A query: a function that takes the DataFrame and returns another one. What it returns is the result, and
        columns and datasets that it does not need are not read. It is called twice and may not run jobs.

    Raises
    ------
    CubeNotFoundError, SnapshotExpiredError
        There is no such cube, it lacks its seed, or the versions that ``at`` stands for are gone.
    UnknownColumnError, PredicateTypeError, InvalidInputError
        The question does not fit the cube, with all problems listed; ``spark`` is no session; ``using`` and ``columns``
        were both given.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube
    >>> from kubothek.spark import local_session
    >>> spark, store = local_session(), tempfile.mkdtemp()
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> flights = pa.table({"FLIGHT": [1, 2, 3], "MONTH": [1, 1, 2], "DELAY": [5, 40, 0]})
    >>> weather = pa.table({"FLIGHT": [2], "MONTH": [1], "TEMP": [-3.5]})
    >>> datasets = build_cube({"seed": flights, "weather": weather}, cube, store)
    >>> read_cube(spark, "flights", store, columns=["TEMP", "DELAY"], where="TEMP < 0").collect()
    [Row(TEMP=-3.5, DELAY=40)]
    >>> read_cube(spark, "flights", store, using=lambda flights: flights.groupBy("MONTH").max("DELAY")).count()
    2
    """
    check_session(spark)
    place = open_store(store)

    def read(wanted: str | Sequence[str] | None) -> DataFrame:
        names = None if wanted is None else column_names(wanted, "columns")
        query = query_cube(cube, place, where=where, datasets=datasets, columns=names, at=at)
        if names is None:
            return query.to_spark(spark)
        kept = names or query.cube.dimension_columns[:1]  # without any column, nothing would tell how many rows
        plan = replace(query.plan, schema=pa.schema([query.schema.field(name) for name in kept]))
        return read_units(spark, place, plan, query.title).select(*map(quoted, names))

    if using is None:
        return read(columns)
    return _used(spark, query_cube(cube, place, where=where, datasets=datasets, at=at).schema, read, using, columns)


def _used(
    spark: SparkSession,
    schema: pa.Schema,
    read: Callable[[Sequence[str]], DataFrame],
    query: Query,
    columns: object,
) -> DataFrame:
    """Return what a query makes of the DataFrame with this schema, of which it reads what the query needs."""
    if columns is not None:
        raise InvalidInputError("Both columns and using were given: the query in using says which columns it needs.")
    needed = needed_columns(spark, schema, query)
    return query(with_unread(read(needed), schema, needed))
