"""The map of partitions by datasets: a lane for each dataset, a column for each partition or for some neighbours.

A column is divided by how many of its partitions are in which state, and what is little is still seen. States differ
in pattern, not only in colour. Below are the legend and the partitions that need work most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kubothek.display.drawing import (
    Tick,
    axis,
    bar,
    details,
    lane,
    lanes,
    paragraph,
    section,
    sentence,
    spread_ticks,
    strip,
    table,
)
from kubothek.display.words import MEANINGS, STATES, short_name, states_text, unit_name
from kubothek.model.display import plural
from kubothek.model.markup import Markup, element, joined
from kubothek.plan.cube.coverage import Bin, Coverage, State, bin_edges, bin_states
from kubothek.plan.cube.picture import CubePicture

COLUMNS = 120
"""Columns of the map at most: each is some pixels wide on any screen."""
_LEAST = 0.3
"""Part of a column's height that a state has at least, so that one partition among hundreds is seen."""
_APART = 50
"""Columns up to which there is room for gaps between them; others overlap a little, as pixels are whole."""
_OVERLAP = 0.12
_WORST = 15
_NEEDS_WORK = (State.STALE, State.MISSING, State.EXTRA)


def coverage_section(picture: CubePicture) -> Markup:
    """Draw which dataset covers which partitions."""
    coverage, roles = picture.coverage, {dataset.dataset_id: dataset.role for dataset in picture.datasets}
    units = coverage.units.num_rows
    rows = [_lane(coverage, number, roles[name]) for number, name in enumerate(coverage.datasets)]
    bins = len(bin_edges(units, COLUMNS)) - 1
    scale = "a column is a partition" if bins == units else f"a column is about {round(units / max(bins, 1)):,} of them"
    intro = f"{plural(units, 'partition')} by {', '.join(picture.cube.partition_columns)}, sorted; {scale}."
    return section(
        "coverage",
        "Coverage",
        paragraph(intro, class_="lead"),
        _legend(),
        lanes(*rows, axis(list(_ticks(coverage)))),
        element("output", "Point at a column, or move along a lane with the arrow keys.", class_="readout"),
        _worst(coverage),
        _counts(coverage),
    )


def _lane(coverage: Coverage, number: int, role: str) -> Markup:
    counts = coverage.count(number)
    bins = bin_states(coverage.states[number], COLUMNS)
    name = coverage.datasets[number]
    summary = f"{name}: {states_text(counts) or 'no partition'}"
    is_dense = len(bins) > _APART
    width = (1 + _OVERLAP * is_dense) / max(len(bins), 1)
    marks = (_column(coverage, one, place / len(bins), width) for place, one in enumerate(bins))
    note = states_text(counts, everything=False) or ("complete" if bins else "empty")
    kind = "" if role in ("enrichment", name) else role
    words = joined([name, " ", element("span", kind, class_="role") if kind else None])
    return lane(words, note, strip(summary, marks, "map dense" if is_dense else "map"))


def _column(coverage: Coverage, one: Bin, start: float, width: float) -> Markup:
    """Return the partitions of a bin, one state on top of the other, under one title."""
    shares = _heights([one.counts[state] for state in STATES])
    top, marks = 1.0, []
    for state, height in zip(STATES, shares, strict=True):
        if height:
            top -= height
            marks.append(bar(start, width, max(top, 0.0), height, f"state-{state.name.lower()}"))
    return element("g", element("title", _bin_title(coverage, one)), *marks)


def _heights(counts: Sequence[int]) -> list[float]:
    """Return how high each state is drawn: by its share, but enough to be seen, of a column that is full."""
    total = sum(counts)
    if not total:
        return [0.0] * len(counts)
    shares = [max(count / total, _LEAST) if count else 0.0 for count in counts]
    return [share / sum(shares) for share in shares]


def _bin_title(coverage: Coverage, one: Bin) -> str:
    counts = dict(zip(State, one.counts, strict=True))
    told = states_text(counts) or "nothing"
    first = unit_name(coverage, one.start)
    if one.stop - one.start == 1:
        return f"{first}: {told.removeprefix('1 ')}"
    last = unit_name(coverage, one.stop - 1)
    return f"{first} to {last}, {plural(one.stop - one.start, 'partition')}: {told}"


def _ticks(coverage: Coverage) -> Iterator[Tick]:
    """Return names along the map: of the first column's values where others follow, else of partitions."""
    units = coverage.units.num_rows
    first = coverage.units.column(0).combine_chunks().dictionary_encode("encode")
    codes = first.indices.to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    if coverage.units.num_columns > 1 and len(starts) > 1:
        names = [str(first[int(start)].as_py()) for start in starts]
    else:
        starts = np.array(bin_edges(units, COLUMNS)[:-1], np.int64)
        names = [short_name(coverage, int(start)) for start in starts]
    # Columns are bins, so a partition stands where its bin begins.
    edges = np.array(bin_edges(units, COLUMNS))
    columns = np.searchsorted(edges, starts, "right") - 1
    yield from spread_ticks((columns / max(len(edges) - 1, 1)).tolist(), names)


def _legend() -> Markup:
    entries = (
        element(
            "li",
            element("svg", bar(0, 1, 0, 1, f"state-{state.name.lower()}"), class_="key", aria_hidden="true"),
            element("span", element("b", name), f": {MEANINGS[state]}"),
        )
        for state, name in STATES.items()
    )
    return element("ul", *entries, class_="legend")


def _worst(coverage: Coverage) -> Markup:
    """Return the partitions in which most datasets are stale, missing or without a seed."""
    needs = np.isin(coverage.states, [int(state) for state in _NEEDS_WORK]).sum(axis=0)
    order = np.argsort(-needs, kind="stable")[:_WORST]
    chosen = [int(unit) for unit in order if needs[unit]]
    if not chosen:
        if not coverage.units.num_rows:
            return paragraph("No dataset has a partition.", class_="note")
        return paragraph("Every dataset covers every partition of the seed.", class_="good")
    total = int((needs > 0).sum())
    caption = f"The {len(chosen):,} partitions in which most is to be done" if total > len(chosen) else "To be done"
    rows = ([unit_name(coverage, unit), *_datasets_by_state(coverage, unit)] for unit in chosen)
    shown = table(caption, ["partition", *(STATES[state] for state in _NEEDS_WORK)], rows)
    more = total - len(chosen)
    return joined([shown, paragraph(f"and {plural(more, 'other partition')}", class_="note") if more else None])


def _datasets_by_state(coverage: Coverage, unit: int) -> list[str]:
    found = coverage.states[:, unit]
    return [sentence(coverage.datasets[place] for place in np.flatnonzero(found == state)) for state in _NEEDS_WORK]


def _counts(coverage: Coverage) -> Markup:
    """Return the map in numbers."""
    counts = [coverage.count(number) for number in range(len(coverage.datasets))]
    rows = (
        [name, *(f"{found[state]:,}" for state in STATES)]
        for name, found in zip(coverage.datasets, counts, strict=True)
    )
    numbers = range(1, len(STATES) + 1)
    return details("The map in numbers", table("Partitions by state", ["dataset", *STATES.values()], rows, numbers))
