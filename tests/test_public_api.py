"""The public list: exactly these names, each explained."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise
from typing import Any

import pytest

import kubothek

PUBLIC = [
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
FUNCTIONS = [name for name in PUBLIC if inspect.isfunction(getattr(kubothek, name))]
CLASSES = [name for name in PUBLIC if inspect.isclass(getattr(kubothek, name))]


def test_the_list_is_exact() -> None:
    """What is public is listed, sorted, and nothing else can be taken for public."""
    assert kubothek.__all__ == PUBLIC == sorted(PUBLIC)
    assert [*FUNCTIONS, *CLASSES] == sorted(PUBLIC, key=lambda name: (name in CLASSES, PUBLIC.index(name)))
    loose = {name for name, value in vars(kubothek).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert loose == set(PUBLIC)


def sections(text: str) -> set[str]:
    """Return the headings of a docstring."""
    lines = text.splitlines()
    return {line for line, under in pairwise(lines) if under and set(under) == {"-"}}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_explained(name: str) -> None:
    """Each says what it takes, when it fails, and shows an example; every parameter is named."""
    function = getattr(kubothek, name)
    text = inspect.getdoc(function) or ""
    assert {"Parameters", "Raises", "Examples"} <= sections(text)
    assert [p for p in inspect.signature(function).parameters if not re.search(rf"\b{p}\b", text)] == []


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_explained(name: str) -> None:
    """Each class and each of its public methods and properties has a docstring."""
    kind = getattr(kubothek, name)
    assert inspect.getdoc(kind)
    members: dict[str, Any] = {n: m for n, m in inspect.getmembers(kind) if not n.startswith("_")}
    described = {n: m for n, m in members.items() if callable(m) or isinstance(m, property)}
    assert [n for n, m in described.items() if not inspect.getdoc(m)] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_order_of_arguments(name: str) -> None:
    """Data, subject, store, and what it means nothing without, come by position; everything else by name."""
    parameters = inspect.signature(getattr(kubothek, name)).parameters.values()
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    order = ["data", "schema", "cube", "uuid_prefix", "uuid", "store", "to", "columns", "where", "condition", "value"]
    order += ["dataset", "compute", "spark"]
    assert positional == [name for name in order if name in positional]
    assert ("store" in positional) is not name.startswith("condition_")
