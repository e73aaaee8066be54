"""Which physical partitions which dataset covers, against a plain reading of the same places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubothek as kb
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.cube.coverage import Coverage, State, bin_edges, bin_states, find_coverage
from kubothek.plan.cube.lineage import REASON
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.picture import count_rows, count_sizes

CUBE = kb.Cube("c", ["x"], ["p", "q"])
PLACES = st.sets(st.tuples(st.integers(0, 3), st.sampled_from("ab")))


def member(dataset_id: str, places: Any, keys: tuple[str, ...] = ("p", "q")) -> Member:
    """Make a dataset with a file in each place."""
    kinds = {"p": pa.int64(), "q": pa.string()}
    listed = sorted(places)
    columns = {f"{PARTITION_PREFIX}{k}": pa.array([one[n] for one in listed], kinds[k]) for n, k in enumerate(keys)}
    files = pa.table({"label": pa.array([f"{n}" for n in range(len(listed))], pa.string())} | columns)
    schema = pa.schema([*((key, kinds[key]) for key in keys), ("x", pa.int64())])
    return Member(dataset_id, f"c++{dataset_id}", schema, keys, (), files)


def states(coverage: Coverage, dataset_id: str) -> dict[tuple[Any, ...], State]:
    """Return the state of each place in a dataset."""
    units = zip(*(column.to_pylist() for column in coverage.units.columns), strict=True)
    found = coverage.states[coverage.datasets.index(dataset_id)].tolist()
    return dict(zip(units, map(State, found), strict=True))


@given(PLACES.filter(bool), PLACES)
def test_states_are_those_of_a_plain_reading(seed: set[tuple[int, str]], other: set[tuple[int, str]]) -> None:
    """Each place of the two datasets is there once, sorted, and in the state that a look at both tells."""
    coverage = find_coverage(CUBE, [member("e", other), member("seed", seed)], {})
    expected = {
        place: State.EXTRA if place not in seed else State.COVERED if place in other else State.MISSING
        for place in sorted(seed | other)
    }
    assert coverage.datasets == ("seed", "e")
    assert list(states(coverage, "e").items()) == list(expected.items())
    assert states(coverage, "seed") == {p: State.COVERED if p in seed else State.ABSENT for p in expected}


def test_a_coarse_dataset_covers_all_that_agrees() -> None:
    """One that lacks a partition column covers whatever agrees in the other; one that lacks both covers all."""
    parts = [member("seed", {(1, "a"), (1, "b"), (2, "a")}), member("e", {(1,), (3,)}, ("p",)), member("g", {()}, ())]
    coverage = find_coverage(CUBE, parts, {})
    assert states(coverage, "e") == {
        (1, "a"): State.COVERED, (1, "b"): State.COVERED, (2, "a"): State.MISSING, (3, None): State.EXTRA,
    }  # fmt: skip
    assert states(coverage, "g")[2, "a"] == State.COVERED
    assert states(coverage, "g")[3, None] == State.ABSENT
    assert coverage.values(3) == {"p": 3}


@pytest.mark.parametrize(
    ("reason", "present", "state"),
    [
        ("changed", True, State.STALE),
        ("changed", False, State.STALE),
        ("missing", True, State.STALE),
        ("missing", False, State.MISSING),
        (None, False, State.COVERED),
    ],
)
def test_what_is_computed_is_as_its_lineage_says(reason: str | None, present: bool, state: State) -> None:
    """A file whose sources changed is stale; a place that was computed and has no file is covered."""
    places = {PARTITION_PREFIX + "p": [1], PARTITION_PREFIX + "q": ["a"]}
    stale = pa.table(places | {REASON: [reason]}) if reason else pa.table(places | {REASON: ["changed"]})[:0]
    parts = [member("seed", {(1, "a")}), member("e", {(1, "a")} if present else set())]
    assert states(find_coverage(CUBE, parts, {"e": stale}), "e") == {(1, "a"): state}


@given(st.lists(st.sampled_from(list(State))), st.integers(1, 9))
def test_bins_lose_nothing(found: list[State], most: int) -> None:
    """Bins are neighbours from the first to the last, no more than asked for, and count each partition once."""
    bins = bin_states(np.array(found, np.int8), most)
    assert len(bins) == min(most, len(found))
    assert [one.start for one in bins] + [len(found)] == bin_edges(len(found), most)
    assert [sum(one.counts[state] for one in bins) for state in State] == [found.count(state) for state in State]


def test_rows_are_summed_by_partition() -> None:
    """Files of one partition count together; bars come in the order of the values, whatever that of the files."""
    files = pa.table({"partition/p": [2, 1, 2, 3], "rows": [5, 7, 6, 1]})
    found = count_rows(files, ["p"])
    assert found is not None
    assert (found.bars, found.median, found.most, found.largest) == ((7, 11, 1), 7, 11, (("p", 2),))


def test_what_is_not_recorded_is_not_drawn() -> None:
    """Rows or sizes that no header tells are unknown, not nothing."""
    assert count_rows(pa.table({"partition/p": [1], "rows": pa.nulls(1, pa.int64())}), ["p"]) is None
    assert count_sizes(pa.chunked_array([pa.nulls(2, pa.int64())])) is None
