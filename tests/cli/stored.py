"""Small datasets whose every byte that a command shows is fixed: names, times, sizes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from click.testing import CliRunner, Result

from kubothek import Cube, Store
from kubothek.cli import main
from kubothek.codec.header import encode_header
from kubothek.codec.index import encode_index
from kubothek.codec.keys import data_key, header_key, index_key, schema_key
from kubothek.codec.schema import encode_schema
from kubothek.dataset.versions import keep_version
from kubothek.model.header import CommitInfo, CommitState, Header, partitions_schema
from kubothek.plan.cube.metadata import cube_metadata
from kubothek.plan.foreign import FOREIGN_COMMIT, foreign_commit_id

SCHEMA = pa.schema([("p", pa.int64()), ("q", pa.string()), ("i1", pa.int64()), ("v1", pa.list_(pa.float64()))])
LABELS = ("p=1/q=a/f1", "p=1/q=北京/f2", "p=2/q=a/f3")
INDEX = pa.table({"i1": [7, 8], "partition": [[LABELS[0], LABELS[1]], [LABELS[2]]]})
METADATA = {"creation_time": "2026-07-01T12:00:00.123456", "owner": "Zoë", "tags": [1, 2]}


def run(url: str, *arguments: str, **options: Any) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(main, ["--store", url, *arguments], **options)


def put_dataset(url: str, uuid: str = "u", times: int = 1) -> Store:
    """Put the header and the index of a dataset, and nothing else of it; with its partitions so many times."""
    store = Store(url)
    labels = [*LABELS, *(f"p=3/q=a/{'f' * 50}{n}" for n in range(len(LABELS) * (times - 1)))]
    keys = [data_key(uuid, "table", label) for label in labels]
    sizes = [[1200, 34, 5] * times, [2_500_000, 999, 1000] * times]
    partitions = pa.table([labels, *sizes, keys], schema=partitions_schema(("table",)))
    index = index_key(uuid, "i1", datetime(2026, 7, 1, tzinfo=UTC))
    state = CommitState(version=3, commit="c", recent=("c",), incarnation="1f", schema={"table": SCHEMA})
    header = Header(uuid, ("p", "q"), partitions, indices={"i1": index}, metadata=METADATA, state=state)
    store.put(index, encode_index("i1", [INDEX]))
    put_versions(store, header, state)
    return store


def put_versions(store: Store, header: Header, state: CommitState) -> None:
    """Put a header, and a copy of it for each version up to its own."""
    for version in range(1, state.version + 1):
        kept = replace(header, state=replace(state, version=version))
        keep_version(store, kept, encode_header(kept))
    store.put(header_key(header.uuid, "json"), encode_header(header))


def put_foreign_dataset(url: str, uuid: str = "u") -> Store:
    """Put a dataset of two tables as other software does, which records neither rows nor bytes."""
    store = Store(url)
    unknown = [None] * len(LABELS)
    keys = [[data_key(uuid, table, label) for label in LABELS] for table in ("a", "b")]
    partitions = pa.table([LABELS, unknown, unknown, *keys], schema=partitions_schema(("a", "b")))
    for table in ("a", "b"):
        store.put(schema_key(uuid, table), encode_schema(SCHEMA))
    store.put(header_key(uuid, "msgpack"), encode_header(Header(uuid, None, partitions, format="msgpack")))
    return store


def put_history(url: str, uuid: str = "h") -> Store:
    """Put a dataset with five versions: the third was overwritten by the fourth, which is of other software."""
    store = Store(url)
    told = [("write_dataset", 2, 0, 1234567), ("update_dataset", 1, 0, None), ("update_dataset", 12, 2, 120_000)]
    told += [(FOREIGN_COMMIT, 0, 12, 0), ("garbage_collect_dataset", 0, 0, 0)]
    for version, (operation, added, removed, rows) in enumerate(told, start=1):
        commit = foreign_commit_id(uuid, str(version)) if operation == FOREIGN_COMMIT else str(version) * 32
        ours = ("Zoë", "kubothek 0.1.0") if operation != FOREIGN_COMMIT else ("", "")
        overwrote = ("3" * 32,) if operation == FOREIGN_COMMIT else ()
        time = datetime(2026, 7, version, 12, 30, 0, 123456, tzinfo=UTC)
        info = CommitInfo(time, operation, *ours, added, removed, rows, overwrote)
        state = CommitState(version, commit, (commit,), "1f", {"table": SCHEMA}, info=info)
        labels = LABELS[: min(version, 2)]
        files = [data_key(uuid, "table", label) for label in labels]
        partitions = pa.table([labels, [1200] * len(labels), [999] * len(labels), files], partitions_schema(("table",)))
        header = Header(uuid, ("p", "q"), partitions, metadata=METADATA, state=state)
        keep_version(store, header, encode_header(header))
    store.put(header_key(uuid, "json"), encode_header(header))
    return store


CUBE_COLUMNS = {
    "seed": {"p": pa.int64(), "x": pa.int64(), "y": pa.timestamp("us", "UTC"), "i1": pa.string(), "v1": pa.float64()},
    "weather": {"p": pa.int64(), "x": pa.int64(), "v2": pa.list_(pa.float64()), "v3": pa.decimal128(10, 2)},
    "names": {"x": pa.int64(), "v4": pa.string()},
}
CUBE_INDICES = {"seed": {"x": [7, 8], "y": [datetime(2026, 1, 1, tzinfo=UTC)], "i1": ["N1", "N2", "北京"]}}


def put_cube(url: str, prefix: str = "c", files: int = 2) -> Store:
    """Put the headers and indices of a cube of three datasets, with so many files in each but the last."""
    store = Store(url)
    for number, (dataset_id, columns) in enumerate(CUBE_COLUMNS.items()):
        uuid, keys = f"{prefix}++{dataset_id}", ("p",) if "p" in columns else ()
        labels = [f"p={n % 2 + 1}/f{n}" for n in range(files)] if keys else ["f0"]
        rows, sizes = [
            [1200 + n for n in range(len(labels))],
            [2_500_000 // (n + number + 1) for n in range(len(labels))],
        ]
        partitions = pa.table(
            [labels, rows, sizes, [data_key(uuid, "table", label) for label in labels]],
            schema=partitions_schema(("table",)),
        )
        indices = {}
        for column, values in CUBE_INDICES.get(dataset_id, {}).items():
            indices[column] = index_key(uuid, column, datetime(2026, 7, 1, tzinfo=UTC))
            entries = pa.table({column: pa.array(values, columns[column]), "partition": [labels] * len(values)})
            store.put(indices[column], encode_index(column, [entries]))
        cube = Cube(uuid_prefix=prefix, dimension_columns=("x", "y"), partition_columns="p")
        metadata = {"creation_time": METADATA["creation_time"], **cube_metadata(cube, dataset_id)}
        if dataset_id == "weather":
            metadata["owner"] = METADATA["owner"]
        state = CommitState(
            version=number + 1, commit="c", recent=("c",), incarnation="1f", schema={"table": pa.schema(columns)}
        )
        put_versions(store, Header(uuid, keys, partitions, indices=indices, metadata=metadata, state=state), state)
    return store
