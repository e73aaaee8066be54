"""Does with Plateau what a test asks for; runs in Plateau's own environment, not in ours.

    python with_plateau.py STORE STEPS.json OUT

``STEPS.json`` lists the steps, each with ``do`` and the ``uuid`` of a dataset. What step number N finds goes to
``OUT/N.*``: rows and postings as Parquet files, the rest as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import plateau
import pyarrow as pa
import pyarrow.parquet as pq
from plateau.core.factory import DatasetFactory
from plateau.io.eager import (
    garbage_collect_dataset,
    read_table,
    store_dataframes_as_dataset,
    update_dataset_from_dataframes,
)


def read(store: str, out: Path, uuid: str, where: list[list[list[Any]]] | None = None) -> None:
    """Read rows, facts and every index of a dataset."""
    rows = read_table(uuid, store, predicates=where and [[tuple(part) for part in every] for every in where])
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), out.with_suffix(".parquet"))
    factory = DatasetFactory(uuid, store, load_schema=True).load_all_indices()
    for column, index in factory.indices.items():
        pairs = [(value, label) for value, labels in index.index_dct.items() for label in labels]
        postings = pa.table({"value": [value for value, _ in pairs], "label": [label for _, label in pairs]})
        pq.write_table(postings, out.with_suffix(f".{column}.index"))
    facts = {
        "plateau": plateau.__version__,
        "schema": {field.name: str(field.type) for field in factory.schema.internal()},
        "partition_keys": list(factory.partition_keys),
        "labels": sorted(factory.partitions),
        "metadata": dict(factory.metadata),
        "indices": sorted(factory.indices),
    }
    out.with_suffix(".json").write_text(json.dumps(facts))


def write(store: str, out: Path, uuid: str, frames: list[str], **settings: Any) -> None:
    """Write a dataset."""
    store_dataframes_as_dataset(store=store, dataset_uuid=uuid, dfs=[frame(path) for path in frames], **settings)


def update(store: str, out: Path, uuid: str, frames: list[str], **settings: Any) -> None:
    """Add rows to a dataset, and delete from it."""
    update_dataset_from_dataframes([frame(path) for path in frames], store=store, dataset_uuid=uuid, **settings)


def collect(store: str, out: Path, uuid: str) -> None:
    """Delete what Plateau takes for unreferenced."""
    garbage_collect_dataset(uuid, store)


def frame(path: str) -> pd.DataFrame:
    """Load rows that a test prepared."""
    return pq.read_table(path).to_pandas()


if __name__ == "__main__":
    folder, steps, results = sys.argv[1:]
    for number, step in enumerate(json.loads(Path(steps).read_text())):
        action = {"read": read, "write": write, "update": update, "collect": collect}[step.pop("do")]
        action(f"hfs://{folder}?create_if_missing=true", Path(results) / str(number), **step)
