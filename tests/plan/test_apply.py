from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.errors import (
    AlreadyExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    KubothekError,
    SchemaError,
    SnapshotExpiredError,
    UnknownColumnError,
)
from kubothek.model.header import CommitState, CubeCall, StreamBatch
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.apply import Candidate, apply_change
from kubothek.plan.dataset_layout import Base
from kubothek.plan.next_state import Committer

SCHEMA = pa.schema([("p", pa.int64()), ("i1", pa.int64()), ("v1", pa.int64())])
NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)


def part(
    label: str, *, schema: pa.Schema = SCHEMA, i1: Sequence[int] | str = (), table: str = "table"
) -> StagedPartition:
    """Describe one staged file."""
    values = i1 if isinstance(i1, str) else pa.array(i1, pa.int64())
    return StagedPartition(label, {table: f"d/{table}/{label}.parquet"}, 3, 5, {table: schema}, {"i1": values})


def apply(
    base: Base | None, *added: StagedPartition, write_id: str = "w", deleted: Sequence[str] = (), **how: Any
) -> Candidate:
    """Apply a change; the prefix of a label is what stands before its dash."""
    return apply_change(
        base,
        ChangeSet(write_id, "update", added, **how),
        uuid="d",
        by=Committer(NOON, "me", "kubothek", "new"),
        label_texts=label_texts,
        label_prefixes=lambda labels: pc.struct_field(pc.extract_regex(labels, pattern="(?P<x>[^-]*)"), "x"),
        deleted=pa.array(deleted, pa.string()),
    )


def label_texts(labels: pa.Array) -> pa.Table:
    """Cut labels like ``p=1/q=2/name``."""
    rows = [dict(piece.split("=") for piece in label.split("/")[:-1]) for label in labels.to_pylist()]
    return pa.table({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})


def created(*added: StagedPartition, index: bool = True, **how: Any) -> Candidate:
    """Create a dataset."""
    columns = ("i1",) if index else ()
    return apply(
        None, *added, tables={"table": SCHEMA}, partition_keys=("p",), index_columns=columns, create=True, **how
    )


def as_base(candidate: Candidate) -> Base:
    """Take a candidate as committed, each new index under the key ``d/indices/<column>``."""
    header = candidate.header
    indices = {column: header.indices.get(column, f"d/indices/{column}") for column in candidate.indices}
    committed = type(header)(**{f: getattr(header, f) for f in header.__slots__} | {"indices": indices})
    return Base(committed, header.partition_keys or (), header.partitions, candidate.schemas)


def labels(candidate: Candidate) -> list[str]:
    """List the labels of the partitions."""
    assert candidate.header.partitions is not None
    found: list[str] = candidate.header.partitions["label"].to_pylist()
    return found


@given(st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9))), max_size=6))
def test_partitions_are_kept_in_order(steps: list[tuple[int, set[int], set[int]]]) -> None:
    """What stays keeps its place and what is new follows, whatever is removed by label or by scope."""
    base, expected = as_base(created()), list[str]()
    for step, (count, by_label, by_scope) in enumerate(steps):
        removed = [expected[i] for i in by_label if i < len(expected)]
        deleted = [expected[i] for i in by_scope if i < len(expected)]
        new = [f"{step}-{i}" for i in range(count)]
        candidate = apply(base, *map(part, new), remove_labels=tuple(removed), deleted=deleted)
        expected = [label for label in expected if label not in {*removed, *deleted}] + new
        assert labels(candidate) == expected
        base = as_base(candidate)


def test_first_header() -> None:
    """A new dataset has the time of its creation as Kartothek notes it, and is version 1."""
    header = created(part("a"), metadata={"m": 1}).header
    assert list(header.metadata.items()) == [("creation_time", "2020-01-01T12:00:00"), ("m", 1)]
    assert header.state is not None
    assert (header.state.version, header.state.incarnation, header.state.recent) == (1, "new", ("w",))


def test_metadata_is_merged() -> None:
    """New entries replace equal ones; the time of creation stays."""
    base = as_base(created(metadata={"m": 1, "n": 1}))
    merged = apply(base, metadata={"n": 2, "o": 2}).header.metadata
    assert merged == {"creation_time": "2020-01-01T12:00:00", "m": 1, "n": 2, "o": 2}


def test_null_column_gets_its_type() -> None:
    """A column without values takes the type of the first that has some; old files do not conform then."""
    nulls = SCHEMA.set(2, pa.field("v1", pa.null()))
    base = as_base(apply(None, part("a", schema=nulls), partition_keys=("p",), create=True))
    candidate = apply(base, part("b"))
    assert base.header.state is not None
    assert candidate.header.state is not None
    assert (candidate.schemas["table"].field("v1").type, candidate.changed_tables) == (pa.int64(), ("table",))
    assert (base.header.state.conformed, candidate.header.state.conformed) == (True, False)


REFUSED: dict[str, tuple[type[KubothekError], dict[str, Any]]] = {
    "other partition keys": (SchemaError, {"partition_keys": ("i1",)}),
    "other tables": (SchemaError, {"tables": {"other": SCHEMA}}),
    "other type": (SchemaError, {"tables": {"table": SCHEMA.set(2, pa.field("v1", pa.string()))}}),
    "more columns": (SchemaError, {"tables": {"table": SCHEMA.append(pa.field("v2", pa.int64()))}}),
    "index that does not cover all": (InvalidInputError, {"index_columns": ("v1",)}),
    "index on a partition column": (InvalidInputError, {"build_indices": {"p": pa.table({"p": [1]})}}),
    "index on no column": (UnknownColumnError, {"build_indices": {"nope": pa.table({"nope": [1]})}}),
    "unknown label": (InvalidInputError, {"remove_labels": ("zz",)}),
    "exists": (AlreadyExistsError, {"must_be_absent": True}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_changes_that_do_not_fit(case: str) -> None:
    """A change that contradicts the base is refused."""
    error, how = REFUSED[case]
    with pytest.raises(error):
        apply(as_base(created(part("a"))), **how)


@pytest.mark.parametrize(
    ("added", "error"),
    [
        ((part("a"),), InvalidInputError),
        ((part("b"), part("b")), InvalidInputError),
        ((part("b", table="other"),), SchemaError),
        ((StagedPartition("b", {"table": "d/table/b.parquet"}, 1, 1, {"table": SCHEMA}),), InvalidInputError),
    ],
    ids=["label exists", "label twice", "other table", "no index values"],
)
def test_partitions_that_do_not_fit(added: tuple[StagedPartition, ...], error: type[KubothekError]) -> None:
    """Staged partitions need a label of their own, every table, and values for every index."""
    with pytest.raises(error):
        apply(as_base(created(part("a"))), *added)


def test_absent_dataset() -> None:
    """Only a change that may create, or overwrites, does without a base."""
    with pytest.raises(DatasetNotFoundError):
        apply(None, part("a"))
    assert labels(apply(None, part("a"), overwrite=True)) == ["a"]
    with pytest.raises(SchemaError, match="without a schema"):
        apply(None, create=True)


def test_unchanged_index_keeps_its_file() -> None:
    """An index is only written again where it gains or loses something."""
    base = as_base(created(part("a", i1=[1])))
    for added, how in (((), {"metadata": {"m": 1}}), ((part("b"),), {})):
        candidate = apply(base, *added, **how)
        assert (candidate.header.indices, candidate.merges) == ({"i1": "d/indices/i1"}, ())
    for added, how in (((part("b", i1=[2]),), {}), ((part("b", i1="staged"),), {}), ((), {"remove_labels": ("a",)})):
        (merge,) = apply(base, *added, **how).merges
        assert (merge.base_key, merge.removed_labels.to_pylist()) == (
            "d/indices/i1",
            list(how.get("remove_labels", ())),
        )


def test_index_of_old_headers_moves_to_a_file() -> None:
    """An index that is kept in the header is written as a file by the next commit."""
    base = as_base(created(part("a"), index=False))
    base.header.embedded_indices["i1"] = {"1": ("a",)}  # type: ignore[index]
    candidate = apply(base)
    (merge,) = candidate.merges
    assert (merge.base_key, merge.embedded, merge.type) == (None, {"1": ("a",)}, pa.int64())
    assert candidate.header.embedded_indices == {}


def test_partitions_that_come_back() -> None:
    """They stand in front, are indexed again, and may hold any types; metadata can be forgotten."""
    base = as_base(created(part("a", i1=[1]), metadata={"m": 1, "n": 2}))
    back = replace(part("b", i1=[2]), schema={})
    candidate = apply(base, part("c", i1=[3]), revived=(back,), drop_metadata=("m",), metadata={"n": 3})
    assert candidate.header.partitions is not None
    assert candidate.header.partitions["label"].to_pylist() == ["b", "a", "c"]
    assert [label for merge in candidate.merges for label, _ in merge.added] == ["b", "c"]
    assert dict(candidate.header.metadata) == {"creation_time": NOON.replace(tzinfo=None).isoformat(), "n": 3}
    assert candidate.header.state is not None
    assert not candidate.header.state.conformed
    with pytest.raises(InvalidInputError, match="twice"):
        apply(base, revived=(part("a"),))


def test_a_call_for_several_datasets_is_recorded_until_the_next_commit() -> None:
    """The record tells of the last commit, and a withdrawn dataset is none any more once something is committed."""
    call = CubeCall("w", "build_cube", ("e", "seed"))
    base = as_base(created(part("a"), cube_call=call))
    assert base.header.state is not None
    assert base.header.state.cube_call == call
    gone = replace(base, header=replace(base.header, state=replace(base.header.state, withdrawn=True)))
    state = apply(gone, part("b"), create=True).header.state
    assert state is not None
    assert (state.cube_call, state.withdrawn) == (None, False)


def test_overwrite_starts_again() -> None:
    """Layout, indices, metadata and partitions are the change's alone; version and incarnation go on."""
    base = as_base(created(part("a", i1=[1]), metadata={"m": 1}, unique_write="a"))
    schema = pa.schema([("q", pa.string())])
    header = apply(base, write_id="w2", tables={"table": schema}, overwrite=True).header
    assert (header.partition_keys, dict(header.indices), list(header.metadata)) == ((), {}, ["creation_time"])
    assert header.state is not None
    assert (header.state.version, header.state.recent, header.state.unique_writes) == (2, ("w", "w2"), ())


def test_unique_writes() -> None:
    """Prefixes of checked writes are kept as long as one of their partitions is."""
    base = as_base(created(part("a-1"), part("a-2"), unique_write="a"))
    both = as_base(apply(base, part("b-1"), unique_write="b"))
    left = [apply(both, remove_labels=gone).header.state for gone in (("a-1",), ("a-1", "a-2"), ("b-1",))]
    assert [state.unique_writes for state in left if state is not None] == [("a", "b"), ("b",), ("a",)]


def test_a_header_without_state() -> None:
    """Where nobody has given it one, versions count from 1, and its files may have any types."""
    candidate = created(part("a"))
    base = as_base(candidate)
    object.__setattr__(base.header, "state", None)
    state = apply(base, part("b")).header.state
    assert state is not None
    assert (state.version, state.incarnation, state.conformed) == (1, "new", False)


def test_content_of_a_header() -> None:
    """A dataset takes over the content of a header, with or without one of its own; the history goes on."""
    first = created(part("a", i1=[1]), metadata={"m": 1})
    content = as_base(first).header
    new = apply(None, restore=content, must_be_absent=True, header_format="msgpack").header
    base = as_base(apply(as_base(first), part("b"), write_id="w2", metadata={"m": 2}))
    old = apply(base, restore=content, write_id="w3").header
    assert new.state is not None
    assert old.state is not None
    assert new.partitions == old.partitions == content.partitions
    assert (new.indices, new.metadata) == (old.indices, old.metadata) == (content.indices, content.metadata)
    assert (new.state.version, new.state.recent, new.format) == (1, ("w",), "msgpack")
    assert (old.state.version, old.state.recent, old.format) == (3, ("w", "w2", "w3"), "json")


INFO: dict[str, tuple[dict[str, Any], tuple[int, int, int | None]]] = {
    "append": ({"added": (part("c"), part("d"))}, (2, 0, 6)),
    "rows unknown": ({"added": (part("c"), replace(part("d"), rows=None))}, (2, 0, None)),
    "removal": ({"remove_labels": ("a",)}, (0, 1, 0)),
    "replacement": ({"added": (part("c"),), "remove_labels": ("a", "b")}, (1, 2, 3)),
    "overwrite": ({"added": (part("c"),), "overwrite": True}, (1, 2, 3)),
    "metadata": ({"metadata": {"m": 1}}, (0, 0, 0)),
    "revival": ({"revived": (part("c"),), "remove_labels": ("b",)}, (1, 1, 3)),
    "restore": ({"restore": as_base(created(part("b"), part("c"), part("d"))).header}, (2, 1, 6)),
}


@pytest.mark.parametrize("case", INFO)
def test_what_a_commit_did(case: str) -> None:
    """The state says who committed when, and how many partitions and rows came and went."""
    how, expected = INFO[case]
    base = as_base(created(part("a"), part("b")))
    state = apply(base, *how.get("added", ()), **{k: v for k, v in how.items() if k != "added"}).header.state
    assert state is not None
    assert state.info is not None
    assert (state.info.time, state.info.operation, state.info.author) == (NOON, "update", "me")
    assert (state.info.added, state.info.removed, state.info.rows) == expected


def test_versions_that_are_given_up() -> None:
    """The lowest version only ever rises, whatever content comes back."""
    first = as_base(created(part("a")))
    second = as_base(apply(first, oldest=2))
    for change in ({"oldest": 1}, {"oldest": 2}, {"restore": second.header}, {"overwrite": True, "added": ()}):
        given = {k: v for k, v in change.items() if k != "added"}
        if "overwrite" in given:
            given["tables"] = {"table": SCHEMA}
        state = apply(second, **given).header.state
        assert state is not None
        assert state.oldest == 2


@pytest.mark.parametrize("version", [None, 1])
def test_expired_versions_do_not_come_back(version: int | None) -> None:
    """A version whose files may be gone is refused; one that counts still, or of another dataset, is not."""
    first = as_base(created(part("a")))
    base = as_base(apply(first, oldest=2))
    with pytest.raises(SnapshotExpiredError) as caught:
        apply(base, restore=first.header, restored_version=version)
    assert (caught.value.version, caught.value.oldest) == (1, 2)
    assert first.header.state is not None
    other = replace(first.header, state=replace(first.header.state, incarnation="other"))
    for content in (base.header, other):
        assert apply(base, restore=content).header.partitions == content.partitions


def test_content_that_may_not_be_taken_over() -> None:
    """A dataset that exists is only replaced when asked for, and a header without schema has no content."""
    content = as_base(created(part("a"))).header
    with pytest.raises(AlreadyExistsError):
        apply(as_base(created(part("b"))), restore=content, must_be_absent=True)
    with pytest.raises(DatasetNotFoundError):
        apply(None, restore=content)
    with pytest.raises(InvalidInputError, match="other software"):
        apply(None, restore=replace(content, state=None), overwrite=True)


def state_after(candidate: Candidate) -> CommitState:
    """Return the state of a header that is to be committed."""
    assert candidate.header.state is not None
    return candidate.header.state


def test_the_last_batch_of_each_query_is_known() -> None:
    """Also after an overwrite and when an old version comes back; the query that committed last is the last."""
    first = as_base(created(part("a"), batch=StreamBatch("s", 0)))
    then = as_base(apply(first, part("b"), write_id="w2", batch=StreamBatch("t", 7)))
    later = apply(then, part("c"), write_id="w3", batch=StreamBatch("s", 1))
    assert list(state_after(later).streams.items()) == [("t", 7), ("s", 1)]
    schema = {"table": SCHEMA}
    for how in ({"overwrite": True, "tables": schema}, {"restore": first.header}, {"metadata": {"m": 1}}):
        assert state_after(apply(as_base(later), write_id="w4", **how)).streams == {"t": 7, "s": 1}


def test_queries_that_committed_longest_ago_are_forgotten() -> None:
    """A header does not grow for ever."""
    base = as_base(created(part("a")))
    full = replace(state_after(created(part("a"))), streams={f"q{i}": i for i in range(1024)})
    base = replace(base, header=replace(base.header, state=full))
    streams = state_after(apply(base, write_id="w2", metadata={"m": 1}, batch=StreamBatch("new", 0))).streams
    assert (len(streams), "q0" in streams, "q1" in streams, streams["new"]) == (1024, False, True, 0)


def test_a_dataset_that_was_withdrawn_has_no_batches() -> None:
    """Whoever repeats one has to write it again."""
    base = as_base(created(part("a"), batch=StreamBatch("s", 3)))
    gone = replace(base, header=replace(base.header, state=replace(state_after(created()), withdrawn=True)))
    assert state_after(apply(gone, part("b"), create=True, tables={"table": SCHEMA})).streams == {}


@pytest.mark.parametrize("batch", [("", 0), ("q q", 0), ("q" * 257, 0), (1, 0), ("q", -1), ("q", 2**63), ("q", True)])
def test_batches_that_a_header_could_not_hold(batch: Any) -> None:
    """They are refused where they are made."""
    with pytest.raises(InvalidInputError, match=r"streaming query|number of a batch"):
        StreamBatch(*batch)


LINEAGE = {
    "seed": ["p=1/q=1/a", "p=1/q=2/b", "p=2/q=1/c"],
    "coarse": ["p=1/d", "p=2/e"],
    "fine": ["p=1/q=1/r=1/f", "p=1/q=2/r=1/g"],
    "none": [],
}
FORGOTTEN: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, list[str]]]] = {
    "nothing": (("p=1/q=1/x",), (), LINEAGE),
    "one partition": (("p=1/q=1/x", "p=1/q=2/y"), ("p=1/q=1/x",), LINEAGE | {"seed": ["p=1/q=2/b", "p=2/q=1/c"]}),
    "of its own column": (("q=2/r=1/x",), ("q=2/r=1/x",), LINEAGE | {"seed": ["p=1/q=1/a", "p=2/q=1/c"]}),
    "of a coarser one": (("p=1/x",), ("p=1/x",), LINEAGE | {"seed": ["p=2/q=1/c"]}),
    "of a finer one": (("p=1/q=1/r=2/x",), ("p=1/q=1/r=2/x",), LINEAGE | {"seed": ["p=1/q=2/b", "p=2/q=1/c"]}),
    "of an unpartitioned one": (("x",), ("x",), LINEAGE | {"seed": []}),
}


@pytest.mark.parametrize("case", FORGOTTEN)
def test_what_is_removed_was_not_computed(case: str) -> None:
    """In the physical partitions of what is removed, and in no others; what is added counts for nothing."""
    have, removed, left = FORGOTTEN[case]
    lineage = {source: pa.array(labels, pa.string()) for source, labels in LINEAGE.items()}
    base = as_base(created(*map(part, have), lineage=lineage))
    state = state_after(apply(base, part("p=9/q=9/r=9/z"), write_id="w2", remove_labels=removed))
    assert {source: labels.to_pylist() for source, labels in state.lineage.items()} == left


def test_lineage_belongs_to_the_content() -> None:
    """It comes back with an old version, ends with an overwrite, and a change that computes it has the last word."""
    old, new = ({"seed": pa.array([label])} for label in ("a", "b"))
    first = as_base(created(part("p=1/x"), lineage=old))
    later = as_base(apply(first, write_id="w2", remove_labels=("p=1/x",), lineage=new))
    assert state_after(apply(later, write_id="w3", metadata={"m": 1})).lineage == new
    assert state_after(apply(later, write_id="w3", restore=first.header)).lineage == old
    assert state_after(apply(later, write_id="w3", overwrite=True, tables={"table": SCHEMA})).lineage == {}
