"""What a Spark session is and tells: kinds of it, cores, attempts at a task, and settings changed for a while.

One of Spark Connect has no context to ask. What the server's context knows shows in its plans and settings instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kubothek.errors import InvalidInputError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_LOCAL = re.compile(r"local(?:\[[^,]*(?:,\s*([0-9]+)\s*)?\])?")
_SPLITS = re.compile(r"splits=(?:Some\()?([0-9]+)")
CORES_OF_A_SMALL_CLUSTER = 16
"""What is taken for the cores where nobody tells how many there are."""


def is_spark(data: object) -> bool:
    """Tell whether data is a Spark DataFrame, classic or Connect, without importing Spark."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def check_session(spark: object) -> None:
    """Refuse what is not a Spark session, classic or Connect, without importing Spark."""
    if not any(k.__name__ == "SparkSession" and k.__module__.startswith("pyspark.sql.") for k in type(spark).__mro__):
        raise InvalidInputError(f"spark must be a SparkSession, not {spark!r}.")


def is_connect(spark: object) -> bool:
    """Tell whether this is a session of Spark Connect, without importing Spark."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_spark_schema(schema: object) -> bool:
    """Tell whether this is the schema of a Spark DataFrame, without importing Spark."""
    kind = type(schema)
    return kind.__name__ == "StructType" and kind.__module__.startswith("pyspark.sql.")


def cores(spark: SparkSession) -> int:
    """Return how many tasks run at once, as Spark sees it now.

    A server of Connect is asked to plan a range, which it would split as often; nothing runs.
    """
    found = context(spark)
    if found is not None:
        return int(found.defaultParallelism)
    planned = _SPLITS.search(str(spark.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0]))
    return int(planned[1]) if planned else CORES_OF_A_SMALL_CLUSTER


def attempts(spark: SparkSession) -> int:
    """Return how often Spark runs a failing task before it gives up."""
    found = context(spark)
    # Who makes a session anew changes this setting of the one that there is, and nothing else.
    master = found.master if found is not None else spark.conf.get("spark.master", None)
    if local := _LOCAL.fullmatch(master or ""):
        return int(local[1] or 1)
    return int(spark.conf.get("spark.task.maxFailures", None) or 4)


def context(spark: SparkSession) -> SparkContext | None:
    """Return the context of a session; one of Connect has none."""
    return None if is_connect(spark) else spark.sparkContext


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, object]) -> Iterator[None]:
    """Change settings of a session for a while."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, str(value))
    try:
        yield
    finally:
        for name, old in before.items():
            restore(spark, name, old)


def restore(spark: SparkSession, name: str, before: str | None) -> None:
    """Give a setting the value that it had before; ``None`` for one that was not set."""
    if before is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, before)
