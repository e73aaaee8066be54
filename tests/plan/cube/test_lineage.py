"""Which units of a computed dataset are stale, by example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from kubothek.plan.cube.lineage import Source, count_units, find_stale, next_lineage

KINDS = {"p": pa.int64(), "q": pa.string()}


def labels(*rows: Sequence[Any], columns: Sequence[str] = ("p", "q")) -> pa.Table:
    """Make labels with the values of their partition columns; a source has no others."""
    found = {"label": pa.array([row[0] for row in rows], pa.string())}
    for name, kind in KINDS.items():
        where = list(columns).index(name) + 1 if name in columns else None
        found[f"partition/{name}"] = pa.array([None if where is None else row[where] for row in rows], kind)
    return pa.table(found)


def source(recorded: pa.Table, current: pa.Table, *columns: str) -> Source:
    """Make a source that is partitioned by these columns."""
    return Source(columns, recorded, current)


A, B, C, D = ("a", 1, "u"), ("b", 1, "v"), ("c", 2, "u"), ("d", 1, "v")
NOTHING = labels()
BY_P = {"columns": ("p",)}
F, G, H = ("f", 1), ("g", 2), ("h", 1)

CASES: dict[str, tuple[dict[str, Source], pa.Table, list[tuple[Any, ...]]]] = {
    "nothing at all": ({"seed": source(NOTHING, NOTHING, "p", "q")}, NOTHING, []),
    "fresh": ({"seed": source(labels(A, B), labels(B, A), "p", "q")}, labels(("z", 1, "u")), []),
    "nothing recorded": (
        {"seed": source(NOTHING, labels(A, B), "p", "q")},
        NOTHING,
        [(1, "u", "missing"), (1, "v", "missing")],
    ),
    "replaced": ({"seed": source(labels(A, B), labels(A, D), "p", "q")}, NOTHING, [(1, "v", "changed")]),
    "a file more": ({"seed": source(labels(A, B), labels(A, B, D), "p", "q")}, NOTHING, [(1, "v", "changed")]),
    "a file less": ({"seed": source(labels(A, B, D), labels(A, B), "p", "q")}, NOTHING, [(1, "v", "changed")]),
    "vanished": ({"seed": source(labels(A, C), labels(A), "p", "q")}, NOTHING, [(2, "u", "vanished")]),
    "never there": ({"seed": source(labels(A), labels(A), "p", "q")}, labels(C), [(2, "u", "vanished")]),
    "a coarser one changed": (
        {
            "seed": source(labels(A, B, C), labels(A, B, C), "p", "q"),
            "f": source(labels(F, G, **BY_P), labels(G, H, **BY_P), "p"),
        },
        NOTHING,
        [(1, "u", "changed"), (1, "v", "changed")],
    ),
    "one of another partitioning": (
        {"seed": source(labels(A, C), labels(A, C), "p", "q"), "f": source(labels(F, **BY_P), NOTHING)},
        NOTHING,
        [(1, "u", "changed"), (2, "u", "changed")],
    ),
    "what agrees with nothing": (
        {"seed": source(labels(A), labels(A), "p", "q"), "f": source(NOTHING, labels(("g", 9), **BY_P), "p")},
        NOTHING,
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_stale(case: str) -> None:
    """By the labels that came or went, in the columns that a source shares with the units."""
    sources, own, expected = CASES[case]
    found = find_stale(("p", "q"), "seed", sources, own)
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == expected


@pytest.mark.parametrize("case", CASES)
def test_what_is_recorded_makes_it_fresh(case: str) -> None:
    """Once the stale units are computed and what vanished is removed."""
    sources, own, _ = CASES[case]
    recorded = next_lineage(find_stale(("p", "q"), "seed", sources, own), sources)
    now = {name: Source(one.columns, _of(recorded[name], one), one.current) for name, one in sources.items()}
    assert find_stale(("p", "q"), "seed", now, NOTHING).num_rows == 0


def _of(recorded: pa.Array, one: Source) -> pa.Table:
    """Return the rows of recorded labels."""
    known = {row["label"]: row for row in [*one.recorded.to_pylist(), *one.current.to_pylist()]}
    rows = [known[label] for label in recorded.to_pylist()]
    return pa.Table.from_pylist(rows, schema=one.current.schema)


def test_a_dataset_that_shares_no_columns_is_one_unit() -> None:
    """It is there as long as the seed has files."""
    none = source(labels(A, B), labels(A, D))
    assert find_stale((), "seed", {"seed": none}, NOTHING).to_pylist()[0]["reason"] == "changed"
    assert find_stale((), "seed", {"seed": source(NOTHING, NOTHING)}, NOTHING).num_rows == 0
    gone = find_stale((), "seed", {"seed": source(labels(A), NOTHING)}, labels(A, B))
    assert gone.to_pylist()[0]["reason"] == "vanished"
    assert (gone.num_rows, count_units((), [labels(A, B)]), count_units((), [NOTHING])) == (1, 1, 0)


def test_only_what_was_computed_is_recorded_anew() -> None:
    """The labels of all others stay as they were recorded."""
    sources = {"seed": source(labels(A, B, C), labels(A, D), "p", "q")}
    stale = find_stale(("p", "q"), "seed", sources, NOTHING)
    assert next_lineage(stale.slice(0, 1), sources)["seed"].to_pylist() == ["a", "c", "d"]
    assert next_lineage(stale, sources)["seed"].to_pylist() == ["a", "d"]
