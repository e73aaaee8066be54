"""Questions to cubes, for tests: a strategy for every query that a cube of a :class:`CubeCase` answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from kubothek.model.condition import Condition, all_of
from kubothek.testing.cubes import CubeCase, Part
from kubothek.testing.datasets import tidy
from kubothek.testing.frames import some_of
from kubothek.testing.questions import Column, draw_condition, spelled
from kubothek.testing.reference_cube import Group


@dataclass(frozen=True, slots=True)
class CubeQuestion:
    """A query: its condition as ``meant``, in plain values, and as ``asked``, with whatever spells them.

    ``options`` are the other arguments of :func:`kubothek.query_cube`.
    """

    asked: Condition
    meant: Condition
    options: Mapping[str, Any]


@st.composite
def cube_questions(draw: st.DrawFn, case: CubeCase) -> CubeQuestion:
    """Draw a query that is allowed: nothing is asked of what is projected away."""
    cube = case.cube
    seed, *others = case.parts
    chosen = [seed, *(others[number] for number in draw(some_of(range(len(others)), len(others))))]
    kept = draw(st.just(cube.dimension_columns) | st.permutations(cube.dimension_columns))
    kept = kept[: draw(st.sampled_from([len(kept), len(kept), 1]))]
    whole = [part for part in chosen if {*cube.dimension_columns} & {*part.kinds} <= {*kept}]
    payload = [name for part in whole for name in part.own(cube)]
    meant = all_of(_part(draw, case, whole, kept) for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))))
    columns = draw(some_of([*payload, *kept], len(payload)))
    options: dict[str, Any] = {
        "datasets": None if len(chosen) == len(case.parts) and draw(st.booleans()) else _ids(chosen),
        "dimension_columns": None if kept == cube.dimension_columns else tuple(kept),
        "partition_by": draw(some_of(_groupable(case, whole), 2)) if draw(st.booleans()) else (),
        "columns": None if whole == chosen and draw(st.booleans()) else columns,
    }
    return CubeQuestion(spelled(draw, meant, case.types), meant, options)


def _ids(parts: Sequence[Part]) -> tuple[str, ...]:
    return tuple(part.dataset_id for part in parts)


def _part(draw: st.DrawFn, case: CubeCase, whole: Sequence[Part], kept: Sequence[str]) -> Condition:
    """Draw a condition over what is known before a projection, over one dataset, over two, or over all."""
    cube = case.cube
    about = {
        part.dataset_id: [*part.kinds, *part.own(cube) * 2, *[n for n in part.own(cube) if n in cube.index_columns] * 2]
        for part in reversed(whole)
        if part.own(cube)
    }
    payload = [name for part in whole for name in part.own(cube)]
    match draw(st.sampled_from(["places", *["one", "one", "one", "two", "two", "all"] * bool(payload)])):
        case "places":
            return _condition(draw, case, [*cube.dimension_columns, *cube.partition_columns])
        case "one":
            return _condition(draw, case, about[draw(st.sampled_from([*about]))])
        case "two":
            first, second = (_condition(draw, case, about[draw(st.sampled_from([*about]))]) for _ in range(2))
            return first | second
    return _condition(draw, case, [*kept, *cube.partition_columns, *payload * 2])


def _condition(draw: st.DrawFn, case: CubeCase, names: Sequence[str]) -> Condition:
    """Draw a condition over some columns, of which some may be there several times."""
    rows = [row for step in case.steps for some in step.rows.values() for row in some]
    kinds = {name: kind for part in case.parts for name, kind in part.kinds.items()}
    columns = {}
    for name in names:
        present = [row[name] for row in rows if row.get(name) is not None]
        columns[name] = Column(case.types[name], kinds[name].values, present)
    return draw_condition(draw, columns, names)


def _groupable(case: CubeCase, whole: Sequence[Part]) -> list[str]:
    """Return the columns whose values are known without reading: partition columns and those with an index."""
    cube = case.cube
    dimensions = [name for name in cube.dimension_columns if name not in cube.suppress_index_on]
    own = [n for part in whole for n in part.own(cube) if n in cube.index_columns or n in part.partition_on]
    return [*dimensions, *cube.partition_columns, *own]


def expected_schema(case: CubeCase, question: CubeQuestion) -> pa.Schema:
    """Return the columns and types that the answer has to have."""
    options, cube = question.options, case.cube
    asked = [part for part in case.parts if options["datasets"] is None or part.dataset_id in options["datasets"]]
    names = {name for part in asked for name in part.kinds} if options["columns"] is None else {*options["columns"]}
    names |= {*(options["dimension_columns"] or cube.dimension_columns), *cube.partition_columns}
    return pa.schema([(name, case.types[name]) for name in sorted({*names, *options["partition_by"]})])


def tidy_groups(groups: Sequence[Group], case: CubeCase, question: CubeQuestion) -> list[tuple[str, list[str]]]:
    """Return groups as texts by which they can be compared: keys and rows in their order.

    Zeros have no sign in what names a partition, nor where cells became one by a projection.
    """
    dimensions = case.cube.dimension_columns if question.options["dimension_columns"] else ()
    zeros = case.separating | {*dimensions}

    def text(key: Sequence[Any]) -> str:
        return tidy({str(number): value for number, value in enumerate(key)}, zeros=map(str, range(len(key))))

    return [(text(key), [tidy(row, zeros=zeros) for row in rows]) for key, rows in groups]
