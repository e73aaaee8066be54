"""A cube as DuckDB's tables: the same rows, and each query as SQL.

Tables have the rows of the datasets as they were written, with a column that numbers them; the last one of each cell is
picked by a window, datasets are joined on the dimension and partition columns that they share with the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import duckdb
import pyarrow as pa
from tests.in_duckdb import as_row, quoted, to_sql

from kubothek.model.condition import EVERYTHING, Condition, all_of, conjuncts
from kubothek.testing.cubes import CubeCase, CubeStep, Part
from kubothek.testing.reference_cube import Group, Row

NUMBER = quoted("number of the row")


class DuckCube:
    """The cube of a case in a database of its own."""

    def __init__(self, case: CubeCase) -> None:
        self.case = case
        self._types = {name: kind.record for part in case.parts for name, kind in part.kinds.items()}
        self._db = duckdb.connect(config={"threads": 1})
        self._written = 0
        for part in case.parts:
            table = f"CREATE TABLE {_table(part)} AS SELECT 0 AS {NUMBER}, * FROM given"  # noqa: S608  names are quoted
            self._run(table, given=self._arrow(part, []))
        for step in case.steps:
            self._do(step)

    def _run(self, sql: str, **tables: pa.Table) -> None:
        for name, table in tables.items():
            self._db.register(name, table)
        self._db.execute(sql)

    def _arrow(self, part: Part, rows: Sequence[Row]) -> pa.Table:
        return pa.Table.from_pylist(list(rows), pa.schema([(name, self._types[name]) for name in part.kinds]))

    def _do(self, step: CubeStep) -> None:
        """Remove, then add."""
        for part in self.case.parts:
            rows = self._arrow(part, step.rows.get(part.dataset_id, []))
            named = part.dataset_id in step.rows or (
                step.do == "remove" and (step.datasets is None or part.dataset_id in step.datasets)
            )
            if not named:
                continue
            if step.removed is not None:
                self._remove(part, all_of(p for p in conjuncts(step.removed) if p.columns <= {*part.partition_on}))
            elif step.do == "rewrite":
                self._remove(part, EVERYTHING)
            elif step.do == "update":
                same = " AND ".join(["true", *(f"{_of(part, k)} = given.{quoted(k)}" for k in part.partition_on)])
                self._run(
                    f"DELETE FROM {_table(part)} WHERE EXISTS (SELECT 1 FROM given WHERE {same})",  # noqa: S608  names are quoted
                    given=rows,
                )
            self._run(
                f"INSERT INTO {_table(part)} SELECT {self._written} + row_number() OVER (), * FROM given",  # noqa: S608  names are quoted
                given=rows,
            )
            self._written += rows.num_rows

    def _remove(self, part: Part, where: Condition) -> None:
        literals: list[pa.Array] = []
        sql = to_sql(where, self._types, literals)
        self._run(f"DELETE FROM {_table(part)} USING asked WHERE {sql}", asked=as_row(literals))  # noqa: S608  names are quoted

    def query(
        self,
        *,
        where: Condition,
        datasets: Sequence[str] | None,
        dimension_columns: Sequence[str] | None,
        partition_by: Sequence[str],
        columns: Sequence[str] | None,
    ) -> list[Group]:
        """Answer as :meth:`kubothek.testing.reference_cube.ReferenceCube.query` does."""
        cube = self.case.cube
        parts = [part for part in self.case.parts if datasets is None or part.dataset_id in datasets]
        order = [*(dimension_columns or cube.dimension_columns), *cube.partition_columns]
        available = {name for part in parts for name in part.kinds}
        wanted = sorted({*(available if columns is None else columns), *order, *partition_by})
        literals: list[pa.Array] = []
        conditions = [to_sql(where, self._types, literals)]
        for name in partition_by:
            conditions.append(f"{quoted(name)} IS NOT NULL")
            if pa.types.is_floating(self._types[name]):
                conditions.append(f"NOT isnan({quoted(name)})")
        keys = ", ".join(quoted(name) for name in dict.fromkeys([*partition_by, *order]))
        self._db.register("asked", as_row(literals))
        found = self._db.sql(
            f"SELECT DISTINCT ON ({keys}) {', '.join(map(quoted, wanted))} "  # noqa: S608  names are quoted
            f"FROM ({self._joined(parts, where, partition_by)}), asked WHERE {' AND '.join(conditions)} "
            f"ORDER BY {keys}"
        ).to_arrow_table()
        rows = self._typed(found).to_pylist()
        grouped = groupby(rows, key=lambda row: tuple(row[name] for name in partition_by))
        return [(key, list(some)) for key, some in grouped]

    def _joined(self, parts: Sequence[Part], where: Condition, partition_by: Sequence[str]) -> str:
        """Return the SQL of all cells of the seed with all columns."""
        asked = [part.columns for part in conjuncts(where)] + [{name} for name in partition_by]
        seed, *others = parts
        owners = [[part for part in parts if {*part.own(self.case.cube)} & {*names}] for names in asked]
        inner = [one[0].dataset_id for one in owners if len(one) == 1]
        columns = [_of(seed, name) for name in seed.kinds]
        sql = f"({self._last(seed)}) AS {_table(seed)}"
        for part in others:
            columns += [_of(part, name) for name in part.own(self.case.cube)]
            how = "INNER" if part.dataset_id in inner else "LEFT"
            same = " AND ".join(f"{_of(seed, name)} = {_of(part, name)}" for name in self._place(part))
            sql += f" {how} JOIN ({self._last(part)}) AS {_table(part)} ON {same}"
        return f"SELECT {', '.join(columns)} FROM {sql}"  # noqa: S608  names are quoted

    def _place(self, part: Part) -> list[str]:
        shared = (*self.case.cube.dimension_columns, *self.case.cube.partition_columns)
        return [name for name in shared if name in part.kinds]

    def _last(self, part: Part) -> str:
        """Return the SQL of the last version of each cell."""
        place = ", ".join(map(quoted, self._place(part)))
        return (
            f"SELECT * FROM {_table(part)} "  # noqa: S608  names are quoted
            f"QUALIFY row_number() OVER (PARTITION BY {place} ORDER BY {NUMBER} DESC) = 1"
        )

    def _typed(self, found: pa.Table) -> pa.Table:
        """Check that types are those of the columns, but for what DuckDB has no word for."""
        types: Mapping[str, pa.DataType] = self._types
        for field in found.schema:
            zoned = pa.types.is_timestamp(field.type) and field.type.tz is not None
            assert field.type == types[field.name] or zoned, (field, types[field.name])
        return found.cast(pa.schema([(name, types[name]) for name in found.column_names]))


def _table(part: Part) -> str:
    return quoted(f"dataset {part.dataset_id}")


def _of(part: Part, name: str) -> str:
    return f"{_table(part)}.{quoted(name)}"
