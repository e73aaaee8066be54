"""The corpus as Python: its case sets, its tagged values, and what it means that two tables are equal.

Tables are compared cell by cell, each cell as a pair of kind and value: nulls and NaN are one, numbers compare by value
whatever their width, dates are timestamps at midnight, and instants compare in UTC.
"""

from __future__ import annotations

import base64
import functools
import json
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ARCHIVE = Path(__file__).parents[1] / "corpus" / "kartothek-corpus.tar.xz"
GROUP = "__group"
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9
_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "bytes": base64.b64decode,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "decimal": Decimal,
}
_KINDS: Sequence[tuple[Callable[[pa.DataType], bool], str]] = (
    (pa.types.is_boolean, "bool"),
    (pa.types.is_integer, "number"),
    (pa.types.is_floating, "number"),
    (pa.types.is_decimal, "decimal"),
    (pa.types.is_binary, "bytes"),
    (pa.types.is_large_binary, "bytes"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_time, "time of day"),
)

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """One store of the corpus, and what was asked of it."""

    folder: Path
    cases: Mapping[str, Any]

    @property
    def store(self) -> Path:
        """The store as Kartothek wrote it."""
        return self.folder / "store"

    def table(self, file: str) -> pa.Table:
        """Read an input or an expected table."""
        return _read(self.folder / file)


@functools.cache
def _read(file: Path) -> pa.Table:
    return pq.ParquetFile(file).read(use_threads=False)


@functools.cache
def contents() -> Mapping[str, Mapping[str, Any]]:
    """Read what each case set holds straight from the archive, so that tests have names before anything is unpacked."""
    found = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            path = Path(member.name)
            file = archive.extractfile(member) if path.name == "cases.json" else None
            if file is not None:
                found[path.parent.name] = json.loads(file.read())
    return dict(sorted(found.items()))


def names_with(*kinds_of_cases: str) -> list[str]:
    """Return the names of the case sets that have cases of all these kinds."""
    return [name for name, cases in contents().items() if all(cases.get(kind) for kind in kinds_of_cases)]


def case_set(corpus: Path, name: str) -> CaseSet:
    """Return one case set of the unpacked corpus."""
    return CaseSet(corpus / name, contents()[name])


def decode(tagged: Mapping[str, Any]) -> Any:
    """Turn a tagged value into Python."""
    kind = tagged["t"]
    if kind == "null":
        return None
    if kind == "list":
        return [decode(value) for value in tagged["v"]]
    return _DECODERS[kind](tagged["v"])


def difference(expected: pa.Table, actual: pa.Table, order: Sequence[str] | None = None) -> str | None:
    """Say how two tables differ, or return ``None`` where they are equal.

    Parameters
    ----------
    order
        Columns by which rows must be in the same order; rows that tie may come in any. ``None``: any order.
    """
    names = sorted(expected.column_names)
    if names != sorted(actual.column_names):
        return f"columns {names} expected, {sorted(actual.column_names)} found"
    if expected.num_rows != actual.num_rows:
        return f"{expected.num_rows} rows expected, {actual.num_rows} found"
    if order is not None and rows(expected, order) != rows(actual, order):
        return f"rows are not ordered by {', '.join(order)} as expected"
    wanted, found = Counter(rows(expected, names)), Counter(rows(actual, names))
    if wanted == found:
        return None
    missing, extra = next(iter(wanted - found)), next(iter(found - wanted))
    return f"of {names} the row {missing} is missing, and there is {extra}"


def rows(table: pa.Table, columns: Iterable[str]) -> Rows:
    """Return the rows of these columns in a form that compares equal where the values do."""
    return list(zip(*(_cells(table.column(name)) for name in columns), strict=True))


def _cells(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):
        unit = _NANOSECONDS[kind.unit]
        return _tagged("instant", [v if v is None else v * unit for v in column.cast(pa.int64()).to_pylist()])
    if pa.types.is_date32(kind):
        return _tagged("instant", [v if v is None else v * _DAY for v in column.cast(pa.int32()).to_pylist()])
    if pa.types.is_null(kind):
        return [None] * len(column)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [v if v is None else ("list", *_tagged(_kind(kind.value_type), v)) for v in column.to_pylist()]
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
    return _tagged(_kind(kind), column.to_pylist())


def _tagged(kind: str, values: Iterable[Any]) -> list[Any]:
    return [value if value is None else (kind, value) for value in values]


def _kind(kind: pa.DataType) -> str:
    return next((name for test, name in _KINDS if test(kind)), str(kind))
