"""Whatever is written and asked, a cube answers as the plain-Python reference does.

Hypothesis draws a number and a size; the stories that follow from them are made by `random`, which is many times faster
than drawing each value, and leaves the time to what is tested.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Any, get_args

import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st

import kubothek as kb
from kubothek.model.condition import Comparison, Condition, IsIn, IsNull, Operator, all_of
from kubothek.testing.reference_cube import ReferenceCube, Row

# Types and values: few of each, so that cells meet and are written again.
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int64(), [-1, 0, 2]),
    "text": (pa.string(), ["", "a/b", "ü"]),
    "date": (pa.date32(), [date(1999, 12, 31), date(2020, 2, 29)]),
    "bool": (pa.bool_(), [False, True]),
    "float": (pa.float64(), [-0.5, 0.0, 2.0]),
}
PAYLOAD = {"i1": "text", "i2": "int", "v1": "int", "v2": "float", "v3": "bool", "v4": "date"}
ENRICHMENTS = {"e": ("i2", "v2"), "f": ("v3",), "g": ("v4",)}


@dataclass(frozen=True)
class Part:
    """A dataset of a cube: its columns, and those by which its files are separated."""

    dataset_id: str
    columns: tuple[str, ...]
    partition_on: tuple[str, ...]


@dataclass
class World:
    """A cube that is written and asked, both in a store and in the reference."""

    random: Random
    size: int
    url: str = field(default_factory=lambda: f"memory://{uuids.uuid4().hex}")

    def __post_init__(self) -> None:
        dims, keys = self.either(("x",), ("x", "y")), self.either(("p",), ("p", "q"))
        self.cube = kb.Cube("c", dims, keys, index_columns=("i1", "i2"))
        self.reference = ReferenceCube(self.cube)
        self.kinds = PAYLOAD | {name: self.either(*KINDS) for name in dims}
        self.kinds |= {name: self.either("int", "text", "date", "bool") for name in keys}
        self.parts = [Part("seed", (*dims, *keys, "i1", "v1"), keys)]
        self.parts += [self.enrichment(name) for name in self.some(list(ENRICHMENTS))]

    def enrichment(self, dataset_id: str) -> Part:
        """Choose dimensions and layout: as the seed, coarser, unpartitioned, or by a dimension."""
        dims, keys = self.cube.dimension_columns, self.cube.partition_columns
        own = self.either(dims, dims[:1], dims[-1:])
        on = self.either(keys, keys, keys[::-1], keys[-1:], (), own[:1], (own[0], keys[0]))
        return Part(dataset_id, tuple(dict.fromkeys((*own, *on, *ENRICHMENTS[dataset_id]))), on)

    def either(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def some(self, choices: Sequence[Any], least: int = 0) -> list[Any]:
        """Choose some of these, in any order."""
        return self.random.sample(choices, self.random.randint(min(least, len(choices)), len(choices)))

    def value(self, column: str) -> Any:
        return self.either(*KINDS[self.kinds[column]][1])

    def write_all(self) -> None:
        """Build with some of the datasets, extend by the others, and append."""
        late = self.random.randint(1, len(self.parts))
        for parts in (self.parts[:late], self.parts[late:], *(self.some(self.parts) for _ in range(self.size - 1))):
            if parts:
                self.write(parts)

    def write(self, parts: Sequence[Part]) -> None:
        rows = {part.dataset_id: self.rows(part) for part in parts}
        data = {part.dataset_id: self.frames(part, rows[part.dataset_id]) for part in parts}
        settings = self.either({}, {"num_buckets": 2}, {"shuffle": False})
        if rows.keys() <= self.reference.datasets.keys():
            kb.append_to_cube(data, self.cube, self.url, **settings)
        else:
            do = kb.build_cube if "seed" in rows else kb.extend_cube
            do(data, self.cube, self.url, partition_on={p.dataset_id: p.partition_on for p in parts}, **settings)
        for part in parts:
            self.reference.write(part.dataset_id, part.columns, rows[part.dataset_id])

    def rows(self, part: Part) -> list[Row]:
        """Make rows of which no two are the same cell."""
        found: dict[tuple[Any, ...], Row] = {}
        for _ in range(self.random.randint(1, 3 * self.size)):
            row = {name: self.value(name) for name in part.columns}
            row |= {name: None for name in part.columns if name in PAYLOAD and self.random.random() < 0.3}
            found[tuple(row[name] for name in part.columns if name not in PAYLOAD)] = row
        return list(found.values())

    def frames(self, part: Part, rows: Sequence[Row]) -> list[pa.Table]:
        """Give rows as two frames, the first perhaps without rows."""
        schema = pa.schema([(name, KINDS[self.kinds[name]][0]) for name in part.columns])
        table = pa.Table.from_pylist(list(rows), schema)
        return [table.slice(0, len(rows) // 2), table.slice(len(rows) // 2)]

    def question(self) -> dict[str, Any]:
        """Make the arguments of a query that is allowed: nothing is asked of what is projected away."""
        chosen = [self.parts[0], *self.some(self.parts[1:])]
        kept = self.either(self.cube.dimension_columns, self.some(self.cube.dimension_columns, least=1))
        shared = [*self.cube.dimension_columns, *self.cube.partition_columns]
        whole = [part for part in chosen if {*part.columns} & {*self.cube.dimension_columns} <= {*kept}]
        payload = [name for part in whole for name in part.columns if name in PAYLOAD]
        indexed = [*shared, *(name for name in payload if name in self.cube.index_columns)]
        parts = [self.condition([*kept, *self.cube.partition_columns, *payload]) for _ in range(self.either(0, 1, 2))]
        parts += [
            self.condition([name]) for name in self.cube.dimension_columns if self.either(False, name not in kept)
        ]
        return {
            "where": all_of(parts),
            "datasets": [part.dataset_id for part in chosen],
            "dimension_columns": kept,
            "partition_by": self.either([], [], self.some(indexed)[:2]),
            "columns": self.either(None, self.some(payload)) if whole == chosen else self.some(payload),
        }

    def condition(self, columns: Sequence[str], depth: int = 2) -> Condition:
        kind = self.random.random()
        if depth and kind < 0.4:
            left, right = self.condition(columns, depth - 1), self.condition(columns, depth - 1)
            return self.either(left & right, left | right, ~left)
        column = self.either(*columns)
        if kind < 0.5:
            return IsNull(column)
        if kind < 0.6:
            return IsIn(column, tuple(self.either(None, self.value(column)) for _ in range(2)))
        return Comparison(column, self.either(*get_args(Operator)), self.value(column))


@settings(max_examples=settings.default.max_examples // 2)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_queries_answer_as_the_reference_does(number: int, size: int) -> None:
    """Layout, order of writes, indices and overlaid versions never change an answer."""
    world = World(Random(number), size)
    world.write_all()
    for _ in range(4):
        question = world.question()
        expected = world.reference.query(**question)
        query = kb.query_cube(world.cube, world.url, **question)
        event(f"{min(len(expected), 2)} groups")
        found = list(query.groups())
        assert [(key, table.to_pylist()) for key, table in found] == expected, question
        assert all(table.schema == query.schema for _, table in found)
