"""Which versions stay: the last ones, those somebody may be reading, and nothing that is not known to be older."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.errors import InvalidInputError
from kubothek.model.history import KeptVersion
from kubothek.plan.retention import (
    DEFAULT_KEEP,
    RetainedVersions,
    find_floor,
    plan_retention,
    retain_ended,
    retain_versions,
)

NOON = datetime(2020, 1, 10, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def kept(**hours: float) -> tuple[KeptVersion, ...]:
    """Make kept versions ``v<number>``, each stored so many hours before noon."""
    return tuple(
        KeptVersion(int(name[1:]), NOON, "c", f"k{name[1:]}", 1, NOON - age * HOUR) for name, age in hours.items()
    )


def floor(keep: int | timedelta | None, older_than: timedelta, oldest: int = 1, **hours: float) -> int:
    """Return the lowest version that stays, of versions that were stored so many hours before noon."""
    times = {one.version: one.modified for one in kept(**hours)}
    return find_floor(times, oldest, plan_retention(NOON, older_than, keep))


FLOORS: dict[str, tuple[int, int]] = {
    "the only version": (floor(1, 0 * DAY, v1=100), 1),
    "the present only": (floor(1, 0 * DAY, v1=3, v2=2, v3=0), 3),
    "the last two": (floor(2, 0 * DAY, v1=3, v2=2, v3=1), 2),
    "more than there are": (floor(9, 0 * DAY, v1=3, v2=2), 1),
    "twenty unless asked": (floor(None, 0 * DAY, v99=3, v100=2), 100 - DEFAULT_KEEP + 1),
    "replaced within the age": (floor(1, 2.5 * HOUR, v1=9, v2=3, v3=2, v4=1), 2),
    "replaced exactly then": (floor(1, 2 * HOUR, v1=9, v2=3, v3=2, v4=1), 3),
    "replaced a moment later": (floor(1, 2.001 * HOUR, v1=9, v2=3, v3=2, v4=1), 2),
    "made long ago, replaced now": (floor(1, HOUR, v1=999, v2=0), 1),
    "current at some time in a day": (floor(DAY, 0 * DAY, v1=99, v2=30, v3=3, v4=1), 2),
    "the longer of both ages": (floor(HOUR, DAY, v1=99, v2=30, v3=3, v4=1), 2),
    "an age that nothing reaches": (floor(timedelta.max, 0 * DAY, v1=99, v2=30), 1),
    "given up before": (floor(9, DAY, 3, v1=3, v2=2, v3=1, v4=0), 3),
    "a gap is bridged by the next": (floor(1, 2.5 * HOUR, v1=9, v2=8, v5=2, v6=1), 2),
    "none listed but the present": (floor(1, 2 * HOUR, v7=1), 1),
    "none listed, and long ago": (floor(1, 2 * HOUR, v7=3), 7),
    "times out of order": (floor(1, 2 * HOUR, v1=9, v2=1, v3=8, v4=7), 1),
}


@pytest.mark.parametrize("case", FLOORS)
def test_floors(case: str) -> None:
    """The floor is the lowest version that either rule retains."""
    found, expected = FLOORS[case]
    assert found == expected


AGES = st.integers(0, 50)


@given(st.lists(AGES, min_size=1, max_size=8), st.integers(1, 9), AGES, AGES, st.sets(st.integers(1, 8)))
def test_floors_of_any_history(ages: list[int], count: int, hours: int, now: int, hidden: set[int]) -> None:
    """What the two rules say of each version by itself is retained, also where the listing lacks versions."""
    stored = {version: NOON - age * HOUR for version, age in enumerate(sorted(ages, reverse=True), 1)}
    last = len(stored)
    replaced = {version: stored[version + 1] for version in range(1, last)}
    asked = plan_retention(NOON + now * HOUR, hours * HOUR, count)
    must_stay = {last, *range(last - count + 1, last)} | {v for v, when in replaced.items() if when > asked.before}
    listed = {version: when for version, when in stored.items() if version == last or version not in hidden}
    found = find_floor(listed, 1, asked)
    assert found <= max(1, min(must_stay))
    assert found == max(1, min(must_stay)) or hidden


def retained(versions: tuple[KeptVersion, ...], current: int, oldest: int = 1, keep: int = 2) -> RetainedVersions:
    """Decide at noon, with an age of three hours, about a header that was stored an hour before."""
    return retain_versions(versions, current, NOON - HOUR, oldest, plan_retention(NOON, 3 * HOUR, keep))


def test_what_is_given_up() -> None:
    """Copies below the floor may go, those above are needed; the commit that says so counts as a version."""
    versions = kept(v1=99, v2=98, v3=97, v4=96, v5=1)
    found = retained(versions, 5)
    assert found == RetainedVersions(4, True, versions[3:], versions[:3], True)
    after = retained((*versions, *kept(v6=0)), 6, oldest=found.floor)
    assert (after.rises, after.floor, after.given_up) == (False, 4, versions[:3])


@pytest.mark.parametrize("keep", [1, 2, 20])
def test_it_settles(keep: int) -> None:
    """After the commit that gives up versions there is nothing more to give up at that moment."""
    versions = (*kept(**{f"v{version}": 100 - version for version in range(1, 30)}), *kept(v30=1))
    floor = retained(versions, 30, keep=keep).floor
    after = retain_versions((*versions, *kept(v31=0)), 31, NOON, floor, plan_retention(NOON, 3 * HOUR, keep))
    assert (floor > 1, after.floor, after.rises) == (True, floor, False)


def test_the_present_alone() -> None:
    """Where nobody needs a moment to read, the version that the commit replaces goes too: its content is the same."""
    asked = plan_retention(NOON, 0 * HOUR, 1)
    versions = kept(v1=9, v2=8)
    assert retain_versions(versions, 2, NOON - HOUR, 1, asked) == RetainedVersions(3, True, (), versions, True)
    assert retain_versions((), 3, NOON, 3, asked) == RetainedVersions(3, False, (), (), True)


def test_nothing_more_is_given_up() -> None:
    """Where that may not be, only what was given up before is."""
    versions = kept(v1=99, v2=98, v3=97)
    asked = plan_retention(NOON, 0 * HOUR, 1)
    found = retain_versions(versions, 3, NOON, 2, asked, may_rise=False)
    assert found == RetainedVersions(2, False, versions[1:], versions[:1], True)


INCOMPLETE: dict[str, tuple[tuple[KeptVersion, ...], bool]] = {
    "all": (kept(v4=9, v5=8), True),
    "the present not yet kept": (kept(v3=9, v4=8), True),
    "one below the floor is missing": (kept(v1=9, v4=8), True),
    "one that stays is missing": (kept(v1=99, v2=98, v5=1), False),
    "none": ((), False),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_listings_that_lag(case: str) -> None:
    """The files of a version that stays are only known if its copy is listed; the present has its header."""
    versions, expected = INCOMPLETE[case]
    assert retain_versions(versions, 5, NOON, 4, plan_retention(NOON, HOUR, 20)).is_complete == expected


def test_copies_from_the_future() -> None:
    """Copies above the present, as when somebody put back an old header, stay and stand in for nothing."""
    versions = kept(v2=9, v3=8, v4=7)
    found = retain_versions(versions, 3, NOON, 1, plan_retention(NOON, 0 * HOUR, 1))
    assert (found.kept, found.floor) == (versions[2:], 4)
    assert not retain_versions(versions[1:], 3, NOON, 2, plan_retention(NOON, HOUR, 9)).is_complete


def test_datasets_that_were_replaced() -> None:
    """Of a dataset that gave way to another only those versions stay that somebody may have opened."""
    versions = kept(v1=9, v2=5, v3=4)
    asked = plan_retention(NOON, 3 * HOUR, 20)
    assert retain_ended(versions, NOON - 2 * HOUR, asked) == versions[2:]
    assert retain_ended(versions, NOON - 3 * HOUR, asked) == ()
    assert retain_ended(versions, NOON, plan_retention(NOON, 4.5 * HOUR, 1)) == versions[1:]
    assert retain_ended((), NOON, asked) == ()


@pytest.mark.parametrize("keep", [0, -1, True, 1.5, "2", timedelta(-1)])
def test_no_retention(keep: object) -> None:
    """What is neither a number of versions nor an age is refused, with an age that is none."""
    with pytest.raises(InvalidInputError, match=r"older_than must be .* keep must be"):
        plan_retention(NOON, timedelta(-1), keep)  # type: ignore[arg-type]  # wrong on purpose
