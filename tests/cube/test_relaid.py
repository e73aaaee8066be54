"""The same rows, partitioned otherwise, give the same answers.

Layouts differ in the partition columns of the cube, all of which follow from the first dimension, and in those of the
enrichments. What does depend on them is not asked, or not compared:

* partition columns are always in the output: all are asked for, or, where dimensions are projected away, none is seen;
* projected cells occur once per physical partition: projections keep the first dimension, which fixes the partition;
* a part of a condition over columns of an enrichment and of the seed restricts the enrichment only if the latter are
  partition columns of the cube: there is no such part;
* what is removed are whole partitions: nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cube.test_properties import EXAMPLES, new_url

import kubothek as kb
from kubothek.model.condition import Condition, all_of, conjuncts
from kubothek.testing.cube_cases import cube_cases
from kubothek.testing.cube_questions import cube_questions, expected_schema
from kubothek.testing.cubes import CubeCase, CubeStep, Part, write_cube
from kubothek.testing.datasets import tidy
from kubothek.testing.frames import some_of
from kubothek.testing.reference_cube import Row, distinct_cells

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Movable:
    """A cube to lay out, and where each value of its first dimension lies."""

    case: CubeCase
    places: Mapping[Any, Row]

    def laid_out(self, draw: st.DrawFn) -> CubeCase:
        """Choose partition columns of the cube and of each dataset, and lay the rows out by them."""
        cube, (seed, *others) = self.case.cube, self.case.parts
        keys = draw(st.lists(st.sampled_from(cube.partition_columns), unique=True, min_size=1))
        parts = [replace(seed, partition_on=tuple(keys)), *(self._enrichment(draw, part, keys) for part in others)]
        own = [name for part in others for name in part.own(cube) if name in part.partition_on]
        indexed = {*cube.partition_columns, *own, *cube.index_columns} - {*keys}
        laid = cube.copy(partition_columns=keys, index_columns=sorted(indexed))
        steps = [self._step(laid, step, parts) for step in self.case.steps if step.rows]
        return CubeCase(laid, tuple(parts), tuple(steps))

    def _enrichment(self, draw: st.DrawFn, part: Part, keys: Sequence[str]) -> Part:
        """Partition by columns of the cube, where the first dimension is there, and by others that it was by."""
        cube = self.case.cube
        may = [name for name in part.partition_on if name not in cube.partition_columns]
        fixed = keys if cube.dimension_columns[0] in part.kinds else ()
        on = [*draw(some_of(fixed, len(fixed))), *draw(some_of(may, len(may)))]
        kinds = {name: kind for name, kind in part.kinds.items() if name not in cube.partition_columns}
        kinds |= {name: self.case.parts[0].kinds[name] for name in on if name not in kinds}
        if not {*kinds} - {*on}:
            on = [name for name in on if name not in cube.dimension_columns]
        return Part(part.dataset_id, kinds, tuple(on))

    def _step(self, cube: kb.Cube, step: CubeStep, parts: Sequence[Part]) -> CubeStep:
        """Put the rows where their first dimension says, if they have it."""
        by = cube.dimension_columns[0]
        rows: dict[str, tuple[Row, ...]] = {}
        frames = {}
        for part in parts:
            if part.dataset_id in step.rows:
                moved = [{**row, **self.places.get(row.get(by), {})} for row in step.rows[part.dataset_id]]
                cells = distinct_cells(cube, [{name: row[name] for name in part.kinds} for row in moved])
                columns = {name: kind.array([row[name] for row in cells]) for name, kind in part.kinds.items()}
                rows[part.dataset_id], frames[part.dataset_id] = tuple(cells), (pa.table(columns),)
        return CubeStep("append" if step.do == "update" else step.do, rows, frames, step.options)

    def question(self, draw: st.DrawFn) -> Arguments:
        """Draw a question to all layouts."""
        cube, question = self.case.cube, draw(cube_questions(self.case))
        kept = question.options["dimension_columns"] or cube.dimension_columns
        keys = {*cube.partition_columns}
        enriched = {name for part in self.case.parts[1:] for name in part.own(cube)}
        columns = {*expected_schema(self.case, question).names}
        whole = {*kept} == {*cube.dimension_columns}

        def fits(part: Condition) -> bool:
            return not part.columns & keys or (whole and not part.columns & enriched)

        return {
            **question.options,
            "where": all_of(filter(fits, conjuncts(question.asked))),
            "dimension_columns": tuple(dict.fromkeys([*kept, *(() if whole else cube.dimension_columns[:1])])),
            "partition_by": tuple(name for name in question.options["partition_by"] if whole or name not in keys),
            "columns": sorted(columns | keys if whole else columns - keys),
        }


@st.composite
def movable_cubes(draw: st.DrawFn) -> Movable:
    """Draw a cube and choose where each value of its first dimension lies: where it does in some row."""
    case = draw(cube_cases(odd_names=False))
    by, keys = case.cube.dimension_columns[0], case.cube.partition_columns
    rows = [row for step in case.steps for some in step.rows.values() for row in some if by in row]
    found = {row[by]: {name: row[name] for name in keys} for row in rows if {*keys} <= {*row}}
    return Movable(case, {row[by]: found.get(row[by], next(iter(found.values()))) for row in rows})


def answer(case: CubeCase, url: str, question: Arguments) -> list[tuple[str, list[str]]]:
    """Ask a cube; groups as texts, of what was asked for, in which zeros have no sign."""
    query = kb.query_cube(case.cube, url, **question)
    names = [name for name in query.schema.names if name in question["columns"]]
    return [
        (tidy(dict(zip("12", key, strict=False)), zeros="12"), [tidy(row, zeros=names) for row in rows])
        for key, rows in [(key, table.select(names).to_pylist()) for key, table in query.groups()]
    ]


@settings(max_examples=EXAMPLES // 2)
@given(movable_cubes(), st.data())
def test_partition_columns_do_not_change_answers(cube: Movable, data: st.DataObject) -> None:
    """Groups, rows and their order are the same, whatever keeps files apart."""
    one, other = cube.laid_out(data.draw), cube.laid_out(data.draw)
    urls = new_url(), new_url()
    write_cube(one, urls[0])
    write_cube(other, urls[1])
    for _ in range(3):
        question = cube.question(data.draw)
        assert answer(one, urls[0], question) == answer(other, urls[1], question), question
