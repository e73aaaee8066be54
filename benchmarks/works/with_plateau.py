"""Writes and looks up rows with Plateau, and takes the time itself; runs in Plateau's own environment, not in ours.

    python with_plateau.py STORE

Reads one request per line, as JSON, and answers each with a line: how many seconds it took. Rows that were found go to
the file that the request names, off the clock.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from plateau.core.factory import DatasetFactory
from plateau.io.eager import read_table, store_dataframes_as_dataset

UUID = "rows"


def write(store: str, frames: str, indices: list[str]) -> None:
    """Write one partition per file of a directory."""
    dfs = [pq.read_table(path).to_pandas() for path in sorted(Path(frames).iterdir())]
    store_dataframes_as_dataset(store=store, dataset_uuid=UUID, dfs=dfs, secondary_indices=indices, overwrite=True)


def find(store: str, predicates: list[list[list[Any]]], opened: DatasetFactory | None) -> pd.DataFrame:
    """Look rows up in an opened dataset, its indices in memory, or open it first."""
    factory = opened or DatasetFactory(UUID, store, load_schema=True)
    return read_table(factory=factory, predicates=[[tuple(one) for one in every] for every in predicates])


def main(store: str) -> None:
    """Answer requests until there are no more."""
    opened: DatasetFactory | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            opened = DatasetFactory(UUID, store, load_schema=True).load_all_indices()
        start = time.perf_counter()
        if request["do"] == "write":
            write(store, request["frames"], request["indices"])
        if request["do"] == "find":
            rows = find(store, request["predicates"], opened if request["opened"] else None)
        seconds = time.perf_counter() - start
        if request["do"] == "find":
            pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), request["out"])
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(f"hfs://{sys.argv[1]}?create_if_missing=true")
