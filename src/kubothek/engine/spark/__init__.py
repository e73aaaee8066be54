"""Runs read and write tasks on Spark: :mod:`read`, :mod:`write`, and what both need of a session and of its tasks.

:mod:`kubothek.engine.spark_types` says which Spark type stands for which type of record. All of it can be imported
without PySpark; the session always comes from the caller.
"""

from __future__ import annotations

from kubothek.engine.spark.read import (
    ROWS_PER_BATCH,
    count_plan_tasks,
    count_tasks,
    expected_tasks,
    gather,
    in_batches,
    quoted,
    read_files,
    read_units,
    unit_tables,
)
from kubothek.engine.spark.session import (
    CORES_OF_A_SMALL_CLUSTER,
    check_session,
    is_connect,
    is_spark,
    is_spark_schema,
)
from kubothek.engine.spark.write import check_partitions, check_reached, local_folder, write_rows

__all__ = [
    "CORES_OF_A_SMALL_CLUSTER",
    "ROWS_PER_BATCH",
    "check_partitions",
    "check_reached",
    "check_session",
    "count_plan_tasks",
    "count_tasks",
    "expected_tasks",
    "gather",
    "in_batches",
    "is_connect",
    "is_spark",
    "is_spark_schema",
    "local_folder",
    "quoted",
    "read_files",
    "read_units",
    "unit_tables",
    "write_rows",
]
