"""Deliberate damage to the commit protocol: what the simulator must notice.

Each function is a context manager. While it is entered, one thing is done wrongly, everywhere in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from kubothek.cube import commit as cube_commit
from kubothek.cube import write as cube_write
from kubothek.dataset import commit, swap, versions, write
from kubothek.dataset.outcome import Committed, Lost, etag_of, read_back
from kubothek.dataset.upkeep import delete, garbage, retained
from kubothek.errors import CommitStateUnknownError, KubothekError
from kubothek.plan import conflicts, next_state
from kubothek.store.interface import Doubtful, LostRace, Swapped
from kubothek.testing.simulation import objects
from kubothek.testing.simulation.client import ClientStore

_HEADER = ".by-dataset-metadata."


@contextmanager
def swap_without_condition() -> Iterator[None]:
    """Headers are put over whatever is there."""
    original = ClientStore.replace

    def put_anyway(self: ClientStore, key: str, data: bytes, etag: str) -> Any:
        return Swapped(self.put(key, data)) if _HEADER in key else original(self, key, data, etag)

    with patch.object(ClientStore, "replace", put_anyway):
        yield


@contextmanager
def create_without_condition() -> Iterator[None]:
    """The first header of a dataset is put over whatever is there."""
    original = ClientStore.create

    def put_anyway(self: ClientStore, key: str, data: bytes, **options: Any) -> Any:
        return Swapped(self.put(key, data)) if _HEADER in key else original(self, key, data, **options)

    with patch.object(ClientStore, "create", put_anyway):
        yield


def _settling(wrongly: Callable[..., Any]) -> Any:
    """Return a patch by which some outcomes of a swap are settled otherwise; ``wrongly`` gives ``...`` for the rest."""
    original = swap._settle

    def settle(outcome: Any, ours: Any, data: bytes, change: Any, current: Any) -> Any:
        settled = wrongly(outcome, ours, change, current)
        return original(outcome, ours, data, change, current) if settled is ... else settled

    return patch.object(swap, "_settle", settle)


@contextmanager
def doubtful_is_lost_race() -> Iterator[None]:
    """Without an answer, whatever else is there now is taken for a lost race, without a look for our id."""

    def lost(outcome: Any, ours: Any, change: Any, current: Any) -> Any:
        if not isinstance(outcome, Doubtful):
            return ...
        found = read_back(ours.uuid, ours.store, change)
        return None if etag_of(found) == etag_of(current) else Lost()

    with _settling(lost):
        yield


@contextmanager
def doubtful_is_success() -> Iterator[None]:
    """Without an answer, the commit is acknowledged."""
    with _settling(lambda outcome, ours, *_: Committed(ours) if isinstance(outcome, Doubtful) else ...):
        yield


@contextmanager
def refused_is_always_theirs() -> Iterator[None]:
    """A refused swap is taken for a lost race, though a repeated request is refused by its own first one."""
    with _settling(lambda outcome, *_: Lost() if isinstance(outcome, LostRace) else ...):
        yield


@contextmanager
def conflict_is_lost_race() -> Iterator[None]:
    """A refused swap is taken for a lost race, though nothing has come first."""

    def lost(outcome: Any, ours: Any, change: Any, current: Any) -> Any:
        is_refused = isinstance(outcome, LostRace)
        return Lost() if is_refused and etag_of(read_back(ours.uuid, ours.store, change)) == etag_of(current) else ...

    with _settling(lost):
        yield


@contextmanager
def conflict_is_kept() -> Iterator[None]:
    """A version is taken for kept where the store refuses to keep it."""
    original = ClientStore.create

    def create(self: ClientStore, key: str, data: bytes, **options: Any) -> Any:
        outcome = original(self, key, data, **options)
        return Swapped("") if "/history/" in key and isinstance(outcome, LostRace) else outcome

    with patch.object(ClientStore, "create", create):
        yield


@contextmanager
def other_format_unseen() -> Iterator[None]:
    """Who creates a dataset does not look for a header in the other format."""
    with patch.object(swap, "_unhidden", lambda ours, *_: Committed(ours)):
        yield


@contextmanager
def garbage_of_any_age() -> Iterator[None]:
    """What nobody names is deleted, however young."""
    original = garbage.plan_retention

    def plan(now: Any, older_than: Any, keep: Any) -> Any:
        return replace(original(now, older_than, keep), before=now + timedelta(hours=1))

    with patch.object(garbage, "plan_retention", plan):
        yield


@contextmanager
def garbage_despite_versions() -> Iterator[None]:
    """Files that only a version names which stays are deleted."""
    with patch.object(retained, "without_named", lambda keys, *_: keys):
        yield


@contextmanager
def floor_not_committed() -> Iterator[None]:
    """Versions are deleted without giving them up before."""
    with patch.object(garbage, "_give_up", lambda *_: True):
        yield


@contextmanager
def scope_not_evaluated_again() -> Iterator[None]:
    """After a lost race, a delete scope removes what it selected at first."""
    original, first = commit.select_deleted, dict[int, tuple[Any, pa.Array]]()

    def select(snapshot: Any, scope: Any) -> pa.Array:
        if scope and id(scope) not in first:
            first[id(scope)] = (scope, original(snapshot, scope))
        return first[id(scope)][1] if scope else original(snapshot, scope)

    with patch.object(commit, "select_deleted", select):
        yield


@contextmanager
def rebase_without_check() -> Iterator[None]:
    """After a lost race, nobody asks whether the change still can be made."""
    with patch.object(commit, "find_conflict", lambda *_: None):
        yield


@contextmanager
def incarnation_ignored() -> Iterator[None]:
    """A dataset that was overwritten, or deleted and created again, is taken for the one that was there."""
    with patch.object(conflicts, "_replaced", lambda *_: iter(())):
        yield


@contextmanager
def header_before_data() -> Iterator[None]:
    """Data files are put after the header that names them."""
    waiting: dict[str, dict[str, bytes]] = {}
    put = ClientStore.put

    def hold(self: ClientStore, key: str, data: bytes) -> str:
        if not key.endswith(".parquet"):
            return put(self, key, data)
        waiting.setdefault(self.name, {})[key] = data
        return ""

    def then_release(original: Any) -> Any:
        def write(self: ClientStore, key: str, *rest: Any, **options: Any) -> Any:
            outcome = original(self, key, *rest, **options)
            for name, data in waiting.pop(self.name, {}).items() if _HEADER in key else ():
                put(self, name, data)
            return outcome

        return write

    with (
        patch.object(ClientStore, "put", hold),
        patch.object(ClientStore, "create", then_release(ClientStore.create)),
        patch.object(ClientStore, "replace", then_release(ClientStore.replace)),
    ):
        yield


def _merging(again: Callable[[Any, Any], Any]) -> Any:
    """Return a patch by which an index is merged otherwise, once the same was merged before a lost race."""
    original, first = commit.write_indices, dict[tuple[Any, ...], Any]()

    def write_again(store: Any, uuid: str, merges: Iterable[Any], when: Any, written: Any) -> dict[str, str]:
        keys: dict[str, str] = {}
        for merge in merges:
            same = (store.name, merge.column, *(label for label, _ in merge.added))
            if merge.added and same in first:
                known = again(merge, first[same])
                keys |= {merge.column: known} if isinstance(known, str) else {}
                merge = None if isinstance(known, str) else known
            if merge is not None:
                made = original(store, uuid, [merge], when, written)
                first[same] = (merge, made[merge.column])
                keys |= made
        return keys

    return patch.object(commit, "write_indices", write_again)


@contextmanager
def index_not_merged_again() -> Iterator[None]:
    """After a lost race, the index files of the first try are used."""
    with _merging(lambda merge, first: first[1]):
        yield


@contextmanager
def index_merged_with_stale_base() -> Iterator[None]:
    """After a lost race, indices are merged with those of the base that lost."""
    with _merging(lambda merge, first: replace(merge, base_key=first[0].base_key)):
        yield


@contextmanager
def schemas_not_copied() -> Iterator[None]:
    """The schemas beside the data are never put."""

    def skip(original: Any, answer: Any) -> Any:
        def put(self: ClientStore, key: str, *rest: Any, **options: Any) -> Any:
            return answer if key.endswith("_common_metadata") else original(self, key, *rest, **options)

        return put

    with (
        patch.object(ClientStore, "create", skip(ClientStore.create, Swapped(""))),
        patch.object(ClientStore, "put", skip(ClientStore.put, "")),
    ):
        yield


@contextmanager
def index_files_deleted_in_doubt() -> Iterator[None]:
    """New index files are deleted although the header that names them may be there."""
    original = commit._write_and_swap

    def attempt(*given: Any) -> Any:
        *known, course = given
        written: list[str] = []
        try:
            outcome = original(*known, written)
        except KubothekError:
            course.unused += written
            raise
        course.unused += written if isinstance(outcome, Lost) else []
        return outcome

    with patch.object(commit, "_attempt", attempt):
        yield


@contextmanager
def staged_files_deleted_in_doubt() -> Iterator[None]:
    """Staged files are deleted although the header that names them may be there."""
    original = write.discard_on_error

    @contextmanager
    def discard_always(store: Any, written: Any, *, committing: bool = False) -> Iterator[None]:
        try:
            with original(store, written, committing=committing):
                yield
        except CommitStateUnknownError:
            with suppress(KubothekError):
                store.delete([key for one in written for key in one.keys])
            raise

    with patch.object(write, "discard_on_error", discard_always):
        yield


@contextmanager
def deleted_by_prefix() -> Iterator[None]:
    """A dataset is deleted with everything in its folder."""

    def delete_all(uuid: str, store: Any, keys: Any) -> None:
        store.delete([info.key for info in store.list(f"{uuid}/")])

    with patch.object(delete, "_delete_named", delete_all):
        yield


@contextmanager
def few_recent_ids() -> Iterator[None]:
    """A header lists the id of its own commit alone."""
    with patch.object(next_state, "RECENT_COMMITS", 1):
        yield


@contextmanager
def header_not_kept() -> Iterator[None]:
    """Nobody keeps a copy of the header before it is replaced."""
    with patch.object(commit, "keep_base", lambda *_: True):
        yield


@contextmanager
def own_header_not_kept() -> Iterator[None]:
    """Who has committed does not keep a copy of the header, which other software may replace at any moment."""
    with patch.object(commit, "keep_version", lambda *_: None):
        yield


@contextmanager
def etag_of_size() -> Iterator[None]:
    """The store takes two objects of about the same size for the same."""
    with patch.object(objects, "content_tag", lambda data: f"{len(data) // 100}"):
        yield


@contextmanager
def cube_not_undone() -> Iterator[None]:
    """When a commit of a cube's call fails, those before it stay."""
    with patch.object(cube_commit, "_take_back_all", lambda *_: None):
        yield


@contextmanager
def seed_committed_first() -> Iterator[None]:
    """The seed of a cube is committed before the cells' enrichment is there."""
    original = cube_write.commit_in_order
    with patch.object(cube_write, "commit_in_order", lambda commits, *rest: original(commits[::-1], *rest)):
        yield


@contextmanager
def foreign_header_begins_anew() -> Iterator[None]:
    """After a commit of other software, a dataset is taken for a new one."""
    with patch.object(versions, "_line", lambda *_: ((), None)):
        yield


@contextmanager
def overwritten_not_reported() -> Iterator[None]:
    """Nobody looks which commits other software has overwritten."""
    with patch.object(versions, "find_overwritten", lambda *_: ()):
        yield


MUTATIONS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    one.__name__: one
    for one in (
        swap_without_condition,
        create_without_condition,
        doubtful_is_lost_race,
        doubtful_is_success,
        refused_is_always_theirs,
        conflict_is_lost_race,
        conflict_is_kept,
        other_format_unseen,
        garbage_of_any_age,
        garbage_despite_versions,
        floor_not_committed,
        scope_not_evaluated_again,
        rebase_without_check,
        incarnation_ignored,
        header_before_data,
        index_not_merged_again,
        index_merged_with_stale_base,
        schemas_not_copied,
        index_files_deleted_in_doubt,
        staged_files_deleted_in_doubt,
        deleted_by_prefix,
        few_recent_ids,
        header_not_kept,
        own_header_not_kept,
        etag_of_size,
        cube_not_undone,
        seed_committed_first,
        foreign_header_begins_anew,
        overwritten_not_reported,
    )
}

SEEDS = {
    "create_without_condition": 59,
    "doubtful_is_lost_race": 30,
    "conflict_is_lost_race": 159,
    "conflict_is_kept": 68,
    "other_format_unseen": 63,
    "garbage_of_any_age": 21,
    "scope_not_evaluated_again": 50,
    "index_files_deleted_in_doubt": 68,
    "staged_files_deleted_in_doubt": 225,
    "cube_not_undone": 78,
    "overwritten_not_reported": 42,
}
"""Where some were found before, to begin there; a change of the library may move that, which costs time alone."""
