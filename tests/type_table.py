"""The tables of docs/types.md as values: what the page says is what tests run, so it cannot say anything else.

A cell holds one or several spans of code; where a cell is empty, what is to its left holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PAGE = Path(__file__).parents[1] / "docs" / "types.md"

_NAMES = {name: getattr(pa, name) for name in dir(pa) if not name.startswith("_")} | {
    "Decimal": Decimal, "UTC": UTC, "date": date, "datetime": datetime, "time": time, "timedelta": timedelta,
    "float16": lambda *given: np.float16(*given) if given else pa.float16(), "inf": inf, "nan": nan,
}  # fmt: skip

Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One row: a type, examples of it, the type of record with the values there, and both on Spark.

    Examples are SQL for Spark's types and values for Arrow's. ``back`` is empty where Spark has no such type.
    """

    kind: str
    examples: tuple[Any, ...]
    record: str
    stored: tuple[Any, ...]
    back: str
    seen: tuple[Any, ...]

    @property
    def same(self) -> bool:
        """Whether Spark's own Parquet reader gives what the page says."""
        return bool(self.back) and not re.search("uint64|time64|null", self.record)


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """One row of a table of what is refused: the type, an example, and what the message says."""

    kind: str
    example: str
    advice: str


def from_spark() -> list[TypeRow]:
    """Return the rows of the first table; examples are SQL expressions."""
    return [
        _row(kind[0], examples, record, _values(stored), back, seen)
        for kind, examples, record, stored, back, seen in _table(0)
    ]


def from_arrow() -> list[TypeRow]:
    """Return the rows of the table of Arrow's types; examples are Python values."""
    return [
        _row(kind[0], _values(examples), record, _values(stored) or _values(examples), back, seen)
        for kind, examples, record, stored, back, seen in _table(2)
    ]


def refused_from_spark() -> list[RefusedRow]:
    """Return Spark's types without a place."""
    return [RefusedRow(kind[0], example[0], advice[0]) for kind, example, advice in _table(1)]


def refused_from_arrow() -> list[RefusedRow]:
    """Return Arrow's types without a place, those with some values that have none among them."""
    rows = [*_table(3), *_table(4)]
    return [RefusedRow(kind[0], "".join(example), advice[0]) for kind, example, advice in rows]


def arrow_type(text: str) -> pa.DataType:
    """Return the type that the page writes as in PyArrow."""
    return eval(text, dict(_NAMES))  # noqa: S307  our own page


def arrow_array(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Return an array of a type, encodings included."""
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(pa.array(values, kind.value_type))
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def arrow_table(rows: Mapping[str, TypeRow]) -> pa.Table:
    """Return a column for each of these rows of the page, by name, with its examples and then nulls, and ``x``."""
    length = max(len(row.examples) for row in rows.values()) + 1
    columns = {name: padded(row.examples, length) for name, row in rows.items()}
    arrays = {name: arrow_array(arrow_type(rows[name].kind), values) for name, values in columns.items()}
    return pa.table({"x": range(length), **arrays})


def padded(values: Sequence[Any], length: int) -> list[Any]:
    """Return the values, and nulls up to a length."""
    return [*values, *[None] * (length - len(values))]


def named(rows: Sequence[TypeRow]) -> dict[str, TypeRow]:
    """Return the rows by the names of the columns that stand for them."""
    return {f"c{number}": row for number, row in enumerate(rows)}


def python_value(text: str) -> Any:
    """Return a value that the page writes in Python."""
    return eval(text, dict(_NAMES))  # noqa: S307  our own page


def same_value(found: Any, expected: Any) -> bool:
    """Tell whether values are equal, NaN and the signs of zeros included."""
    return repr(found) == repr(expected) if isinstance(expected, float) else bool(found == expected)


def _row(
    kind: str, examples: tuple[Any, ...], record: Cells, stored: tuple[Any, ...], back: Cells, seen: Cells
) -> TypeRow:
    assert examples, kind
    assert len(stored) == len(examples), kind
    return TypeRow(kind, examples, record[0], stored, "".join(back), _values(seen) or stored)


def _values(cell: Cells) -> tuple[Any, ...]:
    return tuple(map(python_value, cell))


def _table(number: int) -> list[list[Cells]]:
    """Return the cells of a table of the page, each as its spans of code."""
    tables = re.findall(r"^\|(?:-+\|)+\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(tables) == 5, "docs/types.md has other tables than these tests know"
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in tables[number].splitlines()]
    return [[tuple(re.findall(r"`([^`]+)`", cell)) for cell in cells] for cells in lines]
