"""Plans answer as a reader of all rows would: nothing that is needed is left out, and nothing is counted twice.

Random cubes of a seed and an enrichment, with appended files and several layouts, are answered twice: from all rows at
once, without files, indices or units; and by doing what the plan says. Both are written in plain Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st

from kubothek.model.condition import C, Condition, all_of, conjuncts
from kubothek.model.cube import Cube
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.cube.members import Member, member_files_schema
from kubothek.plan.cube.query import plan_cube
from kubothek.plan.cube.resolve import ResolvedQuery, resolve
from kubothek.testing.conditions import matches

Row = dict[str, Any]
CUBE = Cube("cube", ("x", "y"), ("p",), index_columns=("i1", "i2"))
ENRICHED = {"v2", "i2"}


@dataclass(frozen=True)
class Stored:
    """A dataset as a list of files; each row has its partition's values too."""

    dataset_id: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    indexed: tuple[str, ...]
    files: tuple[tuple[Row, ...], ...]

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(d for d in CUBE.dimension_columns if d in self.columns)

    def member(self) -> Member:
        schema = pa.schema([(name, pa.int64()) for name in self.columns])
        names = pa.array([str(number) for number in range(len(self.files))], pa.string())
        empty = pa.nulls(len(names), pa.int64())
        keys = [pa.array([rows[0][key] for rows in self.files], pa.int64()) for key in self.keys]
        columns = [names, names, empty, empty, pa.array(["w"] * len(names), pa.string()), *keys]
        files = pa.table(columns, schema=member_files_schema(pa.schema([(key, pa.int64()) for key in self.keys])))
        # The write was unique if no cell occurs twice in a partition of the cube.
        cells = [tuple(row[c] for c in "pxy" if c in self.columns) for rows in self.files for row in rows]
        unique = ("w",) if len(set(cells)) == len(cells) else ()
        return Member(self.dataset_id, self.dataset_id, schema, self.keys, self.indexed, files, unique_writes=unique)

    def holders(self, condition: Condition) -> list[str]:
        """Names of the files with a matching row."""
        return [str(n) for n, rows in enumerate(self.files) if any(matches(condition, row) for row in rows)]

    def postings(self, column: str) -> pa.Table:
        values = sorted({row[column] for rows in self.files for row in rows} - {None})
        lists = [self.holders(C(column) == value) for value in values]
        return pa.table({column: pa.array(values, pa.int64()), "partition": pa.array(lists, pa.list_(pa.string()))})


def last_of_each(rows: Iterable[Row], on: Sequence[str]) -> list[Row]:
    """Keep the last row of each cell."""
    return list({tuple(row[name] for name in on): row for row in rows}.values())


def join(left: list[Row], right: list[Row], on: Sequence[str], how: str) -> list[Row]:
    """Join the enrichment's payload to the rows of the seed."""
    found = {tuple(row[name] for name in on): {c: row[c] for c in ENRICHED} for row in right}
    pairs = [(row, found.get(tuple(row[name] for name in on))) for row in left]
    return [{**row, **(other or dict.fromkeys(ENRICHED))} for row, other in pairs if other or how == "left"]


def answer(seed: Stored, e: Stored, where: Condition, by: tuple[str, ...]) -> Counter[Any]:
    """Answer from all rows: the last version of each cell, then the join, then the condition."""
    restricted = any(part.columns & ENRICHED and "v1" not in part.columns for part in conjuncts(where))
    how = "inner" if restricted or ENRICHED & {*by} else "left"
    rows: list[Row] = []
    everything = [row for file in seed.files for row in file]
    for p in {row["p"] for row in everything}:
        cells = last_of_each([row for row in everything if row["p"] == p], seed.cells)
        near = [row for file in e.files for row in file if "p" not in e.keys or row["p"] == p]
        rows += join(cells, last_of_each(near, e.cells), e.cells, how)
    kept = [row for row in rows if matches(where, row) and all(row[name] is not None for name in by)]
    return Counter((tuple(row[name] for name in by), *sorted(row.items())) for row in kept)


def carried_out(plan: ReadPlan, query: ResolvedQuery, seed: Stored, e: Stored) -> Counter[Any]:
    """Do what the plan says, unit by unit."""
    found: Counter[Any] = Counter()
    for values in plan.units.to_pylist():
        unit = {name.removeprefix("partition/"): value for name, value in values.items()}
        inputs = [read_input(plan, number, unit, {"seed": seed, "e": e}) for number in range(len(plan.inputs))]
        rows = inputs[0]
        for step in plan.joins:
            rows = join(rows, inputs[step.input], step.on, step.how)
        by = tuple(unit[name] for name in query.partition_by)
        found.update((by, *sorted(row.items())) for row in rows if matches(plan.after, row))
    return found


def read_input(plan: ReadPlan, number: int, unit: Row, stored: Mapping[str, Stored]) -> list[Row]:
    """Read what one dataset gives to a unit: early conditions, then the last version of each cell, then the rest."""
    source = plan.inputs[number]
    files = [file for file in plan.files[number].to_pylist() if file["unit"] == unit["unit"]]
    pins = {column: unit[column] for where, column in plan.pinned if where == number}
    rows = [row for file in files for row in stored[source.name].files[int(file["label"])]]
    rows = [row for row in rows if all(row[c] == v for c, v in pins.items() if c in source.dimensions)]
    rows = [row for row in rows if matches(source.early, row)]
    if any(file["overlay"] for file in files):
        rows = last_of_each(rows, source.dimensions)
    assert len(rows) == len(last_of_each(rows, source.dimensions)), "files that were called disjoint share a cell"
    return [row for row in rows if matches(source.late, row) and all(row[c] == v for c, v in pins.items())]


few = st.integers(0, 1)
maybe = st.none() | st.integers(0, 2)
PARTS: list[Condition] = [
    *(C("x") == 1, C("x").isin([0, 2]), C("y") > 0, C("p") == 1, (C("x") == 1) | (C("p") == 0)),
    *(C("v1") > 0, C("i1") == 1, C("i1").is_null(), ~(C("i1") == 1), (C("i1") == 1) & (C("v1") > 0) | (C("p") == 1)),
    *(C("v2") > 0, C("i2") == 1, C("i2").is_null(), (C("i2") == 1) | (C("x") == 0), (C("v2") > 0) | (C("y") == 1)),
    *((C("v1") > 0) | (C("v2") > 0), (C("i1") == 1) | (C("i2") == 1) & (C("v1") > 0)),
]


@st.composite
def datasets(draw: st.DrawFn, dataset_id: str, dims: str, payload: tuple[str, str], keys: tuple[str, ...]) -> Stored:
    """Build a dataset of a few files, in which cells are likely to occur again."""
    columns = tuple(dict.fromkeys((*keys, *dims, *payload)))
    cell = st.fixed_dictionaries({**dict.fromkeys(dims, few), **dict.fromkeys(payload, maybe)})
    places = draw(st.lists(st.fixed_dictionaries(dict.fromkeys(keys, few)), min_size=2, max_size=5))
    cells = [draw(st.lists(cell, min_size=1, max_size=4)) for _ in places]
    files = [last_of_each([{**row, **place} for row in rows], dims) for place, rows in zip(places, cells, strict=True)]
    indexed = tuple(c for c in (*(dims if dataset_id == "seed" else ""), payload[1]) if c not in keys)
    return Stored(dataset_id, columns, keys, indexed, tuple(map(tuple, files)))


@settings(max_examples=120)
@given(
    seed=datasets("seed", "xy", ("v1", "i1"), ("p",)),
    e=st.one_of(
        *(
            datasets("e", dims, ("v2", "i2"), keys)
            for dims in ("x", "xy")
            for keys in (("p",), (), ("x",), ("x", "p"), ("i2",), ("p", "i2"))
        )
    ),
    parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=2),
    by=st.sampled_from([(), ("i1",), ("i2",), ("x",), ("p",), ("i2", "i1"), ("x", "i2")]),
)
def test_plan_gives_the_answer(seed: Stored, e: Stored, parts: list[Condition], by: tuple[str, ...]) -> None:
    """Whatever the layout, the indices and the order of writes, a plan carried out gives what all rows give."""
    query = resolve(CUBE, [seed.member(), e.member()], where=all_of(parts), partition_by=by)
    stored = {"seed": seed, "e": e}
    hits = {
        dataset_id: {leaf: pa.array(stored[dataset_id].holders(leaf), pa.string()) for leaf in leaves}
        for dataset_id, leaves in query.needed_indices.items()
    }
    plan = plan_cube(query, hits, {(d, c): stored[d].postings(c) for d, c in query.needed_postings})
    wanted = answer(seed, e, all_of(parts), by)
    event("empty" if not wanted else "rows")
    assert carried_out(plan.read, query, seed, e) == wanted
    assert all(f.total == f.files + sum(map(len, f.dropped.values())) for f in plan.facts)
