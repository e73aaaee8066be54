"""Which versions of a dataset are kept, what each was, and which of them a header of other software follows.

The header is the only truth about what is committed, and it is replaced by each commit. So a copy of every header that
was committed is kept among our own objects, under a name that sorts by version. Only committed headers are kept: who
has won keeps its own, and who is about to replace a header makes sure first that this one is kept (:func:`keep_base`).
So what is kept is one line without gaps, also where writers die or other software replaces the header.

A header of other software has no state of ours; :func:`adopt` gives it the one that it should have::

    kept      1  2  3  4                 the line of which a version has the same time of creation
    header                5              the next number, the same incarnation, an id that follows from the header
                          overwrote 4    where nothing is left of what 4 did
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby, islice

from kubothek.codec.header import encode_header
from kubothek.codec.kept_header import decode_kept, decode_kept_state, encode_kept
from kubothek.codec.keys import history_prefix, parse_version_key, private_root, version_key
from kubothek.dataset.outcome import FIRST_PAUSE, TRIES
from kubothek.dataset.snapshot import Snapshot, pin_header
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError, SnapshotExpiredError, StoreError
from kubothek.model.header import CommitInfo, CommitState, Header
from kubothek.model.history import UNKNOWN_TIME, KeptVersion
from kubothek.plan.apply import CREATION_TIME
from kubothek.plan.foreign import FOREIGN_COMMIT, find_overwritten, foreign_commit_id, is_adopted, is_foreign_id
from kubothek.plan.next_state import RECENT_COMMITS, effect_between
from kubothek.store.interface import Doubtful, LostRace, ObjectInfo, Store, Swapped

_OVERWRITTEN_AT_MOST = 64


def list_versions(uuid: str, store: Store, incarnation: str) -> tuple[KeptVersion, ...]:
    """List the kept versions of a dataset, by number.

    A commit that other software overwrote before it was kept may be kept after that, under the number that the foreign
    commit has got. Of such two, that one is listed: the history went on from it.
    """
    return one_line(list_kept(uuid, store, incarnation))


def list_kept(uuid: str, store: Store, incarnation: str) -> tuple[KeptVersion, ...]:
    """List all that is kept of the versions of a dataset, also of commits whose number another one has got."""
    return _kept(store.list(history_prefix(uuid, incarnation)))


def one_line(kept: Iterable[KeptVersion]) -> tuple[KeptVersion, ...]:
    """Return the versions from which the history went on, by number."""
    ordered = sorted(kept, key=lambda one: (one.version, is_foreign_id(one.commit), one.time, one.modified))
    return tuple({one.version: one for one in ordered}.values())


def _kept(infos: Iterable[ObjectInfo]) -> tuple[KeptVersion, ...]:
    return tuple(
        KeptVersion(*named, info.key, info.size, info.modified)
        for info in infos
        if (named := parse_version_key(info.key)) is not None
    )


def load_kept(kept: KeptVersion, uuid: str, store: Store) -> Header:
    """Read the header of a version.

    Raises
    ------
    SnapshotExpiredError
        It is not there any more; ``version`` is its number.
    CorruptDatasetError
        It is damaged, or not what its name says.
    """
    return decode_kept(_kept_bytes(kept, uuid, store), kept.key, uuid)


def load_kept_state(kept: KeptVersion, uuid: str, store: Store) -> CommitState:
    """Read our own state of a version, which tells about its commit; raises as :func:`load_kept` does."""
    return decode_kept_state(_kept_bytes(kept, uuid, store), kept.key, uuid)


def _kept_bytes(kept: KeptVersion, uuid: str, store: Store) -> bytes:
    try:
        return store.get(kept.key).data
    except ObjectNotFoundError as error:
        raise SnapshotExpiredError(
            f"Version {kept.version} of dataset {uuid!r} is not kept any more: there is no object {kept.key!r}. "
            "Choose one that the dataset's history lists.",
            key=kept.key,
            version=kept.version,
        ) from error


def pin_version(header: Header, store: Store) -> Snapshot:
    """Return the snapshot of a kept version: it can be read like any other, but no commit can be made on it."""
    return pin_header(header, "", store)


def keep_version(store: Store, header: Header, data: bytes) -> None:
    """Keep the header of a version; ``data`` are its bytes as they were committed.

    Whoever replaces that header writes after it. So where that survives a power failure, what is kept does too, and
    nobody waits for it.

    Raises
    ------
    StoreError
        It is not known to be kept.
    """
    key, content = _kept_key(header), encode_kept(data, header.format)
    for attempt in range(TRIES):
        outcome = store.create(key, content, durable=False)
        # Who came first has kept the same; but a store may refuse though it is not there yet.
        if isinstance(outcome, Swapped) or (isinstance(outcome, LostRace) and is_kept(store, header)):
            return
        store.world.pause(FIRST_PAUSE * 2**attempt)
    if is_kept(store, header):
        return
    raise StoreError(
        f"Whether the header of dataset {header.uuid!r} is kept at {key!r} is unknown: {TRIES} tries got no answer, "
        "or were refused though it is not there.",
        key=key,
        operation="create",
    ) from (outcome.error if isinstance(outcome, Doubtful) else None)


def keep_base(store: Store, base: Snapshot) -> bool:
    """Make sure that a header is kept before it is replaced; tell whether it still is the dataset's.

    Raises
    ------
    StoreError
        It is not known to be kept.
    """
    header = base.header
    if is_kept(store, header):
        return True
    blob = store.get_many([base.key])[0]
    if blob is None or blob.etag != base.etag:
        return False
    keep_version(store, header, encode_header(header) if is_adopted(header.state) else blob.data)
    return True


def kept_since(uuid: str, store: Store, version: int) -> Iterator[Snapshot]:
    """Yield what is kept of a dataset under numbers above this one, of any incarnation, the highest first."""
    kept = [one for one in _kept(store.list(private_root(uuid))) if one.version > version]
    for header in _readable(sorted(kept, key=lambda one: one.version), uuid, store):
        yield pin_version(header, store)


def is_kept(store: Store, header: Header) -> bool:
    """Tell whether the header of a version is kept."""
    try:
        store.info(_kept_key(header))
    except ObjectNotFoundError:
        return False
    return True


def _kept_key(header: Header) -> str:
    state = header.state
    if state is None:
        raise AssertionError("a header without state is adopted before it is kept")
    time = None if state.info is None else state.info.time
    return version_key(header.uuid, state.incarnation, state.version, time, state.commit, header.format)


def adopt(snapshot: Snapshot) -> Snapshot:
    """Give the header of other software the state that it should have; one with a state is returned as it is.

    The header's partitions and partition columns are filled in too, so that what is kept of it says all.

    Raises
    ------
    StoreError
        The store cannot be read.
    """
    if snapshot.header.state is not None:
        return snapshot
    header = replace(snapshot.header, partition_keys=snapshot.partition_keys, partitions=snapshot.partitions)
    commit = foreign_commit_id(snapshot.key, snapshot.etag)
    versions, newest = _line(snapshot)
    adopted = next(
        (one for one in reversed(versions) if one.commit in (commit, _later_id(snapshot, one.version))), None
    )
    again = adopted is not None and adopted is not versions[-1] and _is_still_there(snapshot)
    if adopted is not None and not again:  # by others, who may have committed since
        state = load_kept_state(adopted, snapshot.uuid, snapshot.store)
    else:
        commit = _later_id(snapshot, versions[-1].version + 1) if again else commit
        state = _adopted_state(snapshot, header, commit, versions, newest)
    return replace(snapshot, header=replace(header, state=state))


def _later_id(snapshot: Snapshot, version: int) -> str:
    """Return the id of the commit that put a foreign header once more, as this version.

    Where tags are of the content, the same header has the same tag however often it is put, as by a request that is
    repeated, or from a backup. Others have committed in between then, whose versions are kept.
    """
    return foreign_commit_id(snapshot.key, f"{snapshot.etag}\n{version}")


def _is_still_there(snapshot: Snapshot) -> bool:
    """Tell whether a header is what counts now, after versions that follow it were seen."""
    blob = snapshot.store.get_many([snapshot.key])[0]
    return blob is not None and blob.etag == snapshot.etag


def _line(snapshot: Snapshot) -> tuple[Sequence[KeptVersion], Header | None]:
    """Return the versions that the dataset has had, and the newest header of them that can be read."""
    uuid, store = snapshot.uuid, snapshot.store
    objects = sorted(store.list(private_root(uuid)), key=lambda info: info.key)
    lines = [one_line(_kept(infos)) for _, infos in groupby(objects, lambda info: info.key.split("/")[2])]
    latest_first = sorted(filter(None, lines), key=lambda line: line[-1].modified, reverse=True)
    created = snapshot.header.metadata.get(CREATION_TIME)
    # Other software may have read what was overwritten since; what it created later than all versions is none of them.
    older = [line for line in latest_first if str(created) <= _last_time(line).isoformat()]
    for depth, among in ((1, latest_first), (_OVERWRITTEN_AT_MOST + 1, older)):
        for versions in among:
            newest = _first_if_any(islice(_readable(versions, uuid, store), depth), created)
            if newest is not None:
                return _without_strays(versions, newest), newest
    return (), None


def _last_time(versions: Iterable[KeptVersion]) -> datetime:
    """Return when the last of some versions was committed, without zone as Kartothek notes times."""
    return max(one.time for one in versions).replace(tzinfo=None)


def _first_if_any(headers: Iterable[Header], created: object) -> Header | None:
    """Return the first of some headers if any has this time of creation; no more of them are read than it takes."""
    first = None
    for header in headers:
        first = first or header
        if header.metadata.get(CREATION_TIME) == created:
            return first
    return None


def _without_strays(versions: Sequence[KeptVersion], newest: Header) -> Sequence[KeptVersion]:
    """Return the versions up to the newest that can be read, and damaged ones as long as they follow without a gap."""
    numbers = {one.version for one in versions}
    last = 0 if newest.state is None else newest.state.version
    while last + 1 in numbers:
        last += 1
    return [one for one in versions if one.version <= last]


def _readable(versions: Sequence[KeptVersion], uuid: str, store: Store) -> Iterator[Header]:
    """Yield the headers of versions that can be read, newest first."""
    for kept in reversed(versions):
        try:
            yield load_kept(kept, uuid, store)
        except (SnapshotExpiredError, CorruptDatasetError):  # deleted by others, or damaged
            continue


def _adopted_state(
    snapshot: Snapshot, header: Header, commit: str, versions: Sequence[KeptVersion], newest: Header | None
) -> CommitState:
    last = None if newest is None else newest.state
    effect = effect_between(None if newest is None else newest.partitions, snapshot.partitions)
    return CommitState(
        version=versions[-1].version + 1 if versions else 1,
        commit=commit,
        recent=(*(() if last is None else last.recent), commit)[-RECENT_COMMITS:],
        incarnation=commit if last is None else last.incarnation,
        schema=snapshot.schemas,
        oldest=1 if last is None else last.oldest,
        streams={} if last is None else last.streams,
        info=CommitInfo(
            time=stored_at(snapshot),
            operation=FOREIGN_COMMIT,
            author="",
            library="",
            added=effect.added,
            removed=effect.removed,
            rows=effect.rows,
            overwrote=find_overwritten(header, _backwards(versions, snapshot)),
        ),
    )


def stored_at(snapshot: Snapshot) -> datetime:
    """Return when the header of a dataset was stored (UTC), :data:`UNKNOWN_TIME` where it is not there any more."""
    try:
        return snapshot.store.info(snapshot.key).modified
    except ObjectNotFoundError:
        return UNKNOWN_TIME


def _backwards(versions: Sequence[KeptVersion], snapshot: Snapshot) -> Iterator[Header | None]:
    """Yield the headers of versions, newest first, as far as there is no gap; ``None`` before the first of all."""
    expected = versions[-1].version if versions else 0
    for header in _readable(versions[-_OVERWRITTEN_AT_MOST - 1 :], snapshot.uuid, snapshot.store):
        if header.state is None or header.state.version != expected:
            return
        yield header
        expected -= 1
    if expected == 0:
        yield None
