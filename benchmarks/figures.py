"""Figures that are no race, such as the memory that a work needs; and goals, of races and of figures alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """What a case should come to, what it came to, and whether that is enough: ``None`` where nothing was found."""

    case: str
    against: str
    found: str
    goal: str
    reached: bool | None


def three_digits(number: float) -> str:
    """Return a number with as many digits as a benchmark can stand for, but whole where it is large.

    >>> [three_digits(number) for number in (1234.5, 99.5, 2, 0.01234, 0)]
    ['1,234', '99.5', '2.00', '0.0123', '0']
    """
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:#.3g}" if number >= 0.001 else f"{round(number, 4):g}"


@dataclass(frozen=True, slots=True)
class Figures:
    """A table of figures; every line has a cell per heading, and ``note`` says what they should be."""

    work: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    note: str = ""
    goals: tuple[Goal, ...] = ()
