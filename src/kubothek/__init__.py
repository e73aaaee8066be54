"""Tables and cubes on plain object stores, for people who run data and machine-learning pipelines on Spark.

A *dataset* is a table kept as partitioned Parquet files in a directory or bucket, with one metadata header whose
replacement is the commit. A *cube* is several datasets with shared dimension columns, queried as one wide table.
Nothing here needs a JVM until a Spark session is handed over.
"""

from kubothek.cube.build import build_cube, extend_cube
from kubothek.cube.check import check_cube
from kubothek.cube.cleanup import cleanup_cube
from kubothek.cube.copy import copy_cube
from kubothek.cube.delete import delete_cube
from kubothek.cube.members import discover_cube
from kubothek.cube.query import Query, query_cube
from kubothek.cube.refresh import refresh_cube
from kubothek.cube.remove import remove_partitions
from kubothek.cube.stale import stale_partitions
from kubothek.cube.stats import collect_stats
from kubothek.cube.update import append_to_cube, update_cube
from kubothek.dataset.dataset import Dataset, Index, Partition, open_dataset
from kubothek.dataset.footers import collect_dataset_metadata
from kubothek.dataset.hashing import hash_dataset
from kubothek.dataset.indices.build import build_dataset_indices, drop_dataset_indices
from kubothek.dataset.partitions import commit_dataset, create_empty_dataset, write_partitions
from kubothek.dataset.rollback import rollback_dataset
from kubothek.dataset.scan import Scan
from kubothek.dataset.upkeep.copy import copy_dataset
from kubothek.dataset.upkeep.delete import delete_dataset
from kubothek.dataset.upkeep.garbage import garbage_collect_dataset
from kubothek.dataset.upkeep.verify import verify_dataset
from kubothek.dataset.write import update_dataset, write_dataset
from kubothek.model.condition import C, Condition
from kubothek.model.condition_json import condition_from_json, condition_to_json
from kubothek.model.cube import Cube
from kubothek.model.history import History, HistoryEntry
from kubothek.model.pin import Pin, PinnedDataset
from kubothek.model.problem import Problem
from kubothek.model.staged import StagedPartition
from kubothek.model.stale import StalePartition, StalePartitions
from kubothek.model.stats import DatasetStats
from kubothek.store.interface import Store
from kubothek.version import __version__ as __version__

__all__ = [
    "C",
    "Condition",
    "Cube",
    "Dataset",
    "DatasetStats",
    "History",
    "HistoryEntry",
    "Index",
    "Partition",
    "Pin",
    "PinnedDataset",
    "Problem",
    "Query",
    "Scan",
    "StagedPartition",
    "StalePartition",
    "StalePartitions",
    "Store",
    "append_to_cube",
    "build_cube",
    "build_dataset_indices",
    "check_cube",
    "cleanup_cube",
    "collect_dataset_metadata",
    "collect_stats",
    "commit_dataset",
    "condition_from_json",
    "condition_to_json",
    "copy_cube",
    "copy_dataset",
    "create_empty_dataset",
    "delete_cube",
    "delete_dataset",
    "discover_cube",
    "drop_dataset_indices",
    "extend_cube",
    "garbage_collect_dataset",
    "hash_dataset",
    "open_dataset",
    "query_cube",
    "refresh_cube",
    "remove_partitions",
    "rollback_dataset",
    "stale_partitions",
    "update_cube",
    "update_dataset",
    "verify_dataset",
    "write_dataset",
    "write_partitions",
]
