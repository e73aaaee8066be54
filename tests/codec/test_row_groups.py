"""Row groups are put together while they are small and taken apart where they are too large."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.codec.row_groups import GroupRun, cut_runs

K = 1024
FULL = 256 * K
MIB = 2**20


def footer(*groups: tuple[int, int]) -> Any:
    """Return a footer with a column ``v1`` of so many rows and bytes per row group, and a huge column ``v2``."""

    def column(size: int) -> Any:
        return SimpleNamespace(total_uncompressed_size=size)

    chunks = [SimpleNamespace(num_rows=rows, column=[column(size), column(2**40)].__getitem__) for rows, size in groups]
    paths = [SimpleNamespace(path=path) for path in ("v1.list.element", "v2")]
    return SimpleNamespace(
        num_columns=2, schema=SimpleNamespace(column=paths.__getitem__), row_group=chunks.__getitem__
    )


@pytest.mark.parametrize(
    ("groups", "runs"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([(0, 0)], [GroupRun((0,))], id="no rows"),
        pytest.param([(FULL, 9)] * 3, [GroupRun((0,)), GroupRun((1,)), GroupRun((2,))], id="full ones"),
        pytest.param([(FULL // 2, 9)] * 4, [GroupRun((0, 1)), GroupRun((2, 3))], id="halves"),
        pytest.param([(1, 9)] * 5, [GroupRun((0, 1, 2, 3, 4))], id="small ones"),
        pytest.param([(4 * FULL, 9), (1, 9)], [GroupRun((0,)), GroupRun((1,))], id="four times as large"),
        pytest.param([(5 * FULL, 9)], [GroupRun((0,), FULL)], id="larger still"),
        pytest.param([(10, 64 * MIB)] * 2, [GroupRun((0,)), GroupRun((1,))], id="few rows of many bytes"),
        pytest.param([(10, 640 * MIB)], [GroupRun((0,), 1)], id="huge rows"),
        pytest.param([(2, 6400 * MIB)], [GroupRun((0,), 1)], id="rows larger than a run"),
    ],
)
def test_runs(groups: list[tuple[int, int]], runs: list[GroupRun]) -> None:
    """Both rows and the bytes of the wanted columns count."""
    assert cut_runs(footer(*groups), range(len(groups)), {"v1"}) == tuple(runs)


def test_only_possible_groups_are_cut() -> None:
    """Row groups that were left out are in no run."""
    assert cut_runs(footer(*[(FULL, 9)] * 4), [1, 3], {"v1"}) == (GroupRun((1,)), GroupRun((3,)))


@given(st.lists(st.tuples(st.integers(0, 2 * FULL), st.integers(0, 128 * MIB))))
def test_runs_are_neither_large_nor_lost(groups: list[tuple[int, int]]) -> None:
    """Each row group is in one run, in order, and no run of small groups has twice what it may have."""
    runs = cut_runs(footer(*groups), range(len(groups)), {"v1"})
    assert [group for run in runs for group in run.groups] == list(range(len(groups)))
    for run in runs:
        if len(run.groups) > 1 and not run.batch_rows:
            *others, _ = run.groups
            assert sum(max(groups[g][0] / FULL, groups[g][1] / (64 * MIB)) for g in others) <= 1 + 1e-9
