"""A planned read that has not happened: what scans and cube queries have in common, and the ways to carry it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kubothek.engine import local
from kubothek.engine import spark as on_spark
from kubothek.model.read_plan import ReadPlan
from kubothek.store.interface import Store

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from pyspark.sql import DataFrame, SparkSession


class LazyRows:
    """Rows that are read when they are asked for.

    Everything but :meth:`to_spark` reads in this process, in threads, without a JVM. Each method reads anew.
    """

    def __init__(self, store: Store, plan: ReadPlan) -> None:
        self._store = store
        self._plan = plan

    @property
    def schema(self) -> pa.Schema:
        """Columns and types of the result, also when it is empty."""
        return self._plan.schema

    @property
    def plan(self) -> ReadPlan:
        """What will be read, as a value: the files, and which of them are read together."""
        return self._plan

    @property
    def title(self) -> str:
        """What is read, in a few words; Spark's UI shows them."""
        return f"read {self._plan.subject}"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Arrow record batches, in order, while they are read.

        A scan of a dataset keeps a few row groups in memory, however large its files are; a cube query keeps a few of
        its physical partitions. Dictionaries differ from batch to batch.
        """
        return local.read_batches(self._store, self._plan)

    def to_arrow(self) -> pa.Table:
        """Read the rows as an Arrow table."""
        return local.read_table(self._store, self._plan)

    def to_pandas(self) -> pd.DataFrame:
        """Read the rows as a pandas DataFrame, with pandas' own rules for types and nulls."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Read the rows as a Polars DataFrame."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a lazy Spark DataFrame, read by Spark tasks without a shuffle.

        A task that joins holds the columns that are wanted of one physical partition at a time, of all its datasets and
        joined: about twice the largest partition as it is in memory. The number of partitions makes no difference. From
        an object store it holds as many partitions as have 64 MiB of files together, so as not to wait for each.

        Tasks get about the same number of bytes. A physical partition that is much larger than their share is read by
        several of them, each with some files of the seed, where these files hold different cells.

        Parameters
        ----------
        spark
            The session to run in. Its workers must reach the store.
        """
        return on_spark.read_units(spark, self._store, self._plan, self.title)

    def __arrow_c_schema__(self) -> Any:
        """Export the columns and types of the stream, without reading anything."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the rows as an Arrow stream, which PyArrow, Polars, DuckDB, pandas and Ibis read as it is.

        Nothing is read before the first batch is asked for, memory holds what :meth:`batches` holds, and rows come in
        its order: those of a cube query partition by partition. A consumer may ask for other types, such as
        ``large_string``: each batch is cast to them, and a value that would be lost is an error. Who asks for other
        columns, or for types to which there is no cast, gets the stream as it is, as the protocol provides for.
        """
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        try:
            return reader.__arrow_c_stream__(requested_schema)
        except (ValueError, TypeError, NotImplementedError):
            return reader.__arrow_c_stream__()
