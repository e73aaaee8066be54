"""Datasets of every type and shape that the others keep right: the strategies of ours, narrowed to what pandas holds.

The others give every boolean partition value as true and decimal ones as text, and cannot read zone-aware or
undecodable binary ones; so these are no partition columns here. NumPy cuts a NUL off the end of a text. pandas keeps
timestamps in nanoseconds, and integers beside nulls as doubles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.interop.other import Other

from kubothek.testing.datasets import NAMES, DatasetCase, dataset_cases
from kubothek.testing.kinds import FLAT, Kind

SEED = int(os.environ.get("INTEROP_SEED", "0"))
"""Other datasets are drawn from another one."""

# They take a path from a column's name, and `partition` is the name of a column of theirs.
_NAMES = [name for name in NAMES if "/" not in name]
_EXACT = 2**53
_FIRST, _LAST = datetime(1678, 1, 1), datetime(2262, 1, 1)  # noqa: DTZ001  no zone
_NO_PARTITION = (pa.types.is_boolean, pa.types.is_decimal, pa.types.is_binary)


def draw_cases(number: int, strategy: st.SearchStrategy[DatasetCase]) -> list[DatasetCase]:
    """Return this many datasets, the same ones for the same seed."""
    return [_drawn(SEED * number + one, strategy) for one in range(number)]


def _drawn(start: int, strategy: st.SearchStrategy[DatasetCase]) -> DatasetCase:
    """Return the second example of a search: the first is always the simplest, and later ones resemble each other."""
    found: list[DatasetCase] = []

    @seed(start)
    @settings(max_examples=2, phases=[Phase.generate], database=None, suppress_health_check=HealthCheck, deadline=None)
    @given(strategy)
    def draw(case: DatasetCase) -> None:
        found.append(case)

    draw()
    return found[-1]


def cases_for_others() -> st.SearchStrategy[DatasetCase]:
    """Return a strategy for datasets that the others can read."""
    flat = [narrowed(kind) for kind in FLAT.values() if not pa.types.is_decimal256(kind.record)]
    nested = [_nested(pa.list_(kind.record), st.lists(kind.values, max_size=2)) for kind in flat if _plain(kind)]
    nested += [_nested(pa.struct([("b", kind.record)]), kind.values.map(_in_struct)) for kind in flat if _plain(kind)]
    return dataset_cases(kinds=st.sampled_from([*flat, *flat, *nested]), keys=_keys(flat), names=_NAMES)


def _keys(flat: Sequence[Kind]) -> st.SearchStrategy[Kind]:
    keys = [key_of(kind) for kind in flat if not any(test(kind.record) for test in _NO_PARTITION)]
    return st.sampled_from([kind for kind in keys if kind is not None])


def narrowed(kind: Kind) -> Kind:
    """Return a type with those of its values that survive pandas."""
    test = {datetime: _in_nanoseconds, int: _exact}.get(_python_type(kind))
    return kind if test is None else replace(kind, values=kind.values.filter(test))


def key_of(kind: Kind) -> Kind | None:
    """Return a type as that of a partition column, if it can be one."""
    if kind.partition is None:
        return None
    tests = {datetime: _in_nanoseconds, date: _in_years_of_nanoseconds, str: _without_nul}
    test = tests.get(_python_type(kind))
    values = kind.partition if test is None else kind.partition.filter(test)
    return replace(kind, values=values, partition=values)


def _python_type(kind: Kind) -> type | None:
    if pa.types.is_timestamp(kind.record):
        return datetime
    if pa.types.is_date(kind.record):
        return date
    if pa.types.is_string(kind.record):
        return str
    if pa.types.is_binary(kind.record):
        return bytes
    return int if pa.types.is_integer(kind.record) else None


def _in_nanoseconds(moment: datetime) -> bool:
    return _FIRST <= moment.replace(tzinfo=None) < _LAST


def _in_years_of_nanoseconds(day: date) -> bool:
    return _FIRST.year <= day.year < _LAST.year


def _without_nul(value: str | bytes) -> bool:
    return ("\0" if isinstance(value, str) else b"\0") not in value


def _exact(number: int) -> bool:
    return abs(number) <= _EXACT


def _plain(kind: Kind) -> bool:
    return kind.given == kind.record and not pa.types.is_decimal(kind.record)


def _nested(given: pa.DataType, values: st.SearchStrategy[Any]) -> Kind:
    return Kind(given, given, values)


def _in_struct(value: Any) -> dict[str, Any]:
    return {"b": value}


def cases_updated_by(other: Other) -> st.SearchStrategy[DatasetCase]:
    """Return a strategy for datasets that another software can update.

    Both guess the type of a list, a struct and a decimal from the values of a frame, so these are left out. Of an index
    they make anew what it had: times become timestamps, which fails, dates must lie in the years of nanoseconds, and a
    NUL at the end gets lost.
    """
    kinds = [kind for kind in FLAT.values() if not (pa.types.is_decimal(kind.record) or other.loses_type(kind.record))]
    flat = [_updated(narrowed(kind)) for kind in kinds]
    cases = dataset_cases(kinds=st.sampled_from(flat), keys=_keys(flat), names=_NAMES, max_steps=2)
    return cases.map(lambda case: _without_indices(case, [pa.types.is_time, other.loses_index]))


def _updated(kind: Kind) -> Kind:
    tests = {date: _in_years_of_nanoseconds, str: _without_nul, bytes: _without_nul}
    test = tests.get(_python_type(kind))
    return kind if test is None else replace(kind, values=kind.values.filter(test))


def _without_indices(case: DatasetCase, tests: Sequence[Callable[[pa.DataType], bool]]) -> DatasetCase:
    names = case.secondary_indices
    return replace(
        case, secondary_indices=tuple(n for n in names if not any(test(case.kinds[n].record) for test in tests))
    )


def rows_to_add(case: DatasetCase, schema: pa.Schema) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Return rows to add to a dataset and what to delete from it, such that the others keep types and values.

    The rows are some of its own, without nulls where pandas would change the type for them or where the index of a
    frame would have no type, and without slashes in partition columns, which they do not quote.
    """
    rows = [row for step in case.steps for row in step.rows]
    strict = {f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_boolean(f.type)}
    strict |= set(case.secondary_indices)
    kept = [row for row in rows if all(row[name] is not None for name in strict)]
    kept = [row for row in kept if not any("/" in str(row[name]) for name in case.partition_on)]
    scope = [{name: row[name] for name in case.partition_on} for row in rows[:1] if case.partition_on]
    return pa.Table.from_pylist(kept, schema), scope
