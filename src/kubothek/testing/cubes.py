"""Cubes for tests, as plain values: what a cube is made of, and the steps in which it is written.

``kubothek.testing.cube_cases`` draws such cubes, ``kubothek.testing.cube_questions`` what is asked of them::

    @given(cube_cases(), st.data())
    def test_of_mine(case, data):
        write_cube(case, "memory://some-name")  # or: for step in case.steps: ...
        question = data.draw(cube_questions(case))
        expected = case.reference().query(where=question.meant, **question.options)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from kubothek import Cube, append_to_cube, build_cube, extend_cube, remove_partitions, update_cube
from kubothek.model.condition import Condition
from kubothek.store.open import StoreLike
from kubothek.testing.kinds import Kind
from kubothek.testing.reference_cube import ReferenceCube, Row

Do = Literal["build", "extend", "rewrite", "append", "update", "remove"]


@dataclass(frozen=True, slots=True)
class Part:
    """One dataset of a cube: its columns with their types, and those by which its files are separated."""

    dataset_id: str
    kinds: Mapping[str, Kind]
    partition_on: tuple[str, ...]

    def own(self, cube: Cube) -> tuple[str, ...]:
        """Return its columns that are neither dimension nor partition columns of the cube."""
        return tuple(name for name in self.kinds if name not in (*cube.dimension_columns, *cube.partition_columns))


@dataclass(frozen=True, slots=True)
class CubeStep:
    """One write: the rows of its datasets, as plain values and as frames, and how the files are laid out.

    ``removed`` says which partitions go: those of the datasets with rows before these come (``None`` where an update
    replaces exactly their partitions), or those of ``datasets`` where nothing comes. ``asked`` spells it.
    """

    do: Do
    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    frames: Mapping[str, tuple[pa.Table, ...]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    removed: Condition | None = None
    asked: Condition | None = None
    datasets: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CubeCase:
    """A cube: its specification, its datasets, the seed first, and the steps in which they are written.

    The first step builds the cube.
    """

    cube: Cube
    parts: tuple[Part, ...]
    steps: tuple[CubeStep, ...]

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of record of each column; null where no frame has a type for it."""
        given: dict[str, list[pa.Table]] = {}
        for step in self.steps:
            for dataset_id, frames in step.frames.items():
                given[dataset_id] = [*([] if step.do == "rewrite" else given.get(dataset_id, [])), *frames]
        found: dict[str, pa.DataType] = {}
        for part in self.parts:
            for name, kind in part.kinds.items():
                typed = any(frame.schema.field(name).type != pa.null() for frame in given[part.dataset_id])
                found[name] = kind.record if typed else found.get(name, pa.null())
        return found

    @property
    def separating(self) -> frozenset[str]:
        """Columns that name a partition somewhere, so that zeros in them have no sign."""
        return frozenset(name for part in self.parts for name in part.partition_on)

    def reference(self) -> ReferenceCube:
        """Return the cube as it is after all steps."""
        found = ReferenceCube(self.cube)
        parts = {part.dataset_id: part for part in self.parts}
        for step in self.steps:
            if step.removed is not None:
                found.remove(step.removed, step.datasets if step.do == "remove" else step.rows)
            for dataset_id, rows in step.rows.items():
                part = parts[dataset_id]
                if step.do == "rewrite":
                    del found.datasets[dataset_id]
                if step.do == "update" and step.removed is None:
                    found.replace(dataset_id, rows)
                else:
                    found.write(dataset_id, tuple(part.kinds), rows, part.partition_on)
        return found


Give = Callable[[Part, CubeStep], Any]
"""What makes, of one dataset in one step, the data that is given to be written."""


def _frames(part: Part, step: CubeStep) -> Any:
    return step.frames[part.dataset_id]


def write_cube(case: CubeCase, store: StoreLike, give: Give = _frames) -> None:
    """Write a cube in its steps."""
    for step in case.steps:
        write_step(case, step, store, give)


def write_step(case: CubeCase, step: CubeStep, store: StoreLike, give: Give = _frames) -> None:
    """Do one step of a case."""
    data = {part.dataset_id: give(part, step) for part in case.parts if part.dataset_id in step.rows}
    layout = {part.dataset_id: part.partition_on for part in case.parts if part.dataset_id in data}
    match step.do:
        case "build":
            build_cube(data, case.cube, store, partition_on=layout, **step.options)
        case "extend" | "rewrite":
            over = step.do == "rewrite"
            extend_cube(data, case.cube, store, partition_on=layout, overwrite=over, **step.options)
        case "append":
            append_to_cube(data, case.cube, store, **step.options)
        case "update":
            update_cube(data, case.cube, store, remove=step.asked, **step.options)
        case "remove":
            remove_partitions(case.cube, store, step.asked, datasets=step.datasets)
