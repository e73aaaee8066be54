"""A strategy for cubes of any shape: their columns, rows and writes.

Steps: draw the dimension and partition columns with a few values each; draw a few places, combinations of these values,
so that datasets meet in them and cells are written again; draw the seed and the enrichments; draw the writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from kubothek import Cube
from kubothek.testing.cubes import CubeCase, CubeStep, Do, Part
from kubothek.testing.datasets import NAMES, PLAIN_NAMES
from kubothek.testing.frames import draw_frames, in_turn, some_of
from kubothek.testing.kinds import Kind, flat_kinds, nested_kinds, partition_kinds
from kubothek.testing.questions import Column, draw_condition, spelled
from kubothek.testing.reference_cube import Row, distinct_cells

ODD_NAMES = (*NAMES[len(PLAIN_NAMES) :], "file", "write", "overlay", "bytes", "on", "last")
"""Column names that paths, queries and the library itself are sensitive to."""


@cache
def _payload_kinds(flat: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    return st.one_of(flat, flat, nested_kinds())


@st.composite
def cube_cases(
    draw: st.DrawFn,
    *,
    flat: st.SearchStrategy[Kind] | None = None,
    keys: st.SearchStrategy[Kind] | None = None,
    nested: bool = True,
    odd_names: bool = True,
    most_rows: int = 8,
    most_steps: int = 2,
) -> CubeCase:
    """Draw a cube.

    Parameters
    ----------
    draw
        Given by hypothesis.
    flat, keys
        Types of its columns, and of those that name partitions.
    nested
        Whether payload may be lists and structs.
    odd_names
        Whether columns may have names that something may be sensitive to.
    most_rows, most_steps
        Rows per dataset and write, and writes after the cube is built.
    """
    flat = flat_kinds() if flat is None else flat
    keys = partition_kinds() if keys is None else keys
    chosen = _Chosen(draw, _payload_kinds(flat) if nested else flat, flat, keys, odd_names)
    parts = chosen.parts()
    cube = chosen.cube(parts)
    own = [name for part in parts for name in part.own(cube) if name in chosen.flat_names]
    cube = cube.copy(index_columns=draw(some_of(own, 3)))
    late = draw(st.sampled_from(range(1, len(parts) + 1)))
    steps = [_step(draw, "build", parts[:late], cube, chosen, most_rows)]
    if late < len(parts):
        steps.append(_step(draw, "extend", parts[late:], cube, chosen, most_rows))
    for _ in range(draw(st.sampled_from([most_steps, 0, 1, most_steps]))):
        do: Do = draw(st.sampled_from(["append"] * 4 + ["update", "remove", "rewrite"]))
        numbers = range(do == "rewrite", len(parts))
        if do == "remove":
            steps.append(_removal(draw, [parts[number] for number in draw(some_of(numbers, 3))], cube, chosen))
        elif numbers:
            some = draw(st.lists(st.sampled_from(numbers), unique=True, min_size=1, max_size=3))
            steps.append(_step(draw, do, [parts[number] for number in some], cube, chosen, most_rows))
    return CubeCase(cube, tuple(parts), tuple(steps))


class _Chosen:
    """What is drawn for a whole cube: its columns, their types and values, and places that datasets share."""

    def __init__(
        self,
        draw: st.DrawFn,
        kinds: st.SearchStrategy[Kind],
        flat: st.SearchStrategy[Kind],
        keys: st.SearchStrategy[Kind],
        odd_names: bool,
    ) -> None:
        self._draw, self._kinds, self._flat, self._keys = draw, kinds, flat, keys
        self._odd: Iterator[str] = iter(())
        if odd_names and draw(st.integers(0, 3)) == 3:
            start = draw(st.integers(0, len(ODD_NAMES) - 1))
            self._odd = iter(ODD_NAMES[start:] + ODD_NAMES[:start])
        self.kinds: dict[str, Kind] = {}
        self.values: dict[str, list[Any]] = {}
        self.flat_names: set[str] = set()
        self.apart: set[str] = set()
        self.dimensions = tuple(self._dimension(name) for name in "xyz"[: draw(st.integers(1, 3))])
        self.partitions = tuple(self._separating(name) for name in "pqr"[: draw(st.sampled_from([1, 1, 2, 3]))])
        self.places = [self._place(number) for number in range(draw(st.sampled_from([5, 9, 2, 5, 9, 1])))]

    def _place(self, number: int) -> Row:
        place = {}
        for name in (*self.dimensions, *self.partitions):
            place[name] = in_turn(self._draw, self.values[name], number)
            number //= len(self.values[name])
        return place

    def _column(self, name: str, kind: Kind, *, optional: bool) -> str:
        name = next(self._odd, name)
        self.kinds[name] = kind
        values = self._draw(st.lists(kind.values, min_size=2, max_size=4, unique_by=repr))
        self.values[name] = [*values, None] if optional else values
        if kind.flat:
            self.flat_names.add(name)
        return name

    def _dimension(self, name: str) -> str:
        """Choose a dimension; its type may or may not be one that a partition column can have."""
        if self._draw(st.booleans()):
            return self._separating(name)
        kind = self._draw(self._flat)
        numbers = kind.values.filter(lambda value: value == value) if pa.types.is_floating(kind.record) else kind.values
        return self._column(name, replace(kind, values=numbers), optional=False)

    def _separating(self, name: str) -> str:
        name = self._column(name, self._draw(self._keys), optional=False)
        self.apart.add(name)
        return name

    def parts(self) -> list[Part]:
        """Choose the seed and up to five enrichments."""
        ids = self._draw(st.permutations(["a", "e-1", "f", "g_", "zz"]))
        count = self._draw(st.sampled_from([2, 0, 1, 1, 2, 3, 5]))
        seed = self._draw(st.sampled_from(["seed", "source", "0"]))
        parts = [self._part(seed, self.dimensions, self.partitions)]
        return [*parts, *(self._enrichment(dataset_id) for dataset_id in ids[:count])]

    def _part(self, dataset_id: str, dimensions: Sequence[str], partition_on: Sequence[str]) -> Part:
        count = self._draw(st.sampled_from([1, 1, 2, 0, 3]))
        names = [f"v{len(self.kinds) + number}" for number in range(count)]
        payload = [self._column(name, self._draw(self._kinds), optional=True) for name in names]
        columns = dict.fromkeys([*dimensions, *partition_on, *payload])
        return Part(dataset_id, {name: self.kinds[name] for name in columns}, tuple(partition_on))

    def _enrichment(self, dataset_id: str) -> Part:
        """Choose dimensions and layout: as the seed, coarser, unpartitioned, by a dimension, by a column of its own."""
        own = self._draw(st.lists(st.sampled_from(self.dimensions), unique=True, min_size=1))
        some = self._draw(st.lists(st.sampled_from(self.partitions), unique=True))
        on = self._draw(st.sampled_from([self.partitions, self.partitions, some, some, ()]))
        more = [name for name in own if name in self.apart][: self._draw(st.sampled_from([0, 0, 0, 1]))]
        if self._draw(st.integers(0, 4)) == 4:
            more.append(self._separating(f"r{len(self.kinds)}"))
        part = self._part(dataset_id, own, self._draw(st.permutations([*on, *more])) if more else on)
        if {*part.kinds} - {*part.partition_on}:
            return part
        return Part(dataset_id, part.kinds, tuple(name for name in part.partition_on if name not in own))

    def cube(self, parts: Sequence[Part]) -> Cube:
        """Choose the specification, without index columns."""
        suppressed = self._draw(st.sampled_from([(), (), self.dimensions[:1], self.dimensions]))
        return Cube("c", self.dimensions, self.partitions, parts[0].dataset_id, (), suppressed)


def _step(draw: st.DrawFn, do: Do, parts: Sequence[Part], cube: Cube, chosen: _Chosen, most_rows: int) -> CubeStep:
    """Draw one write of these datasets."""
    rows, frames = {}, {}
    for part in parts:
        typed = {*cube.dimension_columns, *part.partition_on, *cube.index_columns}
        count = draw(st.sampled_from([most_rows, most_rows // 2, most_rows, 1]))
        some = [_row(draw, part, chosen, number) for number in range(count)]
        rows[part.dataset_id] = tuple(distinct_cells(cube, some))
        frames[part.dataset_id] = draw_frames(draw, rows[part.dataset_id], part.kinds, typed, most_cuts=2)
    step = CubeStep(do, rows, frames, _options(draw, cube))
    if do == "update" and draw(st.booleans()):
        removal = _removal(draw, parts, cube, chosen)
        step = replace(step, removed=removal.removed, asked=removal.asked)
    return step


def _removal(draw: st.DrawFn, parts: Sequence[Part], cube: Cube, chosen: _Chosen) -> CubeStep:
    """Draw a removal of partitions from these datasets, or from all if there are none."""
    types = {name: chosen.kinds[name].record for name in cube.partition_columns}
    columns = {
        name: Column(types[name], chosen.kinds[name].values, [place[name] for place in chosen.places])
        for name in cube.partition_columns
    }
    removed = draw_condition(draw, columns, cube.partition_columns)
    ids = tuple(part.dataset_id for part in parts) or None
    return CubeStep("remove", removed=removed, asked=spelled(draw, removed, types), datasets=ids)


def _row(draw: st.DrawFn, part: Part, chosen: _Chosen, number: int) -> Row:
    """Draw a row at one of the places, or near it."""
    place = in_turn(draw, chosen.places, number)
    if draw(st.integers(0, 5)) == 5:
        name = draw(st.sampled_from(sorted(place)))
        place = {**place, name: draw(st.sampled_from(chosen.values[name]))}
    own = {name: in_turn(draw, chosen.values[name], number) for name in part.kinds if name not in place}
    return {name: place[name] if name in place else own[name] for name in part.kinds}


def _options(draw: st.DrawFn, cube: Cube) -> dict[str, Any]:
    """Draw how the files of a write are laid out."""
    how = draw(st.sampled_from(["one file each", "buckets", "as the frames are"]))
    if how == "as the frames are":
        return {"shuffle": False}
    if how == "buckets":
        return {"num_buckets": 2, "bucket_by": draw(some_of(cube.dimension_columns, 2))}
    return {}
