"""What the history of a dataset needs of its objects, so that only the rest is garbage.

::

    the dataset that is there       copies of its headers from the floor on, and the files that they name
    datasets that it replaced       those versions that somebody may have opened before
    a header of other software      everything, unless it is known which dataset it continues
    no header                       nothing

Only where there is a copy of every version from the floor on, it is known which files must stay; a listing may lag, or
somebody may have deleted copies. Then no file is garbage, until the versions that are missing are given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import header_key, parse_version_key
from kubothek.dataset.snapshot import find_snapshot
from kubothek.dataset.upkeep.objects import find_headers
from kubothek.dataset.versions import adopt, list_versions, load_kept
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError, SnapshotExpiredError
from kubothek.model.header import CommitState, Header
from kubothek.model.history import KeptVersion
from kubothek.plan.apply import NO_LABELS
from kubothek.plan.garbage import is_file, named_keys, spare
from kubothek.plan.retention import RetainedVersions, Retention, retain_ended, retain_versions
from kubothek.store.interface import Store

HEADERS_AT_ONCE = 4
"""Versions that are read at once: each header may list a million files."""


@dataclass(frozen=True, slots=True)
class GivingUp:
    """Versions that are to be given up: those before ``oldest``, of the dataset that had this ``state``."""

    state: CommitState
    oldest: int


def spare_history(
    objects: pa.Table, garbage: pa.Table, live: Sequence[Header], store: Store, asked: Retention, *, may_rise: bool
) -> tuple[pa.Table, GivingUp | None]:
    """Return the garbage that no version needs, and the versions that must be given up before it goes.

    Parameters
    ----------
    objects
        What there is, a table of ``plan.garbage.OBJECTS``; listed before the headers were read.
    garbage
        The rows of it that the headers do not need.
    live
        The headers; the first is the one that counts.
    store
        Where.
    asked
        What is to stay.
    may_rise
        Whether more versions may be given up than have been.

    Raises
    ------
    CorruptDatasetError
        A version that stays cannot be understood, so that its files are unknown.
    """
    lines = kept_versions(objects)
    if not live or (not lines and live[0].state is None):
        return garbage, None
    now = _find_current(live[0], store)
    if now is None or (live[0].state is None and now.state.incarnation not in lines):
        return spare(garbage, NO_LABELS, [kept.key for line in lines.values() for kept in line]), None
    state, files = now.state, garbage.filter(is_file(garbage))["key"].combine_chunks()
    listed = (*lines.pop(state.incarnation, ()), *list_versions(now.header.uuid, store, state.incarnation))
    own = sorted({kept.key: kept for kept in listed}.values(), key=lambda kept: kept.key)
    others = _of_others(lines, live, min([now.stored, *(kept.modified for kept in own)]), asked)

    def retain(may_rise: bool) -> RetainedVersions:
        return retain_versions(own, state.version, now.stored, state.oldest, asked, may_rise=may_rise)

    retained = retain(may_rise and not state.withdrawn)
    files = _without(files, named_keys(now.header)) if retained.is_complete else NO_LABELS
    files = without_named(files, [*(kept for kept in retained.kept if kept.commit != state.commit), *others], store)
    # The commit that gives up a version makes one too: for the copy of a header alone it does not pay.
    if retained.rises and not len(files) and sum(kept.version >= state.oldest for kept in retained.given_up) < 2:
        retained = retain(False)
    garbage = spare(garbage, files, [kept.key for kept in (*retained.kept, *others)])
    return garbage, GivingUp(state, retained.floor) if retained.rises else None


def without_named(keys: pa.Array, versions: Iterable[KeptVersion], store: Store) -> pa.Array:
    """Return those keys that none of some versions names; none where others have just given up one of these.

    Versions are read as long as any key is left, and nothing of them is kept but what they name of the keys.

    Raises
    ------
    CorruptDatasetError
        A version cannot be understood.
    """
    if not len(keys):
        return keys

    def named(kept: KeptVersion, among: pa.Array = keys) -> pa.Array:
        names = named_keys(load_kept(kept, kept.key.split("/")[1], store))
        return names.filter(pc.is_in(names, value_set=among))

    try:
        with closing(map_in_threads(named, versions, HEADERS_AT_ONCE)) as found:
            for names in found:
                keys = _without(keys, names)
                if not len(keys):
                    break
    except SnapshotExpiredError:
        return keys[:0]
    return keys


def without_needed(keys: pa.Array, uuid: str, store: Store) -> pa.Array:
    """Return those keys that the dataset which is there now needs neither now nor in a version that was not given up.

    None where that is not known.

    Raises
    ------
    CorruptDatasetError
        The header, or a version, cannot be understood.
    """
    live = [header for header in find_headers(uuid, store).values() if header is not None]
    if not live:
        return keys
    now = _find_current(live[0], store)
    if now is None:
        return keys[:0]
    for header in (*live, now.header):
        keys = _without(keys, named_keys(header))
    past = [kept for kept in list_versions(uuid, store, now.state.incarnation) if kept.version >= now.state.oldest]
    if len({kept.version for kept in past if kept.version < now.state.version}) < now.state.version - now.state.oldest:
        return keys[:0]
    return without_named(keys, past, store)


def kept_versions(objects: pa.Table) -> dict[str, tuple[KeptVersion, ...]]:
    """Return the copies of headers in a listing, by incarnation."""
    found: dict[str, list[KeptVersion]] = {}
    for row in objects.filter(pc.equal(objects["kind"], "version")).to_pylist():
        named = parse_version_key(row["key"])
        if named is not None:
            found.setdefault(row["name"], []).append(KeptVersion(*named, row["key"], row["size"], row["modified"]))
    return {name: tuple(sorted(line, key=lambda kept: kept.key)) for name, line in found.items()}


def _without(keys: pa.Array, others: pa.Array) -> pa.Array:
    return keys.filter(pc.invert(pc.is_in(keys, value_set=others)))


def _of_others(
    lines: Mapping[str, Sequence[KeptVersion]], live: Sequence[Header], ended: datetime, asked: Retention
) -> list[KeptVersion]:
    """Return which versions of other datasets of this name stay: all of one whose header is there too, but hidden."""
    hidden = {header.state.incarnation for header in live if header.state is not None}
    return [
        kept for name, line in lines.items() for kept in (line if name in hidden else retain_ended(line, ended, asked))
    ]


@dataclass(frozen=True, slots=True)
class _Current:
    """The header that counts, its state, or that which it should have, and when it was stored, or a later one."""

    header: Header
    state: CommitState
    stored: datetime


def _find_current(header: Header, store: Store) -> _Current | None:
    """Tell about a header, or one that has replaced it meanwhile.

    ``None`` where the dataset has been deleted, or other software has left it so that it cannot be opened.
    """
    try:
        if header.state is None:
            snapshot = find_snapshot(header.uuid, store)
            header = header if snapshot is None else adopt(snapshot).header
        stored = store.info(header_key(header.uuid, header.format)).modified
    except (ObjectNotFoundError, CorruptDatasetError):
        return None
    return None if header.state is None else _Current(header, header.state, stored)
