from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import pyarrow as pa
import pytest

from kubothek.codec.object_kinds import object_kinds
from kubothek.errors import CorruptDatasetError
from kubothek.model.header import CommitState, Header, partitions_schema
from kubothek.plan.copy import CopyPlan, missing_files, plan_copy
from kubothek.plan.dataset_layout import Base
from kubothek.plan.garbage import OBJECTS

SCHEMA = pa.schema([("p", pa.int64()), ("v1", pa.int64())])
STATE = CommitState(7, "w", ("w",), "i", {"table": SCHEMA}, ("0123",), True, {"later": 1})
A, B = (f"u/table/p=1/{digit * 32}.parquet" for digit in "ab")
INDEX = "u.v1.by-dataset-index.parquet"


def base(*files: str | None) -> Base:
    """Describe a dataset with these files and an index."""
    labels, sizes = [f"p=1/{place}" for place, _ in enumerate(files)], pa.array([1] * len(files), pa.int64())
    columns = [pa.array(labels, pa.string()), sizes, sizes, pa.array(files, pa.string())]
    table = pa.table(columns, schema=partitions_schema(("table",)))
    header = Header("u", None, table, {"v1": INDEX}, {"m": 1}, state=STATE, extra={"other": 1})
    return Base(header, ("p",), table, {"table": SCHEMA})


def objects(sizes: Mapping[str, int], uuid: str) -> pa.Table:
    """List objects of these sizes."""
    names = pa.array(list(sizes), pa.string())
    kinds = object_kinds(names, uuid).columns
    return pa.table(
        [names, pa.array(sizes.values(), pa.int64()), pa.nulls(len(names), OBJECTS.field(2).type), *kinds],
        schema=OBJECTS,
    )


def copied(*files: str | None, there: Mapping[str, int] | None = None, **settings: Any) -> CopyPlan:
    """Plan to copy files of 5 bytes to ``w``."""
    present = {key: 5 for key in (*files, INDEX) if key is not None}
    names = (f"new{number}" for number in count())
    return plan_copy(
        base(*files),
        "w",
        source_objects=objects(present, "u"),
        target_objects=objects(there or {}, "w"),
        index_keys={"v1": "w/indices/v1/x"},
        new_name=lambda: next(names),
        **settings,
    )


def targets(plan: CopyPlan) -> list[tuple[str, bool]]:
    """Return the keys of the copy, and whether they are there."""
    return [(one["target"], one["there"]) for one in plan.files.to_pylist()]


def test_names() -> None:
    """Only the dataset's name changes in the keys of data; indices get the keys that were given."""
    plan = copied(A, None, B)
    expected = [A.replace("u/", "w/"), B.replace("u/", "w/"), "w/indices/v1/x"]
    assert targets(plan) == [(key, False) for key in expected]
    assert plan.files["source"].to_pylist() == [A, B, INDEX]
    assert plan.header.partitions is not None
    assert plan.header.partitions["file/table"].to_pylist() == [expected[0], None, expected[1]]
    assert plan.header.partitions.drop_columns("file/table") == base(A, None, B).partitions.drop_columns("file/table")


def test_header() -> None:
    """Metadata and what is known about the content go along; what belongs to the history does not."""
    header = copied(A).header
    assert (header.uuid, header.partition_keys, header.metadata, header.extra) == ("w", ("p",), {"m": 1}, {"other": 1})
    assert header.state is not None
    assert (header.state.unique_writes, header.state.conformed, header.state.extra) == (("0123",), True, {})


THERE = {
    "the same": (A, 5, [("w" + A[1:], True)]),
    "another size": (A, 6, [("w/table/p=1/new0.parquet", False)]),
    "a name that is not random": ("u/table/p=1/L1.csv.gz", 5, [("w/table/p=1/new0.csv.gz", False)]),
}


@pytest.mark.parametrize("case", THERE)
def test_what_is_there(case: str) -> None:
    """What is surely the same is not copied, and what is not is not replaced."""
    key, size, expected = THERE[case]
    assert targets(copied(key, there={f"w{key[1:]}": size}))[:1] == expected


def test_new_names_for_all() -> None:
    """Where names may still be deleted by others, no file keeps its name."""
    plan = copied(A, None, there={f"w{A[1:]}": 5}, keep_names=False)
    assert targets(plan)[0] == ("w/table/p=1/new0.parquet", False)


def test_missing_files() -> None:
    """Files that are not in the store end the plan, and files that did not arrive are told."""
    with pytest.raises(CorruptDatasetError) as caught:
        plan_copy(
            base(A, B),
            "w",
            source_objects=objects({A: 5, INDEX: 5}, "u"),
            target_objects=objects({}, "w"),
            index_keys={"v1": "w/indices/v1/x"},
            new_name=str,
        )
    assert caught.value.keys == (B,)
    arrived = objects({f"w{A[1:]}": 4, "w/indices/v1/x": 5}, "w")
    assert missing_files(copied(A), arrived).to_pylist() == [f"w{A[1:]}"]
