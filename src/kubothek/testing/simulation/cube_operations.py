"""What clients do to a cube of a seed and one enrichment, by the library's public functions, each with its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from kubothek.cube.build import build_cube, extend_cube
from kubothek.cube.check import check_cube
from kubothek.cube.cleanup import cleanup_cube
from kubothek.cube.query import query_cube
from kubothek.cube.remove import remove_partitions
from kubothek.cube.update import append_to_cube, update_cube
from kubothek.model.cube import Cube, member_uuid
from kubothek.store.interface import Store
from kubothek.testing.simulation.dataset_operations import kept_rows
from kubothek.testing.simulation.rows import table_of
from kubothek.testing.simulation.runs import Operation, Row, Rows

CUBE = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p", seed_dataset="seed")
SEED, ENRICHMENT = "seed", "e"
MEMBERS = (ENRICHMENT, SEED)
_NUMBERS = {SEED: "v1", ENRICHMENT: "v2"}
_PREFIX = CUBE.uuid_prefix

Mode = Literal["build", "extend", "append", "update"]
_FUNCTIONS: Mapping[Mode, Callable[..., Any]] = {
    "build": build_cube,
    "extend": extend_cube,
    "append": append_to_cube,
    "update": update_cube,
}


def cube_uuid(dataset_id: str) -> str:
    """Return the name of a dataset of the cube."""
    return member_uuid(_PREFIX, dataset_id)


class CubeOperation(Operation):
    """Something that is done to the cube."""

    uuids = tuple(cube_uuid(name) for name in MEMBERS)

    def committed(self, answer: Any) -> tuple[str, ...]:
        """Return the datasets to which it committed, as it returned them."""
        return tuple(cube_uuid(name) for name in answer) if self.commits else ()


@dataclass(frozen=True, slots=True)
class WriteCube(CubeOperation):
    """Create datasets of the cube, add to them, or replace partitions; ``rows`` pairs dataset ids with rows."""

    mode: Mode
    rows: tuple[tuple[str, tuple[Row, ...]], ...]
    overwrite: bool = False

    def act(self, store: Store) -> Any:
        """Do it."""
        data = {name: table_of(rows, "x", _NUMBERS[name]) for name, rows in self.rows}
        options = {"overwrite": self.overwrite} if self.mode in ("build", "extend") else {}
        return _FUNCTIONS[self.mode](data, CUBE, store, **options)

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return its rows, with those that it leaves."""
        added = next((rows for name, rows in self.rows if cube_uuid(name) == uuid), ())
        if self.mode in ("build", "extend"):
            return Counter(added)
        for p in {row[1] for row in added} if self.mode == "update" else ():
            before = kept_rows(before, ("p", p))
        return before + Counter(added)


@dataclass(frozen=True, slots=True)
class RemovePartitions(CubeOperation):
    """Remove the rows of one partition from all datasets."""

    p: int

    def act(self, store: Store) -> Any:
        """Do it."""
        return remove_partitions(CUBE, store, f"p == {self.p}")

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return the rows of other partitions."""
        return kept_rows(before, ("p", self.p))


@dataclass(frozen=True, slots=True)
class Query(CubeOperation):
    """Query all of the cube; return its cells."""

    commits = False

    def act(self, store: Store) -> Any:
        """Do it."""
        return cells_in(query_cube(CUBE, store).to_arrow())


@dataclass(frozen=True, slots=True)
class CheckCube(CubeOperation):
    """Return what is wrong with the cube."""

    commits = False

    def act(self, store: Store) -> Any:
        """Do it."""
        return check_cube(CUBE, store)


@dataclass(frozen=True, slots=True)
class CleanUpCube(CubeOperation):
    """Delete what nobody needs."""

    keep: int | None = None
    commits = False
    tidies = True

    def act(self, store: Store) -> Any:
        """Do it."""
        return cleanup_cube(CUBE, store, keep=self.keep)


def cells_in(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Return the cells of a table that a query gave: partition, cell, and the numbers of seed and enrichment."""
    columns = [table[name].to_pylist() for name in ("p", "x", "v1")]
    enriched = table["v2"].to_pylist() if "v2" in table.column_names else [None] * table.num_rows
    return Counter(zip(*columns, enriched, strict=True))


def expected_cells(seed: Rows, enrichment: Rows) -> Counter[tuple[Any, ...]]:
    """Return the cells that a query is to give, each with what the enrichment knows of it."""
    known = {(p, x): number for number, p, x in enrichment}
    return Counter((p, x, number, known.get((p, x))) for number, p, x in seed)
