"""How facts of a cube are said on its page: numbers that may be unknown, partitions, and states of coverage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubothek.model.display import human_bytes, plural
from kubothek.model.stale import partition_name
from kubothek.plan.cube.coverage import Coverage, State

UNKNOWN = "not recorded"

STATES = {
    State.COVERED: "covered",
    State.STALE: "stale",
    State.MISSING: "missing",
    State.EXTRA: "without seed",
}
"""What the states are called that a map shows."""

MEANINGS = {
    State.COVERED: "the dataset has the partition",
    State.STALE: "its sources have changed since it was computed; refresh_cube computes it anew",
    State.MISSING: "the seed has the partition, the dataset does not: its columns are null there",
    State.EXTRA: "the dataset has the partition, the seed does not: no query reads it",
}


def count_text(number: int | None) -> str:
    """Return a number, or that it is not known.

    Examples
    --------
    >>> count_text(12345), count_text(None)
    ('12,345', 'not recorded')
    """
    return UNKNOWN if number is None else f"{number:,}"


def size_text(size: int | None) -> str:
    """Return a size, or that it is not known."""
    return UNKNOWN if size is None else human_bytes(size)


def states_text(counts: Mapping[State, int], *, everything: bool = True) -> str:
    """Return how many partitions are in which state.

    Examples
    --------
    >>> states_text({State.COVERED: 1200, State.MISSING: 3})
    '1,200 covered, 3 missing'
    """
    shown = [state for state in STATES if counts.get(state) and (everything or state != State.COVERED)]
    return ", ".join(f"{counts[state]:,} {STATES[state]}" for state in shown)


def unit_name(coverage: Coverage, unit: int) -> str:
    """Return what a physical partition is called."""
    return partition_name(coverage.values(unit))


def short_name(coverage: Coverage, unit: int) -> str:
    """Return the values of a physical partition alone, for where there is little room."""
    return "/".join(str(value) for value in coverage.values(unit).values())


def names_text(names: Iterable[str]) -> str:
    """Return names with commas, or a dash."""
    return ", ".join(names) or "-"


def percent_text(part: float) -> str:
    """Return a part of a whole as a percentage, never 0 or 100 where it is neither.

    Examples
    --------
    >>> percent_text(0.5), percent_text(0.00001), percent_text(0.9999), percent_text(1)
    ('50 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    if 0 < part < 0.001:
        return "< 0.1 %"
    if 0.999 < part < 1:
        return "> 99.9 %"
    return f"{100 * part:.1f}".removesuffix(".0") + " %"


def files_text(files: int) -> str:
    """Return a number of files."""
    return plural(files, "file")
