"""A cube in plain Python: what every query has to answer, told with lists of dictionaries.

No files, indices, units or plans: all rows are kept in the order in which they were written, and a query looks at each
of them. It takes valid calls only; which calls are refused is tested elsewhere. What it says:

* A *cell* of a dataset is a combination of values of its dimension columns, in one partition of the cube. The row that
  was written last is the cell's; others are not seen, whatever is asked.
* Each cell of the seed is joined with that cell of every other dataset which agrees in the dimension and partition
  columns that the dataset has; a cell without partner gets nulls.
* A part of the condition (of those that must all hold) over columns of one dataset alone, dimension and partition
  columns aside, leaves out cells without partner there, and so does a group by one of its columns.
* Zeros of either sign are equal. A null or NaN belongs to no group; dimension and partition columns have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubothek.model.condition import EVERYTHING, And, Condition
from kubothek.model.cube import Cube
from kubothek.testing.conditions import matches

Row = dict[str, Any]
Group = tuple[tuple[Any, ...], list[Row]]


@dataclass
class ReferenceDataset:
    """The rows of one dataset, in the order in which they were written."""

    columns: tuple[str, ...]
    partition_on: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)


@dataclass
class ReferenceCube:
    """A cube as a dictionary of datasets.

    Examples
    --------
    >>> cube = ReferenceCube(Cube("flights", "FLIGHT", "MONTH"))
    >>> cube.write("seed", ("FLIGHT", "MONTH"), [{"FLIGHT": 1, "MONTH": 1}, {"FLIGHT": 2, "MONTH": 1}])
    >>> cube.write("weather", ("FLIGHT", "TEMP"), [{"FLIGHT": 2, "TEMP": -3.5}])
    >>> cube.query()
    [((), [{'FLIGHT': 1, 'MONTH': 1, 'TEMP': None}, {'FLIGHT': 2, 'MONTH': 1, 'TEMP': -3.5}])]
    """

    cube: Cube
    datasets: dict[str, ReferenceDataset] = field(default_factory=dict)

    def write(
        self,
        dataset_id: str,
        columns: Sequence[str],
        rows: Iterable[Mapping[str, Any]],
        partition_on: Sequence[str] = (),
    ) -> None:
        """Build, extend or append: add rows to a dataset, which comes to be with its first rows."""
        dataset = self.datasets.setdefault(dataset_id, ReferenceDataset(tuple(columns), tuple(partition_on)))
        dataset.rows += [{name: row[name] for name in columns} for row in rows]

    def replace(self, dataset_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Update a dataset: its partitions that these rows are in have these rows alone."""
        dataset = self.datasets[dataset_id]
        places = {_values(row, dataset.partition_on) for row in rows}
        dataset.rows = [row for row in dataset.rows if _values(row, dataset.partition_on) not in places]
        self.write(dataset_id, dataset.columns, rows)

    def remove(self, where: Condition, dataset_ids: Iterable[str] | None = None) -> None:
        """Remove partitions: rows of each dataset that match what the condition says of its partition columns."""
        for dataset_id in self.datasets if dataset_ids is None else dataset_ids:
            dataset = self.datasets[dataset_id]
            known = And(tuple(part for part in _parts(where) if part.columns <= {*dataset.partition_on}))
            dataset.rows = [row for row in dataset.rows if not matches(known, row)]

    def query(
        self,
        *,
        where: Condition = EVERYTHING,
        datasets: Sequence[str] | None = None,
        dimension_columns: Sequence[str] | None = None,
        partition_by: Sequence[str] = (),
        columns: Sequence[str] | None = None,
    ) -> list[Group]:
        """Answer as the groups of :func:`kubothek.query_cube` do: keys in order, with their sorted rows."""
        selected = list(self.datasets) if datasets is None else list(datasets)
        dimensions = tuple(dimension_columns or self.cube.dimension_columns)
        order = (*dimensions, *self.cube.partition_columns)
        available = {name for dataset_id in selected for name in self.datasets[dataset_id].columns}
        wanted = sorted({*(available if columns is None else columns), *order, *partition_by})

        found: dict[tuple[Any, ...], dict[tuple[Any, ...], Row]] = {}
        for row in self._cells(selected, self._restricting(selected, where, partition_by)):
            key = _values(row, partition_by)
            if all(value is not None and value == value for value in key) and matches(where, row):
                # Cells that coincide after a projection become one; what is wanted of them is the same.
                cells = found.setdefault(key, {})
                cells[_values(row, order)] = {name: row[name] for name in wanted}
        return [(key, [cells[place] for place in sorted(cells)]) for key, cells in sorted(found.items())]

    def _restricting(self, selected: Sequence[str], where: Condition, partition_by: Sequence[str]) -> set[str]:
        """Return the datasets whose cells alone are asked for: those with a condition of their own, or a group."""
        asked: list[set[str]] = [self._owners(selected, part.columns) for part in _parts(where)]
        asked += [self._owners(selected, {name}) for name in partition_by]
        return {owner for owners in asked if len(owners) == 1 for owner in owners} - {self.cube.seed_dataset}

    def _owners(self, selected: Sequence[str], columns: Iterable[str]) -> set[str]:
        """Return the datasets that hold these columns as their own payload."""
        shared = {*self.cube.dimension_columns, *self.cube.partition_columns}
        own = {*columns} - shared
        return {dataset_id for dataset_id in selected if own & {*self.datasets[dataset_id].columns}}

    def _cells(self, selected: Sequence[str], restricting: set[str]) -> list[Row]:
        """Return the cells of the seed with what the other datasets know of them."""
        cells = list(self._last_versions(self.cube.seed_dataset).values())
        for dataset_id in selected:
            if dataset_id == self.cube.seed_dataset:
                continue
            place, known = self._place(dataset_id), self._last_versions(dataset_id)
            partners = [known.get(_values(cell, place)) for cell in cells]
            nothing = dict.fromkeys(self.datasets[dataset_id].columns)
            cells = [
                {**nothing, **(partner or {}), **cell}
                for cell, partner in zip(cells, partners, strict=True)
                if partner or dataset_id not in restricting
            ]
        return cells

    def _last_versions(self, dataset_id: str) -> dict[tuple[Any, ...], Row]:
        """Return the last row of each cell."""
        place = self._place(dataset_id)
        return {_values(row, place): row for row in self.datasets[dataset_id].rows}

    def _place(self, dataset_id: str) -> tuple[str, ...]:
        return cell_columns(self.cube, self.datasets[dataset_id].columns)


def cell_columns(cube: Cube, columns: Iterable[str]) -> tuple[str, ...]:
    """Return those of a dataset's columns that identify its cells: dimension and partition columns of the cube."""
    own = {*columns}
    return tuple(name for name in (*cube.dimension_columns, *cube.partition_columns) if name in own)


def distinct_cells(cube: Cube, rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each cell among rows with the same columns."""
    return list({_values(row, cell_columns(cube, row)): row for row in rows}.values())


def _values(row: Mapping[str, Any], columns: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in columns)


def _parts(condition: Condition) -> Iterator[Condition]:
    """Yield the parts of a condition that must all hold."""
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition
