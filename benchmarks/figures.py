"""Figures that are no race: what a work needs, such as memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """A table of figures; every line has a cell per heading, and ``note`` says what they should be."""

    work: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    note: str = ""
