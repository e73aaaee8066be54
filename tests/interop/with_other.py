"""Does with Plateau or Kartothek what a test asks for; runs in their own environment, on Python 3.8 too.

    python with_other.py plateau|kartothek STORE STEPS OUT

``STEPS`` is a pickled list of steps, each with ``do`` and the ``uuid`` of a dataset. What step number N finds goes to
``OUT/N.*``: rows and postings as Parquet files, the rest as JSON. A step that fails leaves ``N.error``, and the next
one runs.
"""

from __future__ import annotations

import importlib
import json
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, Dict  # noqa: UP035  as Python 3.8 knows them

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

LIBRARY = sys.argv[1]
other = importlib.import_module(LIBRARY)
eager = importlib.import_module(LIBRARY + ".io.eager")
factories = importlib.import_module(LIBRARY + ".core.factory")
serialization = importlib.import_module(LIBRARY + ".serialization")


def read(store: str, out: Path, uuid: str, where: Any = None, table: str = "table", indices: bool = True) -> None:
    """Read rows, facts and every index of a dataset."""
    named = {"table": table} if LIBRARY == "kartothek" else {}
    rows = eager.read_table(uuid, store, predicates=where, dates_as_object=True, **named)
    factory = factories.DatasetFactory(uuid, store, load_schema=True)
    if indices:
        factory = factory.load_all_indices()
        for number, (_, index) in enumerate(sorted(factory.indices.items())):
            pairs = [(value, label) for value, labels in index.index_dct.items() for label in labels]
            # Timestamps are objects of NumPy's, whose type Arrow sees by itself.
            kind = None if pa.types.is_timestamp(index.dtype) else index.dtype
            values = pa.array([value for value, _ in pairs], kind)
            postings = pa.table({"value": values, "label": pa.array([label for _, label in pairs], pa.string())})
            pq.write_table(postings, str(out.with_suffix(f".{number}.index")))
    schema = factory.table_meta[table] if LIBRARY == "kartothek" else factory.schema
    facts = {
        "version": other.__version__,
        "schema": {field.name: str(field.type) for field in schema.internal()},
        "partition_keys": list(factory.partition_keys),
        "labels": sorted(factory.partitions),
        "metadata": dict(factory.metadata),
        "indices": sorted(factory.indices) if indices else [],
    }
    keep(out, rows, facts)


def write(store: str, out: Path, uuid: str, frames: Any, csv: Any = None, **settings: Any) -> None:
    """Write a dataset; as CSV files, compressed or not, where ``csv`` is a boolean."""
    if csv is not None:
        settings["df_serializer"] = serialization.CsvSerializer(compress=csv)
    eager.store_dataframes_as_dataset(store=store, dataset_uuid=uuid, dfs=[frame(one) for one in frames], **settings)


def update(store: str, out: Path, uuid: str, frames: Any, **settings: Any) -> None:
    """Add rows to a dataset, and delete from it."""
    eager.update_dataset_from_dataframes([frame(one) for one in frames], store=store, dataset_uuid=uuid, **settings)


def build_indices(store: str, out: Path, uuid: str, columns: Any) -> None:
    """Build indices from the data."""
    eager.build_dataset_indices(store, uuid, columns)


def collect(store: str, out: Path, uuid: str) -> None:
    """Delete what is taken for unreferenced."""
    eager.garbage_collect_dataset(uuid, store)


def delete(store: str, out: Path, uuid: str) -> None:
    """Delete a dataset."""
    eager.delete_dataset(uuid, store)


def commit(store: str, out: Path, uuid: str, **change: Any) -> None:
    """Change metadata, or delete partitions, without new rows."""
    eager.commit_dataset(store, uuid, **change)


def query_cube(store: str, out: Path, uuid: str) -> None:
    """Read a whole cube of Kartothek's kind, found by its prefix."""
    cube, factory = _cube(store, uuid)
    frames = importlib.import_module("kartothek.io.eager_cube").query_cube(cube, factory)
    keep(out, pd.concat(frames), {"cube": str(cube), "indices": []})


def append_to_cube(store: str, out: Path, uuid: str, frames: Any) -> None:
    """Add rows to the datasets of a cube."""
    cube, factory = _cube(store, uuid)
    data = {name: pq.read_table(path).to_pandas() for name, path in frames.items()}
    importlib.import_module("kartothek.io.eager_cube").append_to_cube(data, cube, factory)


def _cube(store: str, prefix: str) -> Any:
    factory = importlib.import_module("kartothek.core.utils").lazy_store(store)
    return importlib.import_module("kartothek.api.discover").discover_cube(prefix, factory())[0], factory


def frame(one: Any) -> Any:
    """Load rows that a test prepared, or the tables of one partition and perhaps its label."""
    if isinstance(one, str):
        return pq.read_table(one).to_pandas()
    tables = [(table, pq.read_table(path).to_pandas()) for table, path in one["tables"].items()]
    return {"label": one["label"], "data": tables} if "label" in one else {"data": tables}


def keep(out: Path, rows: pd.DataFrame, facts: Any) -> None:
    """Leave what was found for the test."""
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), str(out.with_suffix(".parquet")))
    out.with_suffix(".json").write_text(json.dumps(facts))


ACTIONS: Dict[str, Callable[..., None]] = {  # noqa: UP006  Python 3.8 runs this
    "read": read,
    "write": write,
    "update": update,
    "build_indices": build_indices,
    "collect": collect,
    "delete": delete,
    "commit": commit,
    "query_cube": query_cube,
    "append_to_cube": append_to_cube,
}

if __name__ == "__main__":
    folder, steps, results = sys.argv[2:]
    for number, step in enumerate(pickle.loads(Path(steps).read_bytes())):
        out = Path(results) / str(number)
        settings = dict(step)
        try:
            ACTIONS[settings.pop("do")](f"hfs://{folder}?create_if_missing=true", out, **settings)
        except Exception:  # noqa: BLE001  whatever it is, the test is told
            out.with_suffix(".error").write_text(traceback.format_exc())
