"""A cube in plain Python: what every query has to answer, told with lists of dictionaries.

No files, indices, units or plans: all rows are kept in the order in which they were written, and a query looks at each
of them. It takes valid calls only; which calls are refused is tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubothek.model.condition import EVERYTHING, Condition, conjuncts
from kubothek.model.cube import Cube
from kubothek.testing.conditions import matches

Row = dict[str, Any]
Group = tuple[tuple[Any, ...], list[Row]]


@dataclass
class ReferenceDataset:
    """The rows of one dataset, in the order in which they were written."""

    columns: tuple[str, ...]
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

    def write(self, dataset_id: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Build, extend or append: add rows to a dataset, which comes to be with its first rows."""
        dataset = self.datasets.setdefault(dataset_id, ReferenceDataset(tuple(columns)))
        dataset.rows += [{name: row[name] for name in columns} for row in rows]

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
            key = tuple(row[name] for name in partition_by)
            if None not in key and matches(where, row):
                # Cells that coincide after a projection become one; what is wanted of them is the same.
                cells = found.setdefault(key, {})
                cells[tuple(row[name] for name in order)] = {name: row[name] for name in wanted}
        return [(key, [cells[place] for place in sorted(cells)]) for key, cells in sorted(found.items())]

    def _restricting(self, selected: Sequence[str], where: Condition, partition_by: Sequence[str]) -> set[str]:
        """Return the datasets whose cells alone are asked for: those with a condition of their own, or a group."""
        asked: list[set[str]] = [self._owners(selected, part.columns) for part in conjuncts(where)]
        asked += [self._owners(selected, {name}) for name in partition_by]
        return {owner for owners in asked if len(owners) == 1 for owner in owners} - {self.cube.seed_dataset}

    def _owners(self, selected: Sequence[str], columns: Iterable[str]) -> set[str]:
        """Return the datasets that hold these columns as their own payload."""
        shared = {*self.cube.dimension_columns, *self.cube.partition_columns}
        own = {*columns} - shared
        return {dataset_id for dataset_id in selected if own & {*self.datasets[dataset_id].columns}}

    def _cells(self, selected: Sequence[str], restricting: set[str]) -> list[Row]:
        """Return the cells of the seed with what the other datasets know of them."""
        cells = self._last_versions(self.cube.seed_dataset)
        for dataset_id in selected:
            if dataset_id == self.cube.seed_dataset:
                continue
            on = self._place(dataset_id)
            known = {tuple(row[name] for name in on): row for row in self._last_versions(dataset_id)}
            partners = [known.get(tuple(cell[name] for name in on)) for cell in cells]
            nothing = dict.fromkeys(self.datasets[dataset_id].columns)
            cells = [
                {**nothing, **(partner or {}), **cell}
                for cell, partner in zip(cells, partners, strict=True)
                if partner or dataset_id not in restricting
            ]
        return cells

    def _last_versions(self, dataset_id: str) -> list[Row]:
        """Return the last row of each cell in each physical partition."""
        place = self._place(dataset_id)
        rows = self.datasets[dataset_id].rows
        return list({tuple(row[name] for name in place): row for row in rows}.values())

    def _place(self, dataset_id: str) -> tuple[str, ...]:
        """Return the dimension and partition columns that a dataset has; they identify its cells."""
        columns = self.datasets[dataset_id].columns
        shared = (*self.cube.dimension_columns, *self.cube.partition_columns)
        return tuple(name for name in shared if name in columns)
