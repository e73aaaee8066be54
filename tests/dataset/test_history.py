"""What was committed to a dataset: listed, opened as it was, and brought back."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.header import decode_header
from kubothek.codec.keys import header_key, schema_key
from kubothek.dataset.rollback import roll_back
from kubothek.dataset.snapshot import load_snapshot
from kubothek.errors import (
    CommitConflictError,
    InvalidInputError,
    KubothekError,
    NotFoundError,
    SnapshotExpiredError,
)
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.store.world import WORLD

START = datetime(2026, 7, 1, 12, tzinfo=UTC)
HEADER = header_key("u", "json")
LAYOUT: dict[str, Any] = {"partition_on": "p", "secondary_indices": "i1"}


def minutes(number: float) -> datetime:
    """Return the time so many minutes after the first commit."""
    return START + timedelta(minutes=number)


def rows(p: int) -> pa.Table:
    """Return two rows of one partition."""
    return pa.table({"p": [p, p], "i1": [p, 0], "v1": [p, -p]})


def at_minute(store: Store, number: float) -> Store:
    """Set the clock of a store."""
    store.world = replace(WORLD, clock=lambda: minutes(number), author=lambda: f"a{number}")
    return store


def written(versions: int = 3, uuid: str = "u", **settings: Any) -> Store:
    """Return a store with a dataset that got partition n in version n, at minute n."""
    store = at_minute(open_store(f"memory://{uuids.uuid4().hex}"), 1)
    kb.write_dataset(rows(1), uuid, store, **LAYOUT, metadata={"k": 1}, **settings)
    for version in range(2, versions + 1):
        kb.update_dataset(rows(version), uuid, at_minute(store, version), metadata={"k": version})
    return at_minute(store, versions + 1)


def foreign_commit(store: Store, data: bytes | None = None, uuid: str = "u", **metadata: Any) -> None:
    """Put a header, by default the current one, as other software does that knows nothing of our state."""
    key = header_key(uuid, "json")
    header = json.loads(store.get(key).data if data is None else data)
    header.pop("kubothek", None)
    header["metadata"] |= metadata
    store.put(key, json.dumps(header).encode())


def content(dataset: kb.Dataset) -> tuple[Any, ...]:
    """Return all that a version is: rows, files, schema, layout, indices and metadata."""
    index = {name: one.table.to_pylist() for name, one in dataset.load_all_indices().items()}
    files = list(dataset.partitions.values())
    return dataset.scan().to_arrow(), files, dataset.schema, dataset.partition_keys, index, dict(dataset.metadata)


def test_each_commit_is_listed() -> None:
    """Newest first, with who, when and what, and the version that is current."""
    store = written(2)
    kb.update_dataset(None, "u", at_minute(store, 7), delete_scope=[{"p": 1}])
    found = kb.open_dataset("u", store).history()
    assert [(one.version, one.time, one.operation, one.author) for one in found] == [
        (3, minutes(7), "update_dataset", "a7"),
        (2, minutes(2), "update_dataset", "a2"),
        (1, minutes(1), "write_dataset", "a1"),
    ]
    assert [(one.added, one.removed, one.rows, one.is_current) for one in found] == [
        (0, 1, 0, True),
        (1, 0, 2, False),
        (1, 0, 2, False),
    ]
    assert {one.library.split()[0] for one in found} == {"kubothek"}
    assert not any(one.is_foreign or one.overwrote for one in found)


def test_a_history_is_a_table() -> None:
    """As text and in a notebook; names that others chose cannot steer either."""
    store = at_minute(written(1), 2)
    store.world = replace(store.world, author=lambda: "<b>\x1b[2J")
    found = kb.update_dataset(rows(2), "u", store).history()
    assert str(found) == (
        "version  time                 operation       author      added  removed  rows\n"
        "      2  2026-07-01 12:02:00  update_dataset  <b>\\x1b[2J      1        0     2  current\n"
        "      1  2026-07-01 12:01:00  write_dataset   a1              1        0     2"
    )
    assert ">&lt;b&gt;\\x1b[2J</td>" in found._repr_html_()


def test_an_old_version_shows_its_own_past() -> None:
    """What came later is not in it, and it knows that it is not current."""
    found = kb.open_dataset("u", written(4), at=2).history()
    assert [(one.version, one.is_current) for one in found] == [(2, False), (1, False)]


def test_a_dataset_that_moved_on_is_not_current() -> None:
    """A dataset that was opened before a commit, of ours or others, shows that it is no more what is there."""
    store = written(2)
    ours, before = kb.open_dataset("u", store), kb.open_dataset("u", store)
    kb.update_dataset(rows(3), "u", store)
    foreign_commit(store)
    theirs = kb.open_dataset("u", store)
    kb.update_dataset(rows(4), "u", store)
    assert [next((one.version, one.is_current) for one in ds.history()) for ds in (ours, before, theirs)] == [
        (2, False),
        (2, False),
        (4, False),
    ]


@pytest.mark.parametrize("at", [None, 2])
def test_the_history_of_what_was_deleted(at: int | None) -> None:
    """Who still holds the dataset sees the commit that made it, which is current no more."""
    store = written()
    dataset = kb.open_dataset("u", store, at=at)
    kb.delete_dataset("u", store)
    assert [(one.version, one.is_current) for one in dataset.history()] == [(at or 3, False)]


AT = {
    "first": (1, 1),
    "current": (3, 3),
    "just then": (minutes(2), 2),
    "between": (minutes(2.5), 2),
    "after all": (minutes(60), 3),
    "naive": (minutes(2).replace(tzinfo=None), 2),
    "elsewhere": (minutes(2).astimezone(timezone(timedelta(hours=9))), 2),
}


@pytest.mark.parametrize("name", AT)
def test_a_dataset_is_opened_as_it_was(name: str) -> None:
    """By number, or by a time, which is UTC where it has no zone."""
    at, version = AT[name]
    dataset = kb.open_dataset("u", written(), at=at)
    expected = pa.concat_tables(rows(p) for p in range(1, version + 1))
    assert (dataset.version, dataset.metadata["k"]) == (version, version)
    assert dataset.scan().to_arrow().sort_by([("p", "ascending"), ("v1", "descending")]) == expected


@pytest.mark.parametrize("minute", [1, 2])
def test_a_time_of_which_too_little_is_known(minute: int) -> None:
    """Where the copy of a version is missing, the one before it is not taken for what was current."""
    store = written(4)
    store.delete([info.key for info in store.list("_kubothek/u/") if "/00000000000000000002-" in info.key])
    with pytest.raises(SnapshotExpiredError, match="not known whether it was current") as raised:
        kb.open_dataset("u", store, at=minutes(minute))
    assert raised.value.version == 2
    assert kb.open_dataset("u", store, at=minutes(3)).version == 3


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_what_a_write_returns_can_be_opened_again(header_format: Any) -> None:
    """Its version stands for exactly what it has, whatever comes after."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    made = [kb.write_dataset(rows(1), "u", store, **LAYOUT, header_format=header_format)]
    made.append(kb.update_dataset(rows(2), "u", store, metadata={"k": 1}))
    made.append(kb.build_dataset_indices("u", store, "v1"))
    made.append(kb.update_dataset(None, "u", store, delete_scope=[{"p": 1}]))
    made.append(kb.write_dataset(pa.table({"x": [1.5]}), "u", store, overwrite=True))
    assert [content(kb.open_dataset("u", store, at=one.version)) for one in made] == [content(one) for one in made]


MISSING: dict[str, tuple[Any, type[KubothekError], str]] = {
    "later": (4, NotFoundError, "no version 4: they count from 1 to 3"),
    "zero": (0, NotFoundError, "no version 0"),
    "negative": (-1, NotFoundError, "no version -1"),
    "before all": (minutes(0), NotFoundError, "was not there yet at 2026-07-01 12:00:00"),
    "the first day of all": (
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        NotFoundError,
        "not there yet",
    ),
    "no time": (pd.NaT, InvalidInputError, "not NaT"),
    "text": ("1", InvalidInputError, "not '1'"),
    "truth": (True, InvalidInputError, "not True"),
    "fraction": (1.0, InvalidInputError, "not 1.0"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_version_that_never_was_is_not_found(name: str) -> None:
    """The message says which versions there are; what is no version is refused before anything is read."""
    at, error, message = MISSING[name]
    with pytest.raises(error, match=message) as raised:
        kb.open_dataset("u", written(), at=at)
    assert not isinstance(raised.value, SnapshotExpiredError)


def test_all_that_reads_works_on_an_old_version() -> None:
    """Conditions, indices, groups, explanations, hashes and footers are those of the version."""
    store = written()
    kb.write_dataset(pa.table({"v9": [1]}), "u", store, overwrite=True)
    old = kb.open_dataset("u", store, at=2)
    assert old.scan("v1", where="i1 == 0 & p == 2").to_arrow()["v1"].to_pylist() == [-2]
    assert len(old.load_index("i1").eval_operator("==", 0)) == 2
    assert [key for key, _ in old.scan().groups("i1")] == [(0,), (1,), (2,)]
    assert old.scan(where="p == 1").explain().sources[0].files == 1
    assert kb.hash_dataset("u", store, at=2)["rows"].to_pylist() == [4]
    assert kb.collect_dataset_metadata("u", store, at=minutes(2)).num_rows == 2


@pytest.mark.parametrize(
    ("ending", "read"),
    [
        (".parquet", lambda old: old.scan("v1").to_arrow()),
        (".by-dataset-index.parquet", lambda old: old.load_index("i1")),
        (".by-dataset-index.parquet", lambda old: old.scan(where="i1 == 2").to_arrow()),
    ],
    ids=["data", "index", "condition"],
)
def test_files_that_went_under_a_reader_are_missed(ending: str, read: Callable[[kb.Dataset], Any]) -> None:
    """An old version whose files are gone says so, and does not call itself damaged."""
    store = written()
    old = kb.open_dataset("u", store, at=2)
    store.delete([info.key for info in store.list("u/") if info.key.endswith(ending)])
    with pytest.raises(SnapshotExpiredError, match=r"not in .* any more"):
        read(old)


def test_versions_that_were_given_up_cannot_be_opened() -> None:
    """They are not listed, by number and by time they have expired, and nothing brings them back."""
    store = written(4)
    kb.garbage_collect_dataset("u", store, older_than=timedelta(0), keep=2)
    now = kb.open_dataset("u", store)
    oldest = now.history()[-1].version
    assert oldest > 1
    for at in (1, minutes(1), oldest - 1):
        with pytest.raises(SnapshotExpiredError, match="cannot be read any more"):
            kb.open_dataset("u", store, at=at)
        with pytest.raises(SnapshotExpiredError):
            kb.rollback_dataset("u", store, at)
    assert content(kb.rollback_dataset("u", store, oldest)) == content(now)


def test_a_dataset_written_again_has_another_history() -> None:
    """It begins at 1; who still holds the one before sees no foreign commits in it."""
    store = written(3)
    before = kb.open_dataset("u", store, at=2)
    kb.delete_dataset("u", store)
    after = kb.write_dataset(rows(9), "u", store)
    assert [one.version for one in after.history()] == [1]
    assert [one.is_current for one in before.history()] == [False]
    with pytest.raises(NotFoundError):
        kb.open_dataset("u", store, at=2)


def test_commits_of_other_software_are_noted() -> None:
    """Its commit is a version of its own, before and after the next commit of ours, which counts on."""
    store = written(2)
    foreign_commit(store, other=1)
    seen = kb.open_dataset("u", store)
    kb.update_dataset(rows(3), "u", store)
    for dataset in (seen, kb.open_dataset("u", store, at=3)):
        first, *rest = dataset.history()
        assert (first.version, first.operation, first.author, first.is_foreign) == (3, "foreign commit", "", True)
        assert [one.version for one in rest] == [2, 1]
    assert (seen.version, kb.open_dataset("u", store).version) == (None, 4)
    assert content(kb.open_dataset("u", store, at=3)) == content(seen)


def overwritten() -> tuple[Store, str]:
    """Return a store in which other software, which had read version 2, has overwritten version 3, and its commit."""
    store = written(2)
    read = store.get(HEADER).data
    kb.update_dataset(rows(3), "u", at_minute(store, 3))
    commit = decode_header(store.get(HEADER).data, HEADER).state.commit  # type: ignore[union-attr]
    foreign_commit(store, read, other=1)
    return store, commit


@pytest.mark.parametrize("adopted", [False, True], ids=["just now", "before another commit"])
def test_what_other_software_overwrites_is_reported_and_comes_back(adopted: bool) -> None:
    """History and verify name the commit, whose rows a rollback brings back, after which nothing is lost any more."""
    store, commit = overwritten()
    if adopted:
        kb.update_dataset(rows(5), "u", store)
    history = kb.open_dataset("u", store).history()
    assert [one.overwrote for one in history if one.is_foreign] == [(commit,)]
    assert [one.version for one in history][-4:] == [4, 3, 2, 1]
    (problem,) = kb.verify_dataset("u", store)
    assert (problem.kind, commit in problem.message, "to=3" in problem.message) == ("overwritten_commit", True, True)
    back = kb.rollback_dataset("u", store, 3)
    assert sorted(back.scan("p").to_arrow()["p"].to_pylist()) == [1, 1, 2, 2, 3, 3]
    assert kb.verify_dataset("u", store) == []


def test_a_commit_that_was_kept_too_late_is_reported() -> None:
    """Overwritten and its number taken before its header was kept, it is still noted by whoever keeps it."""
    store, commit = overwritten()
    (key,) = [info.key for info in store.list("_kubothek/") if f"/{3:020d}-" in info.key]
    late = store.get(key).data
    store.delete([key])
    kb.update_dataset(rows(5), "u", store)
    store.put(key, late)
    history = kb.open_dataset("u", store).history()
    assert [(one.version, one.overwrote) for one in history] == [(4, ()), (3, (commit,)), (2, ()), (1, ())]
    (problem,) = kb.verify_dataset("u", store)
    assert (problem.kind, commit in problem.message, "rollback" in problem.message) == (
        "overwritten_commit",
        True,
        False,
    )
    assert kb.open_dataset("u", store, at=3).metadata["other"] == 1


def test_what_was_replaced_on_purpose_is_not_missed() -> None:
    """After the whole dataset was written anew, nobody misses a commit that other software had overwritten."""
    store, _ = overwritten()
    kb.write_dataset(rows(1), "u", at_minute(store, 9), overwrite=True)
    assert kb.verify_dataset("u", store) == []


def test_a_damaged_version_is_reported() -> None:
    """Where what is kept cannot be read, that is a problem, and no reason not to check the rest."""
    store, _ = overwritten()
    (key,) = [info.key for info in store.list("_kubothek/") if f"/{3:020d}-" in info.key]
    store.put(key, b"torn")
    assert [problem.kind for problem in kb.verify_dataset("u", store)] == ["unreadable_version"]
    assert kb.verify_dataset("u", store)[0].key == key


def test_a_version_comes_back_as_it_was() -> None:
    """Rows, schema, layout, indices and metadata, in a commit of its own; what was in between stays in the history."""
    store = written()
    kb.drop_dataset_indices("u", store, "i1")
    last = kb.write_dataset(pa.table({"x": [1.5]}), "u", store, overwrite=True, metadata={"m": 1})
    old = kb.open_dataset("u", store, at=2)
    back = kb.rollback_dataset("u", store, 2)
    assert (back.version, content(back)) == (6, content(old))
    newest, *rest = back.history()
    assert (newest.operation, newest.added, newest.removed, newest.rows) == ("rollback_dataset", 2, 1, 4)
    assert [one.version for one in rest] == [5, 4, 3, 2, 1]
    assert kb.verify_dataset("u", store) == []
    assert content(kb.rollback_dataset("u", store, minutes(60))) == content(back)
    assert content(kb.rollback_dataset("u", store, 5)) == content(last)


def test_what_came_back_can_be_written_to() -> None:
    """The next update goes on from it, with its indices."""
    store = written()
    kb.rollback_dataset("u", store, to=minutes(1))
    dataset = kb.update_dataset(rows(7), "u", store)
    assert (dataset.version, sorted(dataset.load_index("p").table["p"].to_pylist())) == (5, [1, 7])
    assert len(dataset.load_index("i1").eval_operator("==", 0)) == 2


def test_going_back_puts_the_schema_for_others_right() -> None:
    """A copy that is damaged does not stay so, also where the schema of record is the same."""
    store = written()
    key = schema_key("u", "table")
    before = store.get(key)
    store.put(key, b"damaged")
    kb.rollback_dataset("u", store, to=1)
    assert store.get(key) == before


@pytest.mark.parametrize("to", [3, minutes(3), minutes(99)], ids=["number", "time", "later time"])
def test_going_back_to_what_is_is_no_commit(to: Any) -> None:
    """Nothing is written."""
    store = written()
    before = store.get(HEADER)
    assert kb.rollback_dataset("u", store, to).version == 3
    assert store.get(HEADER) == before


def test_going_back_undoes_nothing_unseen() -> None:
    """A commit that came meanwhile would be undone too: a conflict that names both, and nothing is committed."""
    store = written()
    current = load_snapshot("u", store)
    after = kb.update_dataset(rows(4), "u", store)
    theirs = after.history()[0].commit
    with pytest.raises(CommitConflictError, match="would be undone too") as raised:
        roll_back(current, 1)
    assert (theirs in raised.value.theirs, "rollback_dataset" in raised.value.ours) == (True, True)
    assert kb.open_dataset("u", store).version == 4


@pytest.mark.parametrize("ending", ["p=1/", ".by-dataset-index.parquet"], ids=["data", "index"])
def test_a_version_without_its_files_does_not_come_back(ending: str) -> None:
    """Each file is looked for before anything is committed; the error names those that are gone."""
    store = written()
    kb.update_dataset(None, "u", store, delete_scope=[{"p": 1}])
    gone = [info.key for info in store.list("u/") if ending in info.key]
    store.delete(gone)
    before = store.get(HEADER)
    with pytest.raises(SnapshotExpiredError, match="1 of its files are not in the store") as raised:
        kb.rollback_dataset("u", store, 2)
    assert set(raised.value.keys) <= set(gone)
    assert store.get(HEADER) == before
