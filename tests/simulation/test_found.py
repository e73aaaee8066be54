"""What the simulator has found, each as the shortest story that tells it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.header import decode_header
from kubothek.errors import CommitConflictError, CommitStateUnknownError, StoreError
from kubothek.store.interface import Doubtful, LostRace
from kubothek.store.open import open_store
from kubothek.store.world import WORLD
from kubothek.testing.stores import Call, WrappedStore

JSON, MSGPACK = "u.by-dataset-metadata.json", "u.by-dataset-metadata.msgpack.zstd"
OLD, NEW = pa.table({"v1": [1]}), pa.table({"v1": [2]})


class MeddlingStore(WrappedStore):
    """Has a call carried out by a test, which may do more, and fails for ever some readings later."""

    def __init__(self, verb: str, meddle: Callable[[Callable[[], Any]], Any], readings: int = 1000) -> None:
        super().__init__(f"memory://{uuid.uuid4().hex}")
        self.inner.world = replace(WORLD, sleep=lambda _: None)
        self.verb, self.meddle, self.readings = verb, meddle, readings

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        """Carry out the call, or have it carried out once."""
        if call.verb == self.verb and call.key in (JSON, MSGPACK):
            self.verb = ""
            return self.meddle(act)
        if self.verb == "" and call.verb == "get_many":
            self.readings -= 1
            if self.readings < 0:
                raise StoreError("gone", key=call.key, operation=call.verb)
        return act()


def is_gone(key: str, store: WrappedStore) -> bool:
    """Tell whether a header is not there, or says that its dataset was withdrawn."""
    blob = store.inner.get_many([key])[0]
    return blob is None or decode_header(blob.data, key).is_withdrawn


def drop_state(store: WrappedStore) -> None:
    """Put the header as other software does that has changed nothing."""
    store.inner.put(JSON, stateless(store.inner.get(JSON).data))


def stateless(data: bytes) -> bytes:
    """Return a header as other software writes it."""
    return json.dumps({name: value for name, value in json.loads(data).items() if name != "kubothek"}).encode()


def test_a_commit_under_a_foreign_header_is_not_made_twice() -> None:
    """Who is refused by its own repeated request, below what other software put, has committed once and keeps it."""

    def meddle(act: Callable[[], Any]) -> Any:
        act()
        kb.update_dataset(NEW, "u", store.inner)
        drop_state(store)
        return act()

    store = MeddlingStore("replace", meddle)
    kb.write_dataset(OLD, "u", store.inner)
    kb.build_dataset_indices("u", store, "v1")
    history = kb.open_dataset("u", store.inner).history()
    assert [entry.operation for entry in history].count("build_dataset_indices") == 1
    assert kb.open_dataset("u", store.inner, at=2).load_index("v1").eval_operator("==", 1)


def test_a_commit_that_only_old_versions_have_took_place() -> None:
    """Who is refused by its own repeated request does not delete what a version of other software refers to."""

    def meddle(act: Callable[[], Any]) -> Any:
        act()
        drop_state(store)
        kb.write_dataset(OLD, "u", store.inner, overwrite=True)
        return act()

    store = MeddlingStore("replace", meddle)
    kb.write_dataset(OLD, "u", store.inner)
    kb.update_dataset(NEW, "u", store)
    assert kb.open_dataset("u", store.inner).scan().to_arrow() == OLD
    assert sorted(kb.open_dataset("u", store.inner, at=2).scan().to_arrow()["v1"].to_pylist()) == [1, 2]


def test_a_creation_that_was_deleted_is_not_made_again() -> None:
    """Who is refused by its own repeated creation, of which a deletion has taken the files, does not create again."""

    def meddle(act: Callable[[], Any]) -> Any:
        act()
        refused = act()
        kb.delete_dataset("u", store.inner)
        return refused

    store = MeddlingStore("create", meddle)
    with pytest.raises(CommitStateUnknownError):
        kb.write_dataset(OLD, "u", store)
    assert is_gone(JSON, store)


def test_an_overwrite_that_was_deleted_is_not_made_again() -> None:
    """Nor does who has overwritten a dataset, which was deleted with the new files before the answer came."""

    def meddle(act: Callable[[], Any]) -> Any:
        act()
        refused = act()
        kb.delete_dataset("u", store.inner)
        return refused

    store = MeddlingStore("replace", meddle)
    kb.write_dataset(OLD, "u", store.inner)
    with pytest.raises(CommitConflictError, match="do it again"):
        kb.write_dataset(NEW, "u", store, overwrite=True)
    assert is_gone(JSON, store)


def test_a_creation_that_was_deleted_is_not_added_to_another() -> None:
    """Who is refused by its own repeated creation does not append to what others created after a deletion of it."""

    def meddle(act: Callable[[], Any]) -> Any:
        act()
        kb.delete_dataset("u", store.inner)
        kb.write_dataset(NEW, "u", store.inner)
        return act()

    store = MeddlingStore("create", meddle)
    with pytest.raises(CommitConflictError, match="do it again"):
        kb.update_dataset(OLD, "u", store)
    assert kb.open_dataset("u", store.inner).scan().to_arrow() == NEW


def test_a_new_dataset_does_not_give_way_to_a_deleted_one() -> None:
    """Who has changed a msgpack dataset leaves the JSON dataset alone that was created after a deletion since."""

    def meddle(act: Callable[[], Any]) -> Any:
        answer = act()
        kb.delete_dataset("u", store.inner)
        kb.write_dataset(NEW, "u", store.inner)
        return answer

    store = MeddlingStore("replace", meddle)
    kb.write_dataset(OLD, "u", store.inner, header_format="msgpack")
    kb.update_dataset(OLD, "u", store)
    assert kb.open_dataset("u", store.inner).scan().to_arrow() == NEW


def test_a_repeated_creation_in_the_other_format_is_taken_back() -> None:
    """A msgpack header whose repeated creation was refused by itself does not stay, even if the store fails then."""

    def meddle(act: Callable[[], Any]) -> Any:
        kb.write_dataset(NEW, "u", store.inner)
        act()
        return act()

    store = MeddlingStore("create", meddle, readings=4)
    with pytest.raises(StoreError):
        kb.write_dataset(OLD, "u", store, header_format="msgpack")
    assert is_gone(MSGPACK, store)
    assert kb.open_dataset("u", store.inner).scan().to_arrow() == NEW


def test_a_header_that_gives_way_is_gone() -> None:
    """Who gives way to a JSON header tries again where its own is not deleted, before anything else can fail."""

    def fail(act: Callable[[], Any]) -> Any:
        store.readings = 0
        return Doubtful(StoreError("no answer", key=MSGPACK, operation="replace"))

    def meddle(act: Callable[[], Any]) -> Any:
        kb.write_dataset(NEW, "u", store.inner)
        store.verb, store.meddle = "replace", fail
        return act()

    store = MeddlingStore("create", meddle)
    with pytest.raises(StoreError):
        kb.update_dataset(OLD, "u", store, header_format="msgpack")
    assert is_gone(MSGPACK, store)
    assert kb.open_dataset("u", store.inner).scan().to_arrow() == NEW


def created_at_once(before: Callable[[WrappedStore], object]) -> MeddlingStore:
    """Have a msgpack header created just after a JSON one, and something happen just before it is taken back."""

    def take_back(act: Callable[[], Any]) -> Any:
        before(store)
        return act()

    def create(act: Callable[[], Any]) -> Any:
        kb.write_dataset(NEW, "u", store.inner)
        store.verb, store.meddle = "replace", take_back
        return act()

    store = MeddlingStore("create", create)
    return store


def test_a_commit_on_a_header_that_gives_way_is_not_lost() -> None:
    """The JSON header's writer has given way too, and has committed on the msgpack header before that is deleted."""

    def give_way(store: WrappedStore) -> None:
        store.inner.delete([JSON])
        kb.update_dataset(NEW, "u", store.inner)

    store = created_at_once(give_way)
    kb.update_dataset(OLD, "u", store, header_format="msgpack")
    assert sorted(kb.open_dataset("u", store.inner).scan().to_arrow()["v1"].to_pylist()) == [1, 2]


def test_staged_files_of_a_deleted_header_are_not_committed_again() -> None:
    """The dataset was deleted, with the files of the msgpack header, before its writer takes that back."""
    store = created_at_once(lambda one: kb.delete_dataset("u", one.inner))
    with suppress(CommitStateUnknownError, CommitConflictError):
        kb.update_dataset(OLD, "u", store, header_format="msgpack")
        assert kb.open_dataset("u", store.inner).scan().to_arrow() == OLD


def test_a_creation_without_an_answer_is_not_repeated_after_a_deletion() -> None:
    """The header was put, no answer came, and the dataset was deleted with its files before its writer looked."""

    def lose(act: Callable[[], Any]) -> Any:
        act()
        kb.delete_dataset("u", store.inner)
        return Doubtful(StoreError("no answer", key=JSON, operation="create"))

    store = MeddlingStore("create", lose)
    with suppress(CommitStateUnknownError, CommitConflictError):
        kb.write_dataset(OLD, "u", store)
        assert kb.open_dataset("u", store.inner).scan().to_arrow() == OLD


def test_a_commit_that_comes_back_in_a_foreign_header() -> None:
    """It was taken away by a foreign header when its writer looked, and is in another one, made of what it had put."""
    slow: list[bytes] = []

    def meddle(act: Callable[[], Any]) -> Any:
        before = store.inner.get(JSON).data
        act()
        slow.append(stateless(store.inner.get(JSON).data))
        store.inner.put(JSON, stateless(before))
        return act()

    def come_back(_: float) -> None:
        if slow:
            store.inner.put(JSON, slow.pop())

    store = MeddlingStore("replace", meddle)
    store.world = replace(WORLD, sleep=come_back)
    kb.write_dataset(OLD, "u", store.inner)
    kb.update_dataset(NEW, "u", store)
    assert kb.open_dataset("u", store.inner).scan().to_arrow()["v1"].to_pylist() == [1, 2]


def test_a_dataset_hidden_by_a_dead_creator_is_no_garbage() -> None:
    """A JSON header whose creator died hides one that was there first; a collection leaves both to the next commit."""
    store = open_store(f"memory://{uuid.uuid4().hex}")
    store.world, late = replace(WORLD, sleep=lambda _: None), open_store(f"memory://{uuid.uuid4().hex}")
    kb.write_dataset(NEW, "u", late)
    kb.write_dataset(OLD, "u", store, header_format="msgpack")
    store.put(JSON, late.get(JSON).data)

    kb.garbage_collect_dataset("u", store, older_than=timedelta(0))
    with pytest.raises(CommitConflictError):  # it had read the header that gave way
        kb.update_dataset(NEW, "u", store)
    kb.update_dataset(NEW, "u", store)

    assert JSON not in [info.key for info in store.list("u.")]
    assert kb.open_dataset("u", store).scan().to_arrow()["v1"].to_pylist() == [1, 2]


def test_an_empty_dataset_that_was_deleted_may_have_been_there() -> None:
    """It was created, deleted, and created by others in the other format, and it had no files that would tell."""

    def create(act: Callable[[], Any]) -> Any:
        outcome = act()
        kb.delete_dataset("u", store.inner)
        kb.write_dataset(OLD, "u", store.inner, header_format="msgpack")
        return outcome

    store = MeddlingStore("create", create)
    with pytest.raises(CommitStateUnknownError):
        kb.create_empty_dataset(NEW.schema, "u", store)
    assert kb.open_dataset("u", store.inner).scan().to_arrow() == OLD


def test_an_empty_dataset_that_gave_way() -> None:
    """It had no files that would tell; the other one that was beside it, and stays, tells that it was not deleted."""

    def create(act: Callable[[], Any]) -> Any:
        kb.write_dataset(OLD, "u", store.inner, header_format="msgpack")
        return act()

    def take_back(_: float) -> None:
        with suppress(CommitConflictError):  # it had read the header that gave way
            kb.update_dataset(OLD, "u", store.inner)

    store = MeddlingStore("create", create)
    store.world = replace(WORLD, sleep=take_back)
    with pytest.raises(CommitConflictError):
        kb.create_empty_dataset(NEW.schema, "u", store)
    assert {*kb.open_dataset("u", store.inner).scan().to_arrow()["v1"].to_pylist()} == {1}


def test_a_creation_that_was_committed_on_while_it_gave_way() -> None:
    """The other writer gave way too, and somebody has committed on the header that was just to be taken back."""

    def take_back(act: Callable[[], Any]) -> Any:
        store.inner.delete([MSGPACK])
        kb.update_dataset(NEW, "u", store.inner)
        return act()

    def create(act: Callable[[], Any]) -> Any:
        kb.write_dataset(NEW, "u", store.inner, header_format="msgpack")
        store.verb, store.meddle = "replace", take_back
        return act()

    store = MeddlingStore("create", create)
    store.world = replace(WORLD, sleep=lambda _: None)
    kb.update_dataset(OLD, "u", store)
    assert sorted(kb.open_dataset("u", store.inner).scan().to_arrow()["v1"].to_pylist()) == [1, 2]


def test_a_creation_that_cannot_give_way_is_not_acknowledged() -> None:
    """A store that refuses its swap, though nobody has come first, leaves both headers; the other one has an answer."""

    def create(act: Callable[[], Any]) -> Any:
        kb.write_dataset(NEW, "u", store.inner, header_format="msgpack")
        store.verb, store.meddle = "replace", lambda _: LostRace(repeated=True)
        return act()

    store = MeddlingStore("create", create)
    store.world = replace(WORLD, sleep=lambda _: None)
    with pytest.raises(CommitStateUnknownError):
        kb.update_dataset(OLD, "u", store)
    with suppress(CommitConflictError):  # it had read the header that does not count
        kb.update_dataset(pa.table({"v1": [3]}), "u", store.inner)
    kb.update_dataset(pa.table({"v1": [4]}), "u", store.inner)
    assert sorted(kb.open_dataset("u", store.inner).scan().to_arrow()["v1"].to_pylist()) in ([2, 4], [2, 3, 4])


def test_a_swap_that_is_refused_while_an_earlier_one_is_under_way() -> None:
    """A store sees a conflict with our own request that got no answer; that one is carried out all the same."""
    under_way: list[Callable[[], Any]] = []

    def get_no_answer(act: Callable[[], Any]) -> Any:
        store.verb, store.meddle = "replace", refuse
        late.append(act)
        return Doubtful(StoreError("no answer", key=JSON, operation="replace"))

    def refuse(_: Callable[[], Any]) -> Any:
        under_way.extend(late)
        return LostRace(repeated=True)

    def carry_out(_: float) -> None:
        while under_way:
            under_way.pop()()

    late: list[Callable[[], Any]] = []
    store = MeddlingStore("", lambda act: act())
    store.world = replace(WORLD, sleep=carry_out)
    kb.write_dataset(OLD, "u", store, secondary_indices=["v1"])
    store.verb, store.meddle = "replace", get_no_answer
    kb.update_dataset(NEW, "u", store)
    found = kb.open_dataset("u", store.inner)
    assert found.scan(where="v1 == 2").to_arrow()["v1"].to_pylist() == [2]
    assert sorted(found.scan().to_arrow()["v1"].to_pylist()) == [1, 2]


@pytest.mark.parametrize("verb", ["create", "replace"])
def test_a_store_that_sees_conflicts_for_long(verb: str) -> None:
    """A swap that is refused though nobody comes first is tried again, and made once."""

    def refuse(act: Callable[[], Any]) -> Any:
        refused.append(verb)
        if len(refused) > 8:
            return act()
        store.verb = verb
        return LostRace(repeated=True)

    refused: list[str] = []
    store = MeddlingStore("", refuse)
    store.world = replace(WORLD, sleep=lambda _: None)
    if verb == "replace":
        kb.write_dataset(OLD, "u", store)
    store.verb = verb
    kb.update_dataset(NEW, "u", store, secondary_indices=["v1"] if verb == "create" else None)
    rows = kb.open_dataset("u", store.inner).scan(where="v1 == 2").to_arrow()
    assert (rows["v1"].to_pylist(), len(refused)) == ([2], 9)
    assert kb.open_dataset("u", store.inner).version == (1 if verb == "create" else 2)


def test_a_version_that_was_refused_is_kept() -> None:
    """That the store refuses to keep it does not mean that it is there."""

    class Refusing(WrappedStore):
        refused = 0

        def around(self, call: Call, act: Callable[[], Any]) -> Any:
            if call.verb == "create" and "/history/" in call.key:
                self.refused += 1
                if self.refused % 3:
                    return LostRace(repeated=True)
            return act()

    store = Refusing(f"memory://{uuid.uuid4().hex}")
    for number in range(3):
        kb.update_dataset(pa.table({"v1": [number]}), "u", store)
    assert [version.version for version in kb.open_dataset("u", store.inner).history()] == [3, 2, 1]
    for number in (1, 2, 3):
        assert len(kb.open_dataset("u", store.inner, at=number).scan().to_arrow()) == number


def test_nobody_builds_on_a_header_beside_one_that_was_missed() -> None:
    """The JSON header was asked for before it was there, and the msgpack header, which gives way, seen after it."""
    store = MeddlingStore("", lambda act: [None, *act()[1:]])
    store.world = store.inner.world
    kb.write_dataset(NEW, "u", store.inner)
    other = open_store(f"memory://{uuid.uuid4().hex}")
    kb.write_dataset(OLD, "u", other, header_format="msgpack")
    for info in other.list("u"):
        store.inner.put(info.key, other.get(info.key).data)

    store.verb, store.readings = "get_many", 1000
    with suppress(CommitConflictError):
        kb.update_dataset(pa.table({"v1": [3]}), "u", store)
    kb.update_dataset(pa.table({"v1": [4]}), "u", store.inner)

    assert sorted(kb.open_dataset("u", store.inner).scan().to_arrow()["v1"].to_pylist()) in ([2, 4], [2, 3, 4])
