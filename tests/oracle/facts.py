"""What is known of a dataset but for its partitions and rows: how the corpus says it, and how Kubothek does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kubothek as kb


def facts(dataset: kb.Dataset) -> dict[str, Any]:
    """Return the facts of a dataset."""
    return {
        "uuid": dataset.uuid,
        "partition_keys": list(dataset.partition_keys),
        "secondary_indices": sorted(dataset.index_columns),
        "user_metadata": {key: value for key, value in dataset.metadata.items() if key != "creation_time"},
        "columns": _one_or_all({table: _fields(dataset, table) for table in dataset.tables}),
    }


def _fields(dataset: kb.Dataset, table: str) -> list[tuple[str, str]]:
    return [(field.name, str(field.type)) for field in dataset.scan(table=table).schema]


def _one_or_all(tables: Mapping[str, Any]) -> Any:
    """Return what is known of the only table, or of each by its name."""
    return dict(tables) if len(tables) > 1 else next(iter(tables.values()))


def facts_of_dataset_cases(cases: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that the cases of a dataset hold."""
    return {
        "uuid": cases["dataset_uuid"],
        "partition_keys": cases["partition_keys"],
        "secondary_indices": sorted(cases["secondary_indices"]),
        "user_metadata": cases["user_metadata"],
        "columns": _one_or_all({table: _columns(columns) for table, columns in cases["tables"].items()}),
    }


def facts_of_cube_cases(cases: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the facts of each dataset that the cases of a cube hold."""
    return {
        dataset_id: {
            **{name: fact for name, fact in stored.items() if name != "label_shape"},
            "columns": _columns(stored["columns"]),
        }
        for dataset_id, stored in cases["datasets"].items()
    }


def _columns(stored: Any) -> list[tuple[str, str]]:
    """Return names and types; instants are stored in microseconds, though pandas shows them in nanoseconds."""
    return [(column["name"], column["arrow_type"].replace("timestamp[ns", "timestamp[us")) for column in stored]
