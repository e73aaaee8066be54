"""What a commit of other software is to our history: its id, and which commits it has overwritten.

Other software replaces the header by what it read before plus its own change, and drops our state. So the commits that
others made between its reading and its writing are gone: nothing of what they did is there any more. From the newest
kept version backwards::

    of what a version changed     something is there     it was known, and all before it: stop here
                                  nothing is there       overwritten, and so is what came after it; look further back
                                  that cannot be seen    as the version before it
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.header import CommitState, Header

FOREIGN_COMMIT = "foreign commit"
"""The operation of a commit by other software."""

_ABSENT = object()
_VERSION_DIGIT = 12


def foreign_commit_id(key: str, etag: str) -> str:
    """Return the id of the commit by other software that put this header.

    It is a UUID of version 8, made from what is given, so that all who see the header call its commit the same. Ids of
    our own commits are random, of version 4.

    Examples
    --------
    >>> foreign_commit_id("flights.by-dataset-metadata.json", "1f")
    '15c7595ad6de826712c78636132d02ba'
    """
    digits = hashlib.sha256(f"{key}\n{etag}".encode()).hexdigest()
    return f"{digits[:_VERSION_DIGIT]}8{digits[_VERSION_DIGIT + 1 : 32]}"


def is_foreign_id(commit: str) -> bool:
    """Tell whether an id is one that :func:`foreign_commit_id` made."""
    return len(commit) == 32 and commit[_VERSION_DIGIT] == "8"


def is_adopted(state: CommitState | None) -> bool:
    """Tell whether a state was given to the header of other software."""
    return state is not None and state.info is not None and state.info.operation == FOREIGN_COMMIT


Effect = Literal["gone", "there", "unknown"]


def find_overwritten(now: Header, kept: Iterable[Header | None]) -> tuple[str, ...]:
    """Return the ids of the commits of whose effect nothing is there, newest first.

    Parameters
    ----------
    now
        The header that other software has put, its partitions listed.
    kept
        Headers of the versions before it, newest first and without a gap; ``None`` stands for the absence of the
        dataset before its first version. It is read only as far as needed.
    """
    overwritten: list[str] = []
    undecided: list[str] = []
    newest: Header | None = None
    for after, before in pairwise(kept):
        if after is None or after.state is None:
            break
        newest = after if newest is None else newest
        effect = effect_left(before, after, now, newest)
        if effect == "there":
            break
        undecided.append(after.state.commit)
        if effect == "gone":
            overwritten += undecided
            undecided = []
    return tuple(overwritten)


def effect_left(before: Header | None, after: Header, now: Header, newest: Header | None = None) -> Effect:
    """Say whether anything is left of what was changed from one header to the next, as far as that can be seen.

    Parameters
    ----------
    before, after
        The version before the commit, ``None`` where there was none, and the one that it made.
    now
        What is there now.
    newest
        The last version that other software may have known, where that is not ``after``: what is not in it any more
        has been removed since on purpose.
    """
    last = after if newest is None else newest
    old, new, there = _labels(before), _labels(after), _labels(now)
    added, removed = _without(new, old), _without(old, new)
    if len(_without(added, there)) < len(added):
        return "there"
    if len(_without(removed, there)) < len(removed):  # labels never come again: one that is back was never seen to go
        return "gone"
    effect = _of_metadata({} if before is None else before.metadata, after.metadata, now.metadata)
    if effect != "unknown":
        return effect
    # What the newest version has was removed by other software, or not known: the same where that was all of a commit.
    return "gone" if not len(removed) and len(_without(added, _labels(last))) < len(added) else "unknown"


def _of_metadata(old: Mapping[str, Any], new: Mapping[str, Any], there: Mapping[str, Any]) -> Effect:
    """Say what is left of the entries that a commit changed."""
    changed = [name for name in {**old, **new} if _differs(old, new, name)]
    if any(not _differs(new, there, name) for name in changed):
        return "there"
    return "gone" if changed and not any(_differs(old, there, name) for name in changed) else "unknown"


def _labels(header: Header | None) -> pa.Array:
    if header is None or header.partitions is None:
        return pa.nulls(0, pa.string())
    return header.partitions["label"].combine_chunks()


def _without(labels: pa.Array, others: pa.Array) -> pa.Array:
    return labels.filter(pc.invert(pc.is_in(labels, value_set=others)))


def _differs(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    return bool(one.get(name, _ABSENT) != other.get(name, _ABSENT))
