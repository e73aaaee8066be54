"""What Plateau or Kartothek does and how long it takes; runs in the environment of one of them, not in ours.

    python with_plateau.py plateau|kartothek

Reads one request per line, as JSON, and answers each with a line: how many seconds it took, or what went wrong. What
was found is kept until the request ``fetch`` has it written to a file, and what is to be appended is brought by
``load``, so that neither is part of what is measured. Kartothek needs Python 3.8, and so no more than that is used
here.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

UUID = "rows"


class Library:
    """One of the two, which have the same functions under their own names."""

    def __init__(self, name: str) -> None:
        self.eager = importlib.import_module(f"{name}.io.eager")
        self._factory = importlib.import_module(f"{name}.core.factory").DatasetFactory
        self._read = importlib.import_module(f"{name}.io_components.read")
        self._indices = importlib.import_module(f"{name}.io_components.index")
        self._name = name
        self._opened: dict[str, Any] = {}
        self._frame = pd.DataFrame()
        self.found = pd.DataFrame()

    def write(self, store: str, frames: str, indices: list[str], **_: Any) -> None:
        """Write one partition per file of a directory."""
        dfs = [pq.read_table(path).to_pandas() for path in sorted(Path(frames).iterdir())]
        self.eager.store_dataframes_as_dataset(
            store=_url(store), dataset_uuid=UUID, dfs=dfs, secondary_indices=indices, overwrite=True
        )

    def open(self, store: str, **_: Any) -> None:
        """Open a dataset and keep it, its indices in memory."""
        self._opened[store] = self._factory(UUID, _url(store), load_schema=True).load_all_indices()

    def find(self, store: str, predicates: list, opened: bool = False, **_: Any) -> pd.DataFrame:
        """Look rows up, in an opened dataset or in one that is opened first."""
        factory = self._opened[store] if opened else self._factory(UUID, _url(store), load_schema=True)
        return self.eager.read_table(factory=factory, predicates=_tuples(predicates))

    def plan(self, store: str, predicates: list, **_: Any) -> pd.DataFrame:
        """Open a dataset and choose its files."""
        factory = self._factory(UUID, _url(store), load_schema=True)
        found = self._read.dispatch_metapartitions_from_factory(factory, predicates=_tuples(predicates))
        return pd.DataFrame({"files": [sum(1 for _ in found)]})

    def load(self, rows: str, **_: Any) -> None:
        """Take the rows of a file into memory."""
        self._frame = pq.read_table(rows).to_pandas()

    def append(self, store: str, partition_on: list[str], **_: Any) -> None:
        """Append what was loaded."""
        self.eager.update_dataset_from_dataframes(
            [self._frame], store=_url(store), dataset_uuid=UUID, partition_on=partition_on
        )

    def fetch(self, out: str, **_: Any) -> None:
        """Write what was found last into a file."""
        pq.write_table(pa.Table.from_pandas(self.found, preserve_index=False), out)

    def index(self, store: str, columns: list[str], **_: Any) -> None:
        """Build indices anew, as ``build_dataset_indices`` does, which hands a set on where a list is asked for."""
        factory = self._factory(UUID, _url(store), load_schema=True)
        wanted = {"columns": columns}
        if self._name == "kartothek":
            wanted = {"tables": ["table"], "columns": {"table": columns}}
        partitions = []
        for one in self._read.dispatch_metapartitions_from_factory(factory):
            read = one.load_dataframes(store=factory.store, **wanted)
            partitions.append(read.build_indices(columns=columns).remove_dataframes())
        self._indices.update_indices_from_partitions(partitions, dataset_metadata_factory=factory)


def _url(store: str) -> str:
    return f"hfs://{store}?create_if_missing=true"


def _tuples(predicates: list) -> list:
    return [[tuple(one) for one in every] for every in predicates]


def answer(library: Library, do: str, **request: Any) -> dict[str, Any]:
    """Do what a request says and tell how long it took."""
    start = time.perf_counter()
    try:
        found = getattr(library, do)(**request)
    except Exception as error:  # noqa: BLE001  the one who asked is told
        return {"error": f"{type(error).__name__}: {error}"}
    seconds = time.perf_counter() - start
    if found is not None:
        library.found = found
    return {"seconds": seconds}


def main(name: str) -> None:
    """Answer requests until there are no more."""
    library = Library(name)
    for line in sys.stdin:
        print(json.dumps(answer(library, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
