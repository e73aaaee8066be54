"""Filters of Spark as conditions: held against a plain-Python evaluation of what Spark means by them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as sql

from kubothek.plan.match import match_rows
from kubothek.spark.source.filters import as_condition

INSTANT = datetime(2024, 2, 29, 12, tzinfo=UTC)
WALL = INSTANT.replace(tzinfo=None)
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    "unsigned": (pa.uint64(), [0, 1, 2**64 - 1]),
    "float": (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan]),
    "bool": (pa.bool_(), [False, True]),
    "decimal": (pa.decimal128(38, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("12345678901234567890123456789.01")]),
    "text": (pa.string(), ["", "a", "ab", "abc", "b", "a\ud7ff", "a\ue000", "a\U0010ffff", "ä"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"a", b"\xff"]),
    "date": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29)]),
    "wall": (pa.timestamp("us"), [WALL, WALL + timedelta(microseconds=1)]),
    "instant": (pa.timestamp("us", "UTC"), [INSTANT, INSTANT + timedelta(microseconds=1)]),
}
ORDER: dict[type[sql.Filter], Callable[[Any, Any], bool]] = {
    sql.EqualTo: operator.eq,
    sql.GreaterThan: operator.gt,
    sql.GreaterThanOrEqual: operator.ge,
    sql.LessThan: operator.lt,
    sql.LessThanOrEqual: operator.le,
}

TEXTS: dict[type[sql.Filter], Callable[[str, str], bool]] = {
    sql.StringStartsWith: str.startswith,
    sql.StringEndsWith: str.endswith,
    sql.StringContains: str.__contains__,
}


def place(value: Any) -> Any:
    """Return what Spark orders a value by: NaN after everything else, equal to itself."""
    return (value != value, 0 if value != value else value) if isinstance(value, float) else value


def truth(pushed: Any, value: Any) -> bool | None:
    """Say whether a filter is true, false or unknown for a value, as in SQL."""
    match pushed:
        case sql.Not(child):
            found = truth(child, value)
            return None if found is None else not found
        case sql.IsNull() | sql.IsNotNull():
            return (value is None) == isinstance(pushed, sql.IsNull)
        case sql.EqualNullSafe(_, literal):
            return value is literal is None or (None not in (value, literal) and place(value) == place(literal))
        case sql.In(_, literals):
            found = [truth(sql.EqualTo(pushed.attribute, one), value) for one in literals]
            return True if True in found else None if None in found else False
    if value is None or pushed.value is None:
        return None
    if type(pushed) in ORDER:
        return ORDER[type(pushed)](place(value), place(pushed.value))
    return TEXTS[type(pushed)](value, pushed.value)


def filters(name: str) -> Iterator[sql.Filter]:
    """Yield every kind of filter on a column, with each of its values and null as literals, and its negations."""
    values = COLUMNS[name][1]
    lists = [(one, other) for one in values for other in (*values, None)]
    kinds = [*ORDER, sql.EqualNullSafe, *(TEXTS if name == "text" else ())]
    plain = [kind(("c",), value) for kind in kinds for value in values]
    plain += [sql.In(("c",), chosen) for chosen in [(None,), *lists]]
    for pushed in [*plain, sql.EqualNullSafe(("c",), None), sql.IsNull(("c",)), sql.IsNotNull(("c",))]:
        yield from (pushed, sql.Not(pushed), sql.Not(sql.Not(pushed)))


@pytest.mark.parametrize("name", COLUMNS)
def test_no_row_is_lost_for_which_a_filter_is_true(name: str) -> None:
    """A condition holds wherever its filter is true, and elsewhere only for few filters, and never for null."""
    kind, values = COLUMNS[name]
    table = pa.table({"c": pa.array([*values, None], kind)})
    for pushed in filters(name):
        condition = as_condition(pushed, table.schema)
        wanted = [truth(pushed, value) is True for value in [*values, None]]
        found = wanted if condition is None else match_rows(condition, table).to_pylist()
        assert found == wanted or (is_wide(pushed) and found[-1] == wanted[-1]), pushed
        assert all(one or not other for one, other in zip(found, wanted, strict=True)), pushed


def is_wide(pushed: Any) -> bool:
    """Say of which filters conditions are known to let more through."""
    while isinstance(pushed, sql.Not):
        pushed = pushed.child
    literals = pushed.value if isinstance(pushed, sql.In) else (pushed.value,)
    zeros = isinstance(pushed, sql.In) and 0.0 in literals
    texts = isinstance(pushed, sql.StringStartsWith | sql.StringEndsWith | sql.StringContains)
    ordered_flags = any(isinstance(one, bool) for one in literals)
    return (
        zeros
        or texts
        or ordered_flags
        or any(isinstance(one, Decimal) and len(one.as_tuple().digits) >= 28 for one in literals)
    )


CONDITIONS = {
    "equal": (sql.EqualTo(("x",), 1), "x == 1"),
    "other": (sql.Not(sql.EqualTo(("x",), 1)), "(x != 1) & (~(x is null))"),
    "not greater": (sql.Not(sql.GreaterThan(("x",), 1)), "x <= 1"),
    "null-safe": (sql.EqualNullSafe(("x",), 1), "x == 1"),
    "other, null-safe": (sql.Not(sql.EqualNullSafe(("x",), 1)), "x != 1"),
    "in, with null": (sql.In(("x",), (1, None)), "x in (1)"),
    "not in, with null": (sql.Not(sql.In(("x",), (1, None))), "false"),
    "greater, of floats": (sql.GreaterThan(("v",), 1.5), "((v > 1.5) | (v == nan)) & (~(v is null))"),
    "less, of floats": (sql.LessThan(("v",), 1.5), "v < 1.5"),
    "beginning": (sql.StringStartsWith(("s",), "ab"), '(s >= "ab") & (s < "ac")'),
    "beginning, last of all": (sql.StringStartsWith(("s",), "\U0010ffff"), 's >= "\U0010ffff"'),
    "end": (sql.StringEndsWith(("s",), "ab"), "~(s is null)"),
    "text of a time": (sql.EqualTo(("t",), "12:00:00.000000"), "~(t is null)"),
}


@pytest.mark.parametrize(("pushed", "text"), CONDITIONS.values(), ids=CONDITIONS)
def test_what_filters_become(pushed: sql.Filter, text: str) -> None:
    """Each kind of filter has its condition."""
    record = pa.schema([("x", pa.int64()), ("v", pa.float64()), ("s", pa.string()), ("t", pa.time64("us"))])
    assert str(as_condition(pushed, record)) == text


NOTHING_SAID = {
    "part of a struct": (sql.EqualTo(("z", "a"), 1), pa.struct([("a", pa.int64())])),
    "list": (sql.IsNotNull(("z",)), pa.list_(pa.int64())),
    "unknown column": (sql.EqualTo(("y",), 1), pa.int64()),
    "literal out of range": (sql.GreaterThan(("z",), Decimal(-1)), pa.uint64()),
    "time or null": (sql.Not(sql.EqualNullSafe(("z",), "12:00:00")), pa.time64("us")),
}


@pytest.mark.parametrize(("pushed", "kind"), NOTHING_SAID.values(), ids=NOTHING_SAID)
def test_what_cannot_be_said_is_left_to_spark(pushed: sql.Filter, kind: pa.DataType) -> None:
    """A filter that does not translate exactly or more widely says nothing."""
    assert as_condition(pushed, pa.schema([("z", kind)])) is None


def test_rounded_decimals_are_not_compared() -> None:
    """Spark's worker rounds literals to 28 digits, so that longer ones only ask for a value."""
    record = pa.schema([("d", pa.decimal128(38, 2))])
    rounded = Decimal("12345678901234567890123456789.01") + 0
    assert str(as_condition(sql.EqualTo(("d",), rounded), record)) == "~(d is null)"
    assert str(as_condition(sql.EqualTo(("d",), Decimal("1.5")), record)) == 'd == decimal"1.50"'


@pytest.mark.parametrize("pushed", [sql.IsNull(("v2",)), sql.Not(sql.EqualNullSafe(("v2",), 1))], ids=["null", "other"])
def test_a_joined_column_is_only_asked_for_values(pushed: sql.Filter) -> None:
    """A cell without partner has null in the column, so that a filter that null passes says nothing of the dataset."""
    record = pa.schema([("v2", pa.int64())])
    assert as_condition(pushed, record, joined={"v2"}) is None
    assert as_condition(pushed, record) is not None


@pytest.mark.parametrize(
    "pushed", [sql.GreaterThan(("v2",), 1.5), sql.Not(sql.EqualTo(("v2",), 1.5)), sql.In(("v2",), (math.nan,))], ids=str
)
def test_a_joined_column_may_be_asked_for_nan(pushed: sql.Filter) -> None:
    """NaN is found without letting null pass, so that these filters count for a joined column too."""
    condition = as_condition(pushed, pa.schema([("v2", pa.float64())]), joined={"v2"})
    assert condition is not None
    assert not match_rows(condition, pa.table({"v2": pa.nulls(1, pa.float64())}))[0].as_py()
