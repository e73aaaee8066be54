"""Which versions of a dataset are retained: the last ones, and those that somebody may still be reading.

::

    version                5           6           7           8           9 (current)
    replaced               5 h ago     2 h ago     1 h ago     just now
    keep=2                                                     stays       stays
    older_than = 3 h                   stays       stays       stays       stays
                                       the floor

Versions are given up from the oldest on, so that one number, the *floor*, says it all. Who reads a version may have
opened it just before it was replaced, so what counts is not when it was made but when it was replaced, that is when its
successor was stored. Where a listing lacks versions, a later successor stands in for them, and they stay longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from kubothek.errors import InvalidInputError
from kubothek.model.history import KeptVersion

DEFAULT_KEEP = 20
"""Versions that are retained where nothing else is asked."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What is to stay, seen from the moment ``now``; all times are UTC.

    The last ``count`` versions stay, the current one among them, and those that were replaced after ``since``. Whatever
    else no version names stays if it was changed after ``before``.
    """

    now: datetime
    before: datetime
    since: datetime
    count: int


@dataclass(frozen=True, slots=True)
class RetainedVersions:
    """Which versions stay: those from ``floor`` on.

    ``rises`` says that older ones have yet to be given up. ``kept`` are the copies to which the files belong that must
    stay, ``given_up`` those that may go. ``is_complete`` says that there is a copy of every version that stays, so that
    all their files are known.
    """

    floor: int
    rises: bool
    kept: tuple[KeptVersion, ...]
    given_up: tuple[KeptVersion, ...]
    is_complete: bool


def plan_retention(now: datetime, older_than: timedelta, keep: int | timedelta | None) -> Retention:
    """Return what is to stay.

    Parameters
    ----------
    now
        The present (UTC).
    older_than
        How long ago what goes was replaced or, where no version names it, written.
    keep
        Number of versions that stay besides, or how long ago they were current; ``None`` for :data:`DEFAULT_KEEP`.

    Raises
    ------
    InvalidInputError
        ``older_than`` is no age, or ``keep`` neither an age nor a number from 1 on.

    Examples
    --------
    >>> noon = datetime(2020, 1, 1, 12, tzinfo=UTC)
    >>> asked = plan_retention(noon, timedelta(hours=1), keep=timedelta(hours=3))
    >>> asked.count, asked.before.hour, asked.since.hour
    (1, 11, 9)
    """
    problems = []
    if not _is_age(older_than):
        problems.append(f"older_than must be a timedelta that is not negative, but is {older_than!r}.")
    count = DEFAULT_KEEP if keep is None else keep
    if not _is_age(count) and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        problems.append(
            f"keep must be a number of versions from 1 on, as the current one counts, or a timedelta that is not "
            f"negative, but is {keep!r}."
        )
    if problems:
        raise InvalidInputError(" ".join(problems))
    before = _ago(now, older_than)
    if isinstance(count, timedelta):
        return Retention(now, before, min(before, _ago(now, count)), 1)
    return Retention(now, before, before, count)


def _is_age(value: object) -> bool:
    return isinstance(value, timedelta) and value >= timedelta(0)


def _ago(now: datetime, age: timedelta) -> datetime:
    return now - min(age, now - datetime.min.replace(tzinfo=UTC))


def find_floor(stored: Mapping[int, datetime], oldest: int, asked: Retention) -> int:
    """Return the lowest version that stays.

    Parameters
    ----------
    stored
        When each version was stored (UTC), as far as known. The highest one is the current one.
    oldest
        Versions before it have been given up already.
    asked
        What is to stay.

    Examples
    --------
    >>> times = {1: datetime(2020, 1, 1, tzinfo=UTC), 2: datetime(2020, 1, 5, tzinfo=UTC)}
    >>> now = datetime(2020, 1, 7, tzinfo=UTC)
    >>> [find_floor(times, 1, plan_retention(now, timedelta(days=days), keep=1)) for days in (1, 2, 3)]
    [2, 2, 1]
    """
    known = [version for version in sorted(stored) if version >= oldest]
    floor = max(stored) - asked.count + 1
    for place, version in enumerate(known):
        if version > oldest and stored[version] > asked.since:  # its predecessor was current until then
            floor = min(floor, known[place - 1] if place else oldest)
            break
    return max(floor, oldest)


def retain_versions(
    versions: Sequence[KeptVersion],
    current: int,
    stored: datetime,
    oldest: int,
    asked: Retention,
    *,
    may_rise: bool = True,
) -> RetainedVersions:
    """Decide which versions of a dataset stay.

    To give up versions takes a commit, after which the present version is one of the past. It is counted as such in
    advance, so that the next time there is nothing more to give up.

    Parameters
    ----------
    versions
        The copies that there are.
    current
        Number of the version that the dataset's header has.
    stored
        When the header was stored (UTC), or later.
    oldest
        Versions before it have been given up already.
    asked
        What is to stay.
    may_rise
        Whether more versions may be given up than have been.
    """
    floor, times = oldest, {kept.version: kept.modified for kept in versions if kept.version < current}
    if may_rise and find_floor({**times, current: stored}, oldest, asked) > oldest:
        floor = find_floor({**times, current: stored, current + 1: asked.now}, oldest, asked)
    kept = tuple(one for one in versions if one.version >= floor)
    past = {one.version for one in kept if one.version < current}
    return RetainedVersions(
        floor=floor,
        rises=floor > oldest,
        kept=kept,
        given_up=tuple(one for one in versions if one.version < floor),
        is_complete=len(past) >= current - floor,
    )


def retain_ended(versions: Sequence[KeptVersion], ended: datetime, asked: Retention) -> tuple[KeptVersion, ...]:
    """Return which versions stay of a dataset that was replaced by another of its name.

    Nobody can open them any more, so that only those count that somebody may have opened before.
    """
    if not versions:
        return ()
    times = {kept.version: kept.modified for kept in versions}
    last = max(times) + 1
    floor = find_floor({**times, last: ended}, 1, replace(asked, count=1, since=asked.before))
    return tuple(kept for kept in versions if kept.version >= floor)
