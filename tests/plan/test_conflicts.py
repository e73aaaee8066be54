from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from kubothek.model.condition import C
from kubothek.model.header import CommitInfo, CommitState, Header, partitions_schema
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.conflicts import find_conflict
from kubothek.plan.dataset_layout import Base
from kubothek.plan.foreign import FOREIGN_COMMIT

SCHEMA = pa.schema([("p", pa.int64()), ("v1", pa.int64())])


def base(
    *labels: str,
    indices: Mapping[str, str] | None = None,
    keys: tuple[str, ...] = ("p",),
    schema: pa.Schema = SCHEMA,
    incarnation: str | None = "i",
    created: str = "2020",
) -> Base:
    """Describe a dataset with these partitions; without incarnation it is other software's."""
    files = [f"d/table/{label}" for label in labels]
    nothing = [None] * len(labels)
    table = pa.table(
        [
            pa.array(labels, pa.string()),
            pa.array(nothing, pa.int64()),
            pa.array(nothing, pa.int64()),
            pa.array(files, pa.string()),
        ],
        schema=partitions_schema(("table",)),
    )
    state = None if incarnation is None else CommitState(7, "theirs", ("theirs",), incarnation, {"table": schema})
    header = Header("d", keys, table, indices or {}, {"creation_time": created}, state=state)
    return Base(header, keys, table, {"table": schema})


def withdrawn(of: Base) -> Base:
    """Return the dataset as one whose creation was taken back."""
    assert of.header.state is not None
    return replace(of, header=replace(of.header, state=replace(of.header.state, withdrawn=True)))


def computed(of: Base, *labels: str) -> Base:
    """Return the dataset as one that was computed from these partitions of a seed."""
    assert of.header.state is not None
    return replace(of, header=replace(of.header, state=replace(of.header.state, lineage={"seed": pa.array(labels)})))


def part(label: str, **values: pa.Array) -> StagedPartition:
    """Describe one staged file."""
    return StagedPartition(label, {"table": f"d/table/{label}"}, 1, 1, {"table": SCHEMA}, values)


APPEND: dict[str, Any] = {"added": (part("n"),)}
AS_SEEN: dict[str, Any] = {"overwrite": True, "must_be_absent": True, "tables": {"table": SCHEMA}}
INDEX = {"v1": "d/indices/v1/x"}
BUILT = {"build_indices": {"v1": pa.table({"v1": [1], "partition": [["a"]]})}}
NULLS = pa.schema([("p", pa.int64()), ("v1", pa.null())])

FINE: dict[str, tuple[dict[str, Any], Base | None, Base | None]] = {
    "append over append": (APPEND, base("a"), base("a", "b")),
    "append over delete": (APPEND, base("a"), base()),
    "append over foreign": (APPEND, base("a"), base("a", "b", incarnation=None)),
    "append over index built": (APPEND, base("a"), base("a", indices=INDEX)),
    "append over index dropped": (APPEND, base("a", indices=INDEX), base("a")),
    "append over typed column": (APPEND, base("a", schema=NULLS), base("a")),
    "create over create": (APPEND | {"create": True}, None, base("a")),
    "metadata over append": ({"metadata": {"m": 1}}, base("a"), base("a", "b")),
    "scope over append": ({"delete_scope": (C("p") == 1,)}, base("a"), base("a", "b")),
    "remove over append": ({"remove_labels": ("a",)}, base("a"), base("b", "a")),
    "overwrite over append": ({"overwrite": True, "tables": {"table": SCHEMA}}, base("a"), base("a", "b")),
    "overwrite over deletion": ({"overwrite": True, "tables": {"table": SCHEMA}}, base("a"), None),
    "build over metadata": (BUILT, base("a"), base("a")),
    "append over append to what was withdrawn": (APPEND, withdrawn(base()), withdrawn(base("a"))),
    "overwrite as seen over deletion": (AS_SEEN, base("a"), None),
}

COMPUTE: dict[str, Any] = {"lineage": {"seed": pa.array(["s"])}}
FINE |= {
    "compute over append": (COMPUTE, computed(base("a"), "s"), computed(base("a", "b"), "s")),
    "append over compute": (APPEND, computed(base("a"), "s"), computed(base("a"), "t")),
}

CONFLICTS: dict[str, tuple[dict[str, Any], Base | None, Base | None, str]] = {
    "deleted": (APPEND, base("a"), None, "deleted meanwhile"),
    "created": ({"must_be_absent": True}, None, base("a"), "created meanwhile"),
    "deleted and created again": (APPEND, base("a"), base("a", incarnation="j"), "created again"),
    "overwritten": (APPEND, base("a"), base("a", created="2021"), "overwritten"),
    "other partition keys": (APPEND | {"partition_keys": ("p",)}, None, base(keys=("v1",)), "is partitioned by 'v1'"),
    "other schema": (
        APPEND,
        base(schema=NULLS),
        base(schema=SCHEMA.set(1, pa.field("v1", pa.string()))),
        "does not fit",
    ),
    "wanted index dropped": ({"index_columns": ("v1",)}, base("a", indices=INDEX), base("a"), "was dropped"),
    "label gone": ({"remove_labels": ("a",)}, base("a", "b"), base("b"), "partition 'a'"),
    "partitions came while building": (BUILT, base("a"), base("a", "b"), "was built from"),
    "partitions went while building": (BUILT, base("a", "b"), base("a"), "was built from"),
    "withdrawn": (APPEND, base("a"), withdrawn(base()), "was taken back"),
    "overwrite as seen over append": (AS_SEEN, base("a"), base("a", "b"), "created meanwhile"),
    "restore over append": ({"restore": base().header}, base("a"), base("a", "b"), "would be undone"),
    "restore over creation": ({"restore": base().header, "overwrite": True}, None, base("a"), "created meanwhile"),
    "restore over deletion": ({"restore": base().header, "overwrite": True}, base("a"), None, "deleted meanwhile"),
    "compute over compute": (COMPUTE, computed(base("a"), "s"), computed(base("a"), "t"), "computed some of it anew"),
    "compute over removal": (COMPUTE, computed(base("a"), "s"), base(), "removed what had been computed"),
    "overwriting restore over append": (
        {"restore": base().header, "overwrite": True},
        base("a"),
        base("a", "b"),
        "would be undone",
    ),
}


def change(how: Mapping[str, Any]) -> ChangeSet:
    """Make a change with the id ``ours``."""
    return ChangeSet("ours", "update", **how)


@pytest.mark.parametrize("case", FINE)
def test_changes_that_go_on_top(case: str) -> None:
    """These pairs of commits both hold, one after the other."""
    how, old, new = FINE[case]
    assert find_conflict(change(how), old, new, "d") is None


@pytest.mark.parametrize("case", CONFLICTS)
def test_changes_that_do_not(case: str) -> None:
    """These pairs cannot both hold, and the message says why and between whom."""
    how, old, new, reason = CONFLICTS[case]
    found = find_conflict(change(how), old, new, "d")
    assert found is not None
    assert reason in found.reason
    assert "ours" in found.ours
    assert ("theirs" in found.theirs) == (new is not None)
    assert found.ours in str(found)


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("update_dataset", "commit theirs (version 7, 'update_dataset' by me)"),
        (FOREIGN_COMMIT, "a commit by other software (version 7)"),
        (None, "commit theirs (version 7)"),
    ],
)
def test_who_came_first(operation: str | None, said: str) -> None:
    """The other side is named by what its header tells of it."""
    new = base("a", created="2021")
    assert new.header.state is not None
    info = None if operation is None else CommitInfo(datetime(2020, 1, 1, tzinfo=UTC), operation, "me", "", 0, 0, 0)
    named = replace(new, header=replace(new.header, state=replace(new.header.state, info=info)))
    found = find_conflict(change(APPEND), base("a"), named, "d")
    assert found is not None
    assert found.theirs == said


def test_label_with_another_file() -> None:
    """A partition that was replaced under its old label is not the one that was to be removed."""
    old, new = base("a"), base("a")
    moved = new.partitions.set_column(3, "file/table", pa.array(["d/table/other"]))
    assert find_conflict(change({"remove_labels": ("a",)}), old, replace(new, partitions=moved), "d") is not None
