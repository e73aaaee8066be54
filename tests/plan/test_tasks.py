"""How a plan is cut into tasks: all units, in order, about equal in bytes, and small when sent."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.model.condition import EVERYTHING
from kubothek.model.read_plan import ReadInput, ReadPlan, files_schema
from kubothek.plan.tasks import (
    SHARED_FILE,
    cut_evenly,
    cut_groups,
    cut_plan,
    cut_points,
    slice_plan,
    unit_bytes,
    unit_weights,
    units_at_once,
)

SCHEMA = pa.schema([("v1", pa.int64())])


def plan(*inputs: Sequence[tuple[int, int | None]], units: int) -> ReadPlan:
    """Return a plan of inputs, each given by the (unit, bytes) of its files."""
    source = ReadInput("u", "u", "table", SCHEMA, SCHEMA, (), (), EVERYTHING, EVERYTHING)
    rows = [
        [{"unit": unit, "label": f"{i}-{n}", "key": f"{i}-{n}", "rows": None, "bytes": size, "overlay": False}
         for n, (unit, size) in enumerate(files)]
        for i, files in enumerate(inputs)
    ]  # fmt: skip
    return ReadPlan(
        subject="u",
        inputs=(source,) * len(inputs),
        files=tuple(pa.Table.from_pylist(files, files_schema(pa.schema([]))) for files in rows),
        units=pa.table({"unit": pa.array(range(units), pa.int32())}),
        joins=(),
        after=EVERYTHING,
        schema=SCHEMA,
    )


def test_bytes_of_units() -> None:
    """A unit weighs what its files of all inputs do; a file of unknown size counts as a megabyte."""
    assert unit_bytes(plan([(0, 5), (0, 6), (2, None)], [(1, 7), (2, 8)], units=3)).tolist() == [11, 7, 1_000_008]


@pytest.mark.parametrize(
    ("size", "each"), [(90, 30), (SHARED_FILE, SHARED_FILE // 3), (SHARED_FILE + 1, SHARED_FILE + 1)]
)
def test_a_shared_file_weighs_once(size: int, each: int) -> None:
    """A file that is decoded once for three units weighs a third in each; one too large to be kept, all."""
    whole = plan([(0, 5), (1, 6)], [(0, size), (1, size), (2, size)], units=3)
    coarse = whole.files[1].set_column(2, "key", [["k"] * 3])
    assert unit_weights(replace(whole, files=(whole.files[0], coarse))).tolist() == [5 + each, 6 + each, each]


# Bytes of units in order, how many may be read at once, room for their bytes, and how many are.
AT_ONCE: dict[str, tuple[list[int], int, int, int]] = {
    "all": ([1, 2, 3], 9, 6, 3),
    "no more than allowed": ([1, 2, 3], 2, 100, 2),
    "neighbours with room": ([5, 1, 5, 1, 5], 9, 11, 3),
    "one that is too large": ([1, 1, 99], 9, 50, 1),
    "none": ([], 9, 50, 1),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_units_that_are_read_at_once(name: str) -> None:
    """As many as have room together wherever in the plan they are, and one in any case."""
    units, most, room, expected = AT_ONCE[name]
    assert units_at_once(plan([*enumerate(units)], units=len(units)), most, room) == expected


sizes = st.lists(st.lists(st.integers(0, 10**9), max_size=3), max_size=20)


@given(sizes, st.integers(1, 6))
def test_pieces_are_the_plan(units: list[list[int]], tasks: int) -> None:
    """The pieces hold every unit and file once, in order, and are no more than asked for."""
    whole = plan([(unit, size) for unit, files in enumerate(units) for size in files], units=len(units))
    pieces = cut_plan(whole, tasks)
    assert len(pieces) <= tasks
    assert [n for piece in pieces for n in piece.units["unit"].to_pylist()] == list(range(len(units)))
    assert [row for piece in pieces for row in piece.files[0].to_pylist()] == whole.files[0].to_pylist()
    assert all(set(p.files[0]["unit"].to_pylist()) <= set(p.units["unit"].to_pylist()) for p in pieces)


@given(st.integers(0, 20), st.integers(1, 6))
def test_even_pieces(units: int, tasks: int) -> None:
    """Cut by number, the pieces hold all units in order, and none has more than one unit more than another."""
    pieces = cut_evenly(plan([(unit, 7 if unit else 10**9) for unit in range(units)], units=units), tasks)
    assert [n for piece in pieces for n in piece.units["unit"].to_pylist()] == list(range(units))
    counts = {piece.files[0].num_rows for piece in pieces}
    assert len(pieces) == min(tasks, units)
    assert not counts or max(counts) - min(counts) <= 1


@given(sizes.filter(bool), st.integers(1, 6))
def test_no_piece_is_much_too_large(units: list[list[int]], tasks: int) -> None:
    """A piece weighs at most its share and one unit more."""
    whole = plan([(unit, size) for unit, files in enumerate(units) for size in files], units=len(units))
    weights = unit_bytes(whole) + 100_000
    pieces = cut_plan(whole, tasks)
    heaviest = max(int(weights[piece.units["unit"].to_numpy()].sum()) for piece in pieces)
    assert heaviest <= weights.sum() / tasks + weights.max() + 1


def heaviest(weights: Sequence[int], cuts: Sequence[int]) -> int:
    """Return the weight of the heaviest piece."""
    return max(sum(weights[start:stop]) for start, stop in pairwise(cuts))


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=9), st.integers(1, 5))
def test_no_other_cuts_are_better(weights: list[int], pieces: int) -> None:
    """The heaviest piece is as light as any cuts could make it, but for a hundredth of a share."""
    cuts = cut_points(np.array(weights), pieces).tolist()
    others = (
        heaviest(weights, [0, *inner, len(weights)])
        for count in range(min(pieces, len(weights)))
        for inner in combinations(range(1, len(weights)), count)
    )
    assert (cuts[0], cuts[-1], len(cuts) <= pieces + 1) == (0, len(weights), True)
    assert heaviest(weights, cuts) <= min(others) + -(-sum(weights) // pieces) // 100


# Weights, pieces, and where they are cut.
CUTS: dict[str, tuple[list[int], int, list[int]]] = {
    "even": ([1] * 6, 3, [0, 2, 4, 6]),
    "more pieces than weights": ([5, 5], 9, [0, 1, 2]),
    "a heavy one is alone": ([1, 1, 90, 1, 1], 3, [0, 2, 3, 5]),
    "a heavy one first": ([90, 1, 1, 1], 3, [0, 1, 4]),
    "no heavier than need be": ([6, 5, 5, 6, 2, 2], 3, [0, 1, 3, 6]),
    "none": ([], 3, [0]),
}


@pytest.mark.parametrize("name", CUTS)
def test_cut_points(name: str) -> None:
    """Pieces are consecutive and about even."""
    weights, pieces, cuts = CUTS[name]
    assert cut_points(np.array(weights, np.int64), pieces).tolist() == cuts


def test_a_shared_file_goes_to_each_piece() -> None:
    """A file that serves several units is in the piece of each of them."""
    pieces = cut_plan(plan([(0, 10**8), (1, 10**8)], [(0, 1), (1, 1)], units=2), 2)
    assert [piece.files[1].num_rows for piece in pieces] == [1, 1]


def test_pieces_are_small_when_sent() -> None:
    """A pickled piece does not carry the rest of the plan."""
    whole = plan([(unit, 1) for unit in range(5000)], units=5000)
    assert len(pickle.dumps(slice_plan(whole, 10, 12))) < len(pickle.dumps(whole)) / 50


def test_nothing_to_do() -> None:
    """A plan without units needs no task."""
    assert cut_plan(plan([], units=0), 4) == ()
    assert np.array_equal(unit_bytes(plan([], units=0)), [])


def test_groups_stay_together() -> None:
    """Pieces begin where groups do, are about equal in bytes, and a plan without units has none."""
    whole = plan([(unit, 10**6) for unit in range(9)], units=9)
    starts = np.array([0, 1, 5, 6])
    pieces = cut_groups(whole, starts, 3)
    assert [piece.units["unit"].to_pylist() for piece in pieces] == [[0], [1, 2, 3, 4], [5, 6, 7, 8]]
    assert [len(cut_groups(whole, starts, tasks)) for tasks in (1, 9)] == [1, 4]
    assert cut_groups(plan([], units=0), np.array([0]), 3) == ()
