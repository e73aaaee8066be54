"""A dataset is followed: what came since one has looked last, whoever commits meanwhile."""

from __future__ import annotations

import json
import uuid as uuids
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.keys import header_key
from kubothek.dataset.changes import Changes, load_changes, newest_position, next_position
from kubothek.dataset.scan import open_scan
from kubothek.dataset.versions import list_kept
from kubothek.errors import DatasetNotFoundError, InvalidInputError, NotFoundError, SnapshotExpiredError, StoreError
from kubothek.model.position import Beginning, Position
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import CountingStore, Fault, FaultyStore

HEADER = header_key("u", "json")
NOW = timedelta(0)


def written(versions: int = 1) -> Store:
    """Return a store with a dataset that got the row ``x = n`` in version n."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    for number in range(1, versions + 1):
        append(store, number)
    return store


def append(store: Store, number: int, **settings: Any) -> None:
    """Commit one row to a partition of its own."""
    kb.update_dataset(pa.table({"p": [number], "x": [number]}), "u", store, partition_on="p", **settings)


def foreign_commit(store: Store, data: bytes | None = None, **metadata: Any) -> bytes:
    """Put a header, by default the current one, as other software does; return what was there."""
    before = store.get(HEADER).data
    header = json.loads(before if data is None else data)
    header.pop("kubothek", None)
    header["metadata"] |= metadata
    store.put(HEADER, json.dumps(header).encode())
    return before


def newest(store: Store) -> Position:
    """Return where the dataset can be read up to."""
    return newest_position("u", store)


def changes(store: Store, start: Position | Beginning, end: Position | None = None) -> Changes:
    """Compare two versions, the later one being the newest by default."""
    return load_changes("u", store, start, newest(store) if end is None else end)


def added(store: Store, start: Position | Beginning, end: Position | None = None) -> list[int]:
    """Read the rows that came, as the values of ``x``."""
    return sorted(open_scan(changes(store, start, end).added, columns="x").to_arrow()["x"].to_pylist())


def test_all_rows_come_first_and_then_the_new_ones() -> None:
    """From the beginning everything is new, and from a version what was added since; the same when asked again."""
    store = written(2)
    first = newest(store)
    append(store, 3)
    append(store, 4)
    second = newest(store)
    assert (first.version, second.version) == (2, 4)
    assert added(store, Beginning(), first) == [1, 2]
    assert added(store, first, second) == [3, 4] == added(store, first)
    assert added(store, second) == [] == added(store, second, second)


@pytest.mark.parametrize(("after", "expected"), [(0, [1, 2, 3]), (1, [2, 3]), (3, []), (None, [])])
def test_the_beginning_is_chosen(after: int | None, expected: list[int]) -> None:
    """What came after a version, or after the one that is found first."""
    store = written(3)
    start = Beginning(after)
    end = next_position(start, newest(store), "u", store)
    assert added(store, start, end) == expected
    append(store, 4)
    assert added(store, start, end) == expected
    assert added(store, end) == [4]


def test_conditions_prune_what_came() -> None:
    """The partitions that came are scanned like a dataset, indices included."""
    store = written(2)
    start = newest(store)
    kb.build_dataset_indices("u", store, "x")
    append(store, 3)
    append(store, 4)
    scan = open_scan(changes(store, start).added, where="x == 4 | x == 1")
    assert scan.to_arrow()["x"].to_pylist() == [4]
    assert scan.explain().files == 1


def test_removed_partitions_are_told() -> None:
    """What went is named; what came and went meanwhile is neither."""
    store = written(2)
    start = newest(store)
    append(store, 3)
    kb.update_dataset(None, "u", store, delete_scope=[{"p": 3}])
    assert added(store, start) == [] == changes(store, start).removed.to_pylist()
    append(store, 5, delete_scope=[{"p": 1}])
    assert added(store, start) == [5]
    [label] = changes(store, start).removed.to_pylist()
    assert label.startswith("p=1/")


@pytest.mark.parametrize(("versions", "expected"), [(1, [2, 3, 4, 5]), (2, [3, 5]), (3, [4, 5]), (9, [5]), (None, [5])])
def test_versions_come_a_few_at_a_time(versions: int | None, expected: list[int]) -> None:
    """From a version it goes on in steps, from the beginning in one."""
    store = written(5)
    end, place = (
        newest(store),
        Position(newest(store).incarnation, 1, list_kept("u", store, newest(store).incarnation)[0].commit),
    )
    found = []
    while place != end:
        place = next_position(place, end, "u", store, versions=versions)
        found.append(place.version)
    assert found == expected
    assert next_position(Beginning(), end, "u", store, versions=1) == end


def test_collected_versions_are_stepped_over_or_refused() -> None:
    """Of versions that were given up, the end of a range is not found again, and steps lead to what is kept."""
    store = written(2)
    start, first = newest(store), Position("", 0, "")
    append(store, 3)
    second = newest(store)
    for number in (4, 5):
        append(store, number)
    kb.garbage_collect_dataset("u", store, older_than=NOW, keep=2)
    with pytest.raises(SnapshotExpiredError, match=r"Version 3 .* new checkpoint.*`keep`") as error:
        added(store, start, second)
    assert error.value.version == 3
    with pytest.raises(SnapshotExpiredError, match="Version 2"):
        added(store, start)
    assert next_position(start, newest(store), "u", store, versions=1).version == 5
    assert first.version == 0


def test_deleted_and_created_again_is_an_error() -> None:
    """Another dataset of the same name is not taken for the one that was read."""
    store = written(2)
    start = newest(store)
    kb.delete_dataset("u", store)
    with pytest.raises(DatasetNotFoundError):
        newest(store)
    append(store, 7)
    for act in (lambda: next_position(start, newest(store), "u", store), lambda: changes(store, start)):
        with pytest.raises(InvalidInputError, match="deleted and created again"):
            act()


def test_a_version_to_come_may_be_the_first_but_none_later() -> None:
    """One may wait for the next version, not for one after that."""
    store = written(2)
    assert next_position(Beginning(2), newest(store), "u", store).version == 2
    with pytest.raises(NotFoundError, match="from 1 to 3"):
        next_position(Beginning(3), newest(store), "u", store)


def test_foreign_commits_count_one_by_one() -> None:
    """Each header of other software is kept when it is seen, so that none is taken for another."""
    store = written(2)
    start = newest(store)
    old = store.get(HEADER).data
    append(store, 3)
    header = json.loads(store.get(HEADER).data)
    store.put(HEADER, old)
    foreign_commit(store, json.dumps(header).encode(), n=1)
    second = newest(store)
    assert added(store, start, second) == [3]
    foreign_commit(store, n=2)
    third = newest(store)
    assert (second.version, third.version) == (4, 5)
    assert added(store, second, third) == []
    append(store, 6)
    assert added(store, third) == [6]
    assert added(store, start) == [3, 6]


def test_a_dataset_of_other_software_is_followed() -> None:
    """Without any version of ours, the first header that is seen is the first version."""
    store = written(1)
    foreign_commit(store)
    for info in list(store.list("_kubothek/")):
        store.delete([info.key])
    start = newest(store)
    assert (start.version, added(store, Beginning(), start)) == (1, [1])
    append(store, 2)
    assert added(store, start) == [2]


def test_an_overwritten_commit_is_a_removal() -> None:
    """Rows of a commit that other software overwrites had been read: that they are gone is told."""
    store = written(1)
    old = store.get(HEADER).data
    append(store, 2)
    start = newest(store)
    foreign_commit(store, old)
    assert added(store, Beginning(), start) == [1, 2]
    [label] = changes(store, start).removed.to_pylist()
    assert label.startswith("p=2/")


def test_a_commit_whose_number_another_has_got_is_known() -> None:
    """What was read of a commit that was overwritten before it was kept is compared with what came in its place."""
    store = written(1)
    old = store.get(HEADER).data
    append(store, 2)
    start, current = newest(store), store.get(HEADER).data
    [kept] = [one for one in list_kept("u", store, start.incarnation) if one.version == 2]
    copy = store.get(kept.key).data
    store.delete([kept.key])
    foreign_commit(store, old)
    append(store, 3)
    store.create(kept.key, copy)
    assert current != store.get(HEADER).data
    assert newest(store).version == 3
    assert added(store, start) == [3]
    assert len(changes(store, start).removed) == 1


def test_a_reader_that_may_not_write_waits_for_the_next_commit() -> None:
    """A foreign header that cannot be kept is not read before somebody has built on it."""
    store = written(2)
    readonly = FaultyStore(store, lambda call: Fault.REFUSE if call.verb == "create" else None)
    start = newest(readonly)
    assert start.version == 2
    foreign_commit(store)
    assert newest(readonly) == start
    append(store, 3)
    assert added(readonly, start, newest(readonly)) == [3]
    for info in list(store.list("_kubothek/")):
        store.delete([info.key])
    foreign_commit(store)
    with pytest.raises(StoreError):
        newest(readonly)


def test_looking_costs_little() -> None:
    """Where nothing is new, a look is two requests: the header, and whether it is kept."""
    store = CountingStore(written(3))
    newest(store)
    assert dict(store.calls) == {"get_many": 1, "info": 1}
    assert store.calls["create"] == 0


def test_null_columns_have_the_type_of_today() -> None:
    """A version in which a column had no value yet is read with the type that the column has got since."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    kb.write_dataset(pa.table({"x": [1], "v1": pa.nulls(1)}), "u", store)
    start = newest(store)
    kb.update_dataset(pa.table({"x": [2], "v1": [0.5]}), "u", store)
    found = open_scan(changes(store, Beginning(), start).added).to_arrow()
    assert found.to_pylist() == [{"v1": None, "x": 1}]
    assert found.schema.field("v1").type == pa.float64()
