"""Tables and cubes on plain object stores, for people who run data and machine-learning pipelines on Spark.

A *dataset* is a table kept as partitioned Parquet files in a directory or bucket, with one metadata header whose
replacement is the commit. A *cube* is several datasets with shared dimension columns, queried as one wide table.
Nothing here needs a JVM until a Spark session is handed over.

Each name is imported when it is first used, with what it needs: ``import kubothek`` takes a twentieth of the time that
PyArrow and everything here take, which a command's help, for one, would wait for in vain.
"""

import importlib
import typing

from kubothek import errors as errors
from kubothek.version import __version__ as __version__

if typing.TYPE_CHECKING:
    from kubothek.cube.build import build_cube, extend_cube
    from kubothek.cube.check import check_cube
    from kubothek.cube.cleanup import cleanup_cube
    from kubothek.cube.copy import copy_cube
    from kubothek.cube.delete import delete_cube
    from kubothek.cube.members import discover_cube
    from kubothek.cube.query import Query, query_cube
    from kubothek.cube.refresh import refresh_cube
    from kubothek.cube.remove import remove_partitions
    from kubothek.cube.report import report_cube
    from kubothek.cube.stale import stale_partitions
    from kubothek.cube.stats import collect_stats
    from kubothek.cube.update import append_to_cube, update_cube
    from kubothek.dataset.dataset import Dataset, Index, Partition, open_dataset
    from kubothek.dataset.export_delta import export_delta
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
    from kubothek.model.delta import DeltaExport
    from kubothek.model.history import History, HistoryEntry
    from kubothek.model.pin import Pin, PinnedDataset
    from kubothek.model.problem import Problem
    from kubothek.model.staged import StagedPartition
    from kubothek.model.stale import StalePartition, StalePartitions
    from kubothek.model.stats import DatasetStats
    from kubothek.store.interface import Store

__all__ = [
    "C",
    "Condition",
    "Cube",
    "Dataset",
    "DatasetStats",
    "DeltaExport",
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
    "export_delta",
    "extend_cube",
    "garbage_collect_dataset",
    "hash_dataset",
    "open_dataset",
    "query_cube",
    "refresh_cube",
    "remove_partitions",
    "report_cube",
    "rollback_dataset",
    "stale_partitions",
    "update_cube",
    "update_dataset",
    "verify_dataset",
    "write_dataset",
    "write_partitions",
]

_MODULES = {
    "cube.build": ("build_cube", "extend_cube"),
    "cube.check": ("check_cube",),
    "cube.cleanup": ("cleanup_cube",),
    "cube.copy": ("copy_cube",),
    "cube.delete": ("delete_cube",),
    "cube.members": ("discover_cube",),
    "cube.query": ("Query", "query_cube"),
    "cube.refresh": ("refresh_cube",),
    "cube.remove": ("remove_partitions",),
    "cube.report": ("report_cube",),
    "cube.stale": ("stale_partitions",),
    "cube.stats": ("collect_stats",),
    "cube.update": ("append_to_cube", "update_cube"),
    "dataset.dataset": ("Dataset", "Index", "Partition", "open_dataset"),
    "dataset.export_delta": ("export_delta",),
    "dataset.footers": ("collect_dataset_metadata",),
    "dataset.hashing": ("hash_dataset",),
    "dataset.indices.build": ("build_dataset_indices", "drop_dataset_indices"),
    "dataset.partitions": ("commit_dataset", "create_empty_dataset", "write_partitions"),
    "dataset.rollback": ("rollback_dataset",),
    "dataset.scan": ("Scan",),
    "dataset.upkeep.copy": ("copy_dataset",),
    "dataset.upkeep.delete": ("delete_dataset",),
    "dataset.upkeep.garbage": ("garbage_collect_dataset",),
    "dataset.upkeep.verify": ("verify_dataset",),
    "dataset.write": ("update_dataset", "write_dataset"),
    "model.condition": ("C", "Condition"),
    "model.condition_json": ("condition_from_json", "condition_to_json"),
    "model.cube": ("Cube",),
    "model.delta": ("DeltaExport",),
    "model.history": ("History", "HistoryEntry"),
    "model.pin": ("Pin", "PinnedDataset"),
    "model.problem": ("Problem",),
    "model.staged": ("StagedPartition",),
    "model.stale": ("StalePartition", "StalePartitions"),
    "model.stats": ("DatasetStats",),
    "store.interface": ("Store",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


if not typing.TYPE_CHECKING:  # which would take every name for one that is here

    def __getattr__(name):
        """Import a public name at its first use."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        """List the public names too, whether they were imported already or not."""
        return sorted({*globals(), *__all__})
