"""Which columns a query of a DataFrame needs, as Spark's optimizer finds when it is asked before anything is read.

``mapInArrow`` gives the columns that it was planned with, whatever becomes of them. So a query that comes as a function
of a DataFrame is planned twice. The first time it gets a stand-in, in which marked columns have the names of the real
ones. The optimizer drops those that nothing refers to, and the marks that are left in the text of the optimized plan
are the columns to read. The second time it gets the real DataFrame, with the same columns in the same order. Those that
are not needed were not read: an expression in their place raises an error, should anything evaluate it after all::

    stand-in      m0 AS MONTH, m1 AS DELAY, m2 AS CARRIER          query: groupBy("MONTH").avg("DELAY")
    optimized     Aggregate [m0], [m0 AS MONTH, avg(m1)]           -> read MONTH, DELAY
    real          MONTH, DELAY, raise_error(…) AS CARRIER

Too many marks, as where the optimizer cannot see through a function of Python, only mean that too much is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from kubothek.engine.spark import is_spark
from kubothek.engine.spark.payload import Batches
from kubothek.engine.spark.session import settings
from kubothek.engine.spark_types import spark_schema
from kubothek.errors import InvalidInputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Query = Callable[["DataFrame"], "DataFrame"]

_SOURCE = "kubothek_stand_in"
_MARK = "kubothek_column_"
_MARKED = re.compile(rf"\b{_MARK}([0-9]+)#")
_OPTIMIZED = re.compile(r"== Optimized Logical Plan ==\n(.*?)\n\n== ", re.DOTALL)
_WHOLE_TEXT = {"spark.sql.debug.maxToStringFields": 2**31 - 1, "spark.sql.maxPlanStringLength": 2**31 - 16}


def needed_columns(spark: SparkSession, schema: pa.Schema, query: Query) -> tuple[str, ...]:
    """Return the columns, of these, that a query needs; no job runs.

    Raises
    ------
    InvalidInputError
        The query does not return a DataFrame.
    """
    frame = query(_stand_in(spark, schema))
    if not is_spark(frame):
        raise InvalidInputError(f"The function in using must return a Spark DataFrame, but it returned {frame!r}.")
    numbers = marked(_optimized_plan(spark, frame))
    return tuple(name for number, name in enumerate(schema.names) if number in numbers)


def marked(plan: str) -> set[int]:
    r"""Return the numbers of the marked columns to which an optimized plan refers, apart from their source.

    Examples
    --------
    >>> source = "+- MapInArrow kubothek_stand_in(id#0L)#1, [kubothek_column_0#4, kubothek_column_1#5L], false"
    >>> marked("\n".join(["Project [kubothek_column_1#5L AS MONTH#9L]", source]))
    {1}
    """
    lines = (line for line in plan.splitlines() if f"MapInArrow {_SOURCE}(" not in line)
    return {int(number) for line in lines for number in _MARKED.findall(line)}


def with_unread(frame: DataFrame, schema: pa.Schema, read: Sequence[str]) -> DataFrame:
    """Return a DataFrame with all columns of a schema, in order, of which some were read."""
    from pyspark.sql import functions as sql

    kinds = spark_schema(schema)
    columns = {}
    for name in schema.names:
        message = f"The column {name!r} was not read, because the query in using did not need it when it was planned."
        columns[name] = sql.raise_error(sql.lit(message)).cast(kinds[name].dataType).alias(name)
    marks = {name: f"{_MARK}{number}" for number, name in enumerate(read)}  # not every name can be said in SQL
    columns |= {name: sql.col(mark).alias(name) for name, mark in marks.items()}
    return frame.toDF(*marks.values()).select(*columns.values())


def _stand_in(spark: SparkSession, schema: pa.Schema) -> DataFrame:
    """Return a DataFrame that looks like the real one and cannot be computed."""

    def refuse(_: Batches) -> Batches:
        raise ValueError(
            "The function in using runs a job (count, collect, show, write, ...) on the DataFrame that it is given. It "
            "is called to find out which columns it needs, before anything is read: let it return a DataFrame, and run "
            "jobs on what read_dataset or read_cube returns."
        )

    refuse.__name__ = _SOURCE
    marks = pa.schema([field.with_name(f"{_MARK}{number}") for number, field in enumerate(schema)])
    return spark.range(0, 1, 1, 1).mapInArrow(refuse, spark_schema(marks)).toDF(*schema.names)


def _optimized_plan(spark: SparkSession, frame: DataFrame) -> str:
    with settings(spark, _WHOLE_TEXT):
        text = str(spark.sql("EXPLAIN EXTENDED SELECT * FROM {frame}", frame=frame).collect()[0][0])
    found = _OPTIMIZED.search(text)
    return found[1] if found else text
