"""Rows for tests as frames: few values per column, cut into Arrow tables of narrower types or encodings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

import pyarrow as pa
from hypothesis import strategies as st

from kubothek.testing.kinds import NULL, Kind, Values
from kubothek.testing.reference_rows import Row

Item = TypeVar("Item")


def some_of(names: Sequence[Item], most: int) -> st.SearchStrategy[list[Item]]:
    """Return a strategy for up to so many of some names, rarely none."""
    if not names or most < 1:
        return st.just([])
    some = st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=most)
    return st.one_of(st.just([]), some, some)


def few_values(draw: st.DrawFn, kind: Kind, *, optional: bool) -> Values:
    """Draw the values of a column: few, so that they come again in other rows, files, conditions and delete scopes."""
    values = draw(st.lists(kind.values, min_size=1, max_size=4))
    return st.sampled_from([*values, None, None] if optional else values)


def in_turn(draw: st.DrawFn, items: Sequence[Item], number: int) -> Item:
    """Draw an item; where draws are the simplest, those of successive numbers are successive items."""
    return items[(draw(_below(len(items))) + number) % len(items)]


@cache
def _below(count: int) -> st.SearchStrategy[int]:
    """Return the strategy for numbers, made once: each new one is checked anew."""
    return st.integers(0, count - 1)


def draw_frames(
    draw: st.DrawFn, rows: Sequence[Row], columns: Mapping[str, Kind], typed: Collection[str], *, most_cuts: int = 4
) -> tuple[pa.Table, ...]:
    """Cut rows into frames, some of them perhaps without rows.

    Parameters
    ----------
    draw
        Given by hypothesis.
    rows, columns
        The rows, and the types of their columns.
    typed
        Columns that have their type in each frame; the others may be of type null where they have no value.
    most_cuts
        How often the rows are cut, at most.
    """
    cuts = sorted(draw(st.lists(st.sampled_from(range(len(rows) + 1)), max_size=most_cuts)))
    pieces = [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return tuple(_frame(piece, columns, typed, plain=draw(st.booleans()), bare=draw(st.booleans())) for piece in pieces)


def _frame(
    rows: Sequence[Row], columns: Mapping[str, Kind], typed: Collection[str], *, plain: bool, bare: bool
) -> pa.Table:
    """Return rows as a frame: of the types of record if ``plain``, without a type where no value is if ``bare``."""
    arrays = {}
    for name, kind in columns.items():
        values = [row[name] for row in rows]
        if bare and name not in typed and all(value is None for value in values):
            kind = NULL
        arrays[name] = (replace(kind, given=kind.record) if plain else kind).array(values)
    return pa.table(arrays)
