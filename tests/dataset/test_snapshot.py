from __future__ import annotations

import base64
import json
import operator
import uuid as uuids
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kubothek.codec.header import encode_header
from kubothek.codec.labels import file_name
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import Snapshot, find_snapshot, load_snapshot, load_snapshots
from kubothek.errors import CorruptDatasetError, DatasetNotFoundError, InvalidInputError
from kubothek.model.header import CommitState, Header, partitions_schema
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import CountingStore

OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, wanted: value in wanted,
}
TAGS = {
    "null": lambda v: None,
    "float": float,
    "bytes": base64.b64decode,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "decimal": Decimal,
    "list": lambda v: [untag(one) for one in v],
}


def untag(value: dict[str, Any]) -> Any:
    """Return the Python value of a tagged value of the corpus."""
    return TAGS.get(value["t"], lambda v: v)(value.get("v"))


def datasets(corpus: Path) -> Iterator[tuple[dict[str, Any], Snapshot]]:
    """Open each dataset of the corpus, with what the corpus says about it."""
    folders = sorted(folder for folder in corpus.iterdir() if folder.name.startswith("ds_"))
    assert len(folders) >= 30
    for folder in folders:
        case = json.loads((folder / "cases.json").read_text())
        yield case, load_snapshot(case["dataset_uuid"], open_store(folder / "store"))


def memory_store() -> Store:
    """Give a store that nobody else has."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def put_header(store: Store, uuid: str = "d", **settings: Any) -> None:
    """Put a header as other software does, without our state."""
    header = Header(uuid, settings.pop("partition_keys", ("p",)), settings.pop("partitions", None), **settings)
    store.put(f"{uuid}.by-dataset-metadata.json", encode_header(header))


def test_kartothek_datasets_open(corpus: Path) -> None:
    """Tables, columns, partition keys, labels and indices are those that Kartothek reports."""
    for case, found in datasets(corpus):
        assert found.partition_keys == tuple(case["partition_keys"]), case["name"]
        assert sorted(found.partitions["label"].to_pylist()) == case["partition_labels"], case["name"]
        assert sorted(found.index_columns) == sorted(case["secondary_indices"]), case["name"]
        assert (found.header.partitions is not None) == case["explicit_partitions"], case["name"]
        names = {table: [column["name"] for column in columns] for table, columns in case["tables"].items()}
        assert {table: schema.names for table, schema in found.schemas.items()} == names, case["name"]


def test_kartothek_partition_values(corpus: Path) -> None:
    """Python's own comparison of the decoded partition values finds the labels that Kartothek's index finds."""
    checked = 0
    for case, found in datasets(corpus):
        for asked in case["index_cases"]:
            if asked["column"] not in found.partition_keys or "labels" not in asked["expect"]:
                continue
            files, wanted = found.file_table(found.tables[0]), untag(asked["value"])
            values = files[f"partition/{asked['column']}"].to_pylist()
            matches = OPERATORS[asked["op"]]
            labels = [one for one, v in zip(files["label"].to_pylist(), values, strict=True) if matches(v, wanted)]
            answers = [e["labels"] for e in (asked["expect"], asked.get("alternative")) if e]
            assert sorted(labels) in answers, (case["name"], asked)
            checked += 1
    assert checked > 50


def test_appending_keeps_what_kartothek_wrote(corpus: Path) -> None:
    """An append to Kartothek's dataset changes no entry of its header but the partitions, and adds ours at the end."""
    for case, old in datasets(corpus):
        store = open_store(f"memory://{uuids.uuid4().hex}")
        for info in old.store.list():
            store.put(info.key, old.store.get(info.key).data)
        folder = old.partitions["label"][0].as_py().rpartition("/")[0] if old.partitions.num_rows else ""
        label = f"{folder}/{file_name('0' * 32, uuids.uuid4().hex)}".removeprefix("/")
        files = {table: f"{old.uuid}/{table}/{label}.parquet" for table in old.tables}
        part = StagedPartition(label, files, 0, 0, old.schemas, {c: pa.array([]) for c in old.index_columns})
        new = commit(store, old.uuid, ChangeSet("1" * 32, "append", (part,)), load_snapshot(old.uuid, store))
        assert load_snapshot(old.uuid, store).partitions.equals(new.partitions), case["name"]
        assert new.partitions.slice(0, old.partitions.num_rows).equals(old.partitions), case["name"]
        assert (new.header.indices, new.header.metadata) == (old.header.indices, old.header.metadata), case["name"]
        assert (new.schemas, new.partition_keys, new.version) == (old.schemas, old.partition_keys, 2), case["name"]
        if new.header.format == "json" and case["explicit_partitions"]:
            before, after = (json.loads(one.store.get(one.key).data) for one in (old, new))
            assert list(after) == [*before, "kubothek"], case["name"]


def test_several_at_once(corpus: Path) -> None:
    """The datasets of a cube take one round of requests for headers and one for schemas of other software."""
    store = CountingStore(open_store(corpus / "cube_three_dims" / "store"))
    names = [info.key.split(".")[0] for info in store.list_level()[0]]
    store.reset()
    assert [found.uuid for found in load_snapshots(names, store)] == names
    assert dict(store.calls) == {"get_many": 2}


def test_absent_dataset() -> None:
    """The error says what there is instead."""
    store = memory_store()
    put_header(store, "flights")
    assert find_snapshot("nothing", store) is None
    with pytest.raises(DatasetNotFoundError, match="Did you mean 'flights'") as caught:
        load_snapshot("flight", store)
    assert caught.value.similar == ("flights",)
    with pytest.raises(InvalidInputError):
        load_snapshot("../flights", store)


def test_missing_schema() -> None:
    """A dataset of other software without its schema cannot be understood, and the missing object is named."""
    store = memory_store()
    row = {"label": ["p=1/a"], "rows": [None], "bytes": [None], "file/table": ["d/table/p=1/a.parquet"]}
    put_header(store, partitions=pa.table(row, schema=partitions_schema(("table",))))
    with pytest.raises(CorruptDatasetError) as caught:
        load_snapshot("d", store)
    assert caught.value.key == "d/table/_common_metadata"
    put_header(store, "e", partitions=None)
    with pytest.raises(CorruptDatasetError, match="neither partitions nor a schema"):
        load_snapshot("e", store)


def test_state_that_lacks_a_table() -> None:
    """Files of a table whose schema our own state does not have would be passed over in silence."""
    store = memory_store()
    row = {"label": ["p=1/a"], "rows": [None], "bytes": [None], "file/table": ["d/table/p=1/a.parquet"]}
    state = CommitState(1, "c", ("c",), "i", {"other": pa.schema([("p", pa.int64()), ("x", pa.int64())])})
    put_header(store, partitions=pa.table(row, schema=partitions_schema(("table",))), state=state)
    with pytest.raises(CorruptDatasetError, match="files of table 'table'"):
        load_snapshot("d", store)


def test_unknown_table(corpus: Path) -> None:
    """A table must be named where there are several; a single one is meant whatever its name."""
    several = load_snapshot("ds-seed-multi-table", open_store(corpus / "ds_seed_multi_table" / "store"))
    with pytest.raises(InvalidInputError, match="'table1', 'table2'"):
        several.schema()
    assert load_snapshot("ds-table-core", open_store(corpus / "ds_table_core" / "store")).table_name() == "core"


def test_partition_keys_are_inferred() -> None:
    """Old headers do not say by what they are partitioned; the first file's key does."""
    store = memory_store()
    schema = pa.schema([("p", pa.int64()), ("v1", pa.int64())])
    part = StagedPartition("p=1/a", {"table": "d/table/p=1/a.parquet"}, 1, 1, {"table": schema})
    made = ChangeSet("1" * 32, "create", (part,), partition_keys=("p",), create=True)
    header = commit(store, "d", made, None).header
    put_header(store, partitions=header.partitions, partition_keys=None)
    found = load_snapshot("d", store)
    assert (found.partition_keys, found.file_table()["partition/p"].to_pylist()) == (("p",), [1])
