"""Tables and cubes on plain object stores, for people who run data and machine-learning pipelines on Spark.

A *dataset* is a table kept as partitioned Parquet files in a directory or bucket, with one metadata header whose
replacement is the commit. A *cube* is several datasets with shared dimension columns, queried as one wide table.
Nothing here needs a JVM until a Spark session is handed over.
"""

from kubothek.cube.members import discover_cube
from kubothek.cube.query import Query, query_cube
from kubothek.cube.write import append_to_cube, build_cube, extend_cube
from kubothek.dataset.dataset import Dataset, Index, Partition, open_dataset
from kubothek.dataset.scan import Scan
from kubothek.dataset.write import update_dataset, write_dataset
from kubothek.model.condition import C, Condition
from kubothek.model.cube import Cube
from kubothek.store.interface import Store

__all__ = [
    "C",
    "Condition",
    "Cube",
    "Dataset",
    "Index",
    "Partition",
    "Query",
    "Scan",
    "Store",
    "append_to_cube",
    "build_cube",
    "discover_cube",
    "extend_cube",
    "open_dataset",
    "query_cube",
    "update_dataset",
    "write_dataset",
]
