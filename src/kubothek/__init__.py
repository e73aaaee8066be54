"""Tables and cubes on plain object stores, for people who run data and machine-learning pipelines on Spark.

A *dataset* is a table kept as partitioned Parquet files in a directory or bucket, with one metadata header whose
replacement is the commit. A *cube* is several datasets with shared dimension columns, queried as one wide table.
Nothing here needs a JVM until a Spark session is handed over.
"""

from kubothek.cube.members import discover_cube
from kubothek.cube.query import Query, query_cube
from kubothek.cube.write import append_to_cube, build_cube, extend_cube
from kubothek.dataset.dataset import Dataset, Index, Partition, open_dataset
from kubothek.dataset.footers import collect_dataset_metadata
from kubothek.dataset.hashing import hash_dataset
from kubothek.dataset.indices.build import build_dataset_indices, drop_dataset_indices
from kubothek.dataset.partitions import commit_dataset, create_empty_dataset, write_partitions
from kubothek.dataset.scan import Scan
from kubothek.dataset.upkeep.copy import copy_dataset
from kubothek.dataset.upkeep.delete import delete_dataset
from kubothek.dataset.upkeep.garbage import garbage_collect_dataset
from kubothek.dataset.upkeep.verify import verify_dataset
from kubothek.dataset.write import update_dataset, write_dataset
from kubothek.model.condition import C, Condition
from kubothek.model.cube import Cube
from kubothek.model.problem import Problem
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store

__all__ = [
    "C",
    "Condition",
    "Cube",
    "Dataset",
    "Index",
    "Partition",
    "Problem",
    "Query",
    "Scan",
    "StagedPartition",
    "Store",
    "append_to_cube",
    "build_cube",
    "build_dataset_indices",
    "collect_dataset_metadata",
    "commit_dataset",
    "copy_dataset",
    "create_empty_dataset",
    "delete_dataset",
    "discover_cube",
    "drop_dataset_indices",
    "extend_cube",
    "garbage_collect_dataset",
    "hash_dataset",
    "open_dataset",
    "query_cube",
    "update_dataset",
    "verify_dataset",
    "write_dataset",
    "write_partitions",
]
