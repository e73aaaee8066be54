"""Column types for tests: the values of each, the type under which they are kept, and how else they are written.

:data:`FLAT` has every flat type of the format by name; :func:`nested_kinds` makes lists and structs of them. Values
are plain Python values as Arrow gives them back from the type of record, picked such that edges and equal values are
frequent: extreme numbers, both zeros, the first and the last day, texts that paths and queries are sensitive to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

Values = st.SearchStrategy[Any]

_EAST = timezone(timedelta(hours=5, minutes=30))
_TEXTS = (
    "", "a", "b", "A", "a/b", "%", "%2F", "=", "p=1", "+", " ", ".", "..", "'", '"', "`", "\\", "\n", "\0", "é",
    "e\u0301", "🙂", "\uffff", "nan", "None", "null", "1", "a" * 70,
)  # fmt: skip
_BYTES = (b"", b"a", b"b", b"a/b", b"%", b"\n", b"\0", b"\0\0", "é".encode(), b"\x7f", b"\x80", b"\xff", b"\xff\0")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column can be given as: the type, its values (never null), and the type of record.

    ``partition`` has the values that a partition column of this type may have, ``None`` where it can be none;
    ``optional`` is ``values`` with null among them.
    """

    given: pa.DataType
    record: pa.DataType
    values: Values = field(repr=False)
    partition: Values | None = field(default=None, repr=False)
    optional: Values = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make the strategy with null once, as each one made is checked anew."""
        object.__setattr__(self, "optional", st.none() | self.values)

    @property
    def flat(self) -> bool:
        """Whether values have an order, so that the column can be sorted by and indexed."""
        return not pa.types.is_nested(self.record) and not pa.types.is_null(self.record)

    def array(self, values: Sequence[Any]) -> pa.Array:
        """Return values and nulls as an array of the given type."""
        if pa.types.is_run_end_encoded(self.given):
            return pc.run_end_encode(pa.array(values, self.given.value_type))
        if pa.types.is_dictionary(self.given):
            return pa.array(values, self.given.value_type).dictionary_encode().cast(self.given)
        return pa.array(values, self.given)


def _edges(edges: Iterable[Any], others: Values) -> Values:
    """Return a strategy in which some values come again and again."""
    return st.one_of(st.sampled_from(list(edges)), others)


def _integers(given: pa.DataType) -> Kind:
    bits, signed = given.bit_width, pa.types.is_signed_integer(given)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    values = _edges([low, low + 1, 0, 1, 2, high - 1, high], st.integers(low, high))
    return Kind(given, pa.int64() if signed else pa.uint64(), values, values)


def _floats(given: pa.DataType, *, record: pa.DataType | None = None) -> Kind:
    width: Any = given.bit_width
    numbers = st.floats(width=width, allow_nan=False)
    edges = [0.0, -0.0, 0.0, -0.0, 1.0, 2.0, -1.5, math.inf, -math.inf]
    partition = _edges(edges, numbers)
    return Kind(given, record or pa.float64(), partition | st.just(math.nan), partition)


def _decimals(given: pa.DataType) -> Kind:
    top = 10**given.precision - 1
    numbers = _edges([0, 1, -1, 10, 10**given.scale, top, -top], st.integers(-top, top)).filter(
        lambda number: abs(number) <= top
    )
    values = numbers.map(lambda number: Decimal(f"{number}E-{given.scale}"))
    wide = pa.types.is_decimal256(given)
    return Kind(given, given if wide else pa.decimal128(given.precision, given.scale), values, values)


def _timestamps(given: pa.DataType) -> Kind:
    low, high = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001  no zone
    if given.unit == "ns":
        low, high = datetime(1677, 9, 22), datetime(2262, 4, 10)  # noqa: DTZ001  no zone
    step = {"s": 1_000_000, "ms": 1000}.get(given.unit, 1)
    days = [low, high, *(datetime(y, 1, 1) for y in (1969, 1970, 2020)), datetime(2020, 3, 29, 2, 30, 15, 123456)]  # noqa: DTZ001  no zone
    moments = _edges(days, st.datetimes(low, high)).map(
        lambda moment: moment.replace(microsecond=moment.microsecond // step * step, fold=0)
    )
    if given.tz is None:
        return Kind(given, pa.timestamp("us"), moments, moments)
    return Kind(given, pa.timestamp("us", "UTC"), moments.map(lambda moment: moment.replace(tzinfo=UTC)))


def _times(given: pa.DataType) -> Kind:
    step = {"s": 1_000_000, "ms": 1000}.get(given.unit, 1)
    clocks = _edges([time(0), time(12, 30), time.max], st.times())
    return Kind(
        given, pa.time64("us"), clocks.map(lambda c: c.replace(microsecond=c.microsecond // step * step, fold=0))
    )


def _texts(given: pa.DataType) -> Kind:
    values = _edges(_TEXTS, st.text(max_size=4))
    return Kind(given, pa.string(), values, values)


def _bytes(given: pa.DataType) -> Kind:
    values, texts = _edges(_BYTES, st.binary(max_size=3)), _edges(_TEXTS, st.text(max_size=3)).map(str.encode)
    if pa.types.is_fixed_size_binary(given):
        size = given.byte_width
        texts = st.sampled_from(["ab", "a/", "%=", "\0\n", "é"]).map(str.encode)
        values = texts | st.binary(min_size=size, max_size=size)
    return Kind(given, pa.binary(), values, texts)


def _dates(given: pa.DataType) -> Kind:
    values = _edges([date.min, date.max, date(1969, 12, 31), date(1970, 1, 1), date(2020, 2, 29)], st.dates())
    return Kind(given, pa.date32(), values, values)


def _encoded(given: pa.DataType, of: Kind) -> Kind:
    return Kind(given, of.record, of.values, of.partition)


def _flat_kinds() -> dict[str, Kind]:
    booleans = st.booleans()
    kinds = [
        Kind(pa.bool_(), pa.bool_(), booleans, booleans),
        *map(_integers, (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
        *map(_integers, (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
        *map(_floats, (pa.float16(), pa.float32(), pa.float64())),
        *map(_texts, (pa.string(), pa.large_string(), pa.string_view())),
        *map(_bytes, (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))),
        *map(_dates, (pa.date32(), pa.date64())),
        *map(_times, (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))),
        *(_timestamps(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        *(_timestamps(pa.timestamp(*zone)) for zone in (("us", "UTC"), ("ms", "Europe/Berlin"), ("ns", "+05:30"))),
        *map(_decimals, (pa.decimal32(5, 2), pa.decimal64(12, 0), pa.decimal128(4, 4), pa.decimal128(38, 18))),
        _decimals(pa.decimal256(50, 3)),
    ]
    encoded = [
        _encoded(pa.dictionary(pa.int8(), pa.string()), _texts(pa.string())),
        _encoded(pa.dictionary(pa.int32(), pa.large_string()), _texts(pa.string())),
        _encoded(pa.dictionary(pa.int16(), pa.int32()), _integers(pa.int32())),
        _encoded(pa.dictionary(pa.uint8(), pa.timestamp("ms")), _timestamps(pa.timestamp("ms"))),
        _encoded(pa.run_end_encoded(pa.int32(), pa.int16()), _integers(pa.int16())),
        _encoded(pa.run_end_encoded(pa.int32(), pa.string()), _texts(pa.string())),
    ]
    return {str(kind.given): kind for kind in (*kinds, *encoded)}


FLAT = _flat_kinds()
"""Every flat type that the format holds, and some encodings of them, by Arrow's name of the given type."""

NULL = Kind(pa.null(), pa.null(), st.nothing())
"""The type of a column without any value."""


@cache
def flat_kinds(among: tuple[Kind, ...] = tuple(FLAT.values())) -> st.SearchStrategy[Kind]:
    """Return a strategy for flat types, which can be indexed and sorted by; floats, with most edges, are frequent."""
    floats = [kind for kind in among if pa.types.is_floating(kind.record)]
    return st.sampled_from([*among, *floats, *floats, *floats])


@cache
def partition_kinds(among: tuple[Kind, ...] = tuple(FLAT.values())) -> st.SearchStrategy[Kind]:
    """Return a strategy for types that a partition column may have, with the values that it may have."""
    may = [(kind, kind.partition) for kind in among]
    return st.sampled_from([replace(kind, values=values) for kind, values in may if values is not None])


@cache
def nested_kinds() -> st.SearchStrategy[Kind]:
    """Return a strategy for lists and structs, up to two deep, with nulls inside."""
    plain = st.sampled_from([kind for kind in FLAT.values() if kind.given.id not in _NEVER_NESTED])
    return st.recursive(plain, lambda inner: _lists(inner) | _structs(inner), max_leaves=3).filter(
        lambda kind: pa.types.is_nested(kind.record)
    )


_NEVER_NESTED = {pa.dictionary(pa.int8(), pa.int8()).id, pa.run_end_encoded(pa.int32(), pa.int8()).id}


def _lists(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    def as_list(item: Kind, make: Any, size: int | None) -> Kind:
        values = st.lists(item.optional, min_size=size or 0, max_size=2 if size is None else size)
        return Kind(make(item.given), pa.list_(item.record), values)

    return st.one_of(
        st.builds(as_list, inner, st.sampled_from([pa.list_, pa.large_list]), st.none()),
        st.builds(as_list, inner, st.just(lambda given: pa.list_(given, 2)), st.just(2)),
    )


def _structs(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    def as_struct(fields: dict[str, Kind]) -> Kind:
        return Kind(
            pa.struct([(name, kind.given) for name, kind in fields.items()]),
            pa.struct([(name, kind.record) for name, kind in fields.items()]),
            st.fixed_dictionaries({name: kind.optional for name, kind in fields.items()}),
        )

    names = st.sampled_from(["a", "b", "x", "ü /", "a.b", "list", "item"])
    return st.dictionaries(names, inner, min_size=1, max_size=2).map(as_struct)


def spellings(value: Any, record: pa.DataType) -> list[Any]:
    """Return literals of all types that mean this value in a column of the type of record, itself first.

    Examples
    --------
    >>> spellings(date(2020, 1, 31), pa.date32())[:3]
    [datetime.date(2020, 1, 31), '2020-01-31', datetime.datetime(2020, 1, 31, 0, 0)]
    """
    if value is None or value != value or pa.types.is_nested(record) or pa.types.is_null(record):
        return [value]
    others: list[Any]
    match value:
        case bool():
            others = [np.bool_(value)]
        case int():
            near = [float(value)] if abs(value) < 2**62 and int(float(value)) == value else []
            others = [Decimal(value), *near, *([np.int64(value)] if -(2**63) <= value < 2**63 else [np.uint64(value)])]
        case float():
            whole = [int(value), -value][: 2 if value == 0 else 1] if value.is_integer() else []
            others = [np.float64(value), *whole, *([Decimal(repr(value))] if math.isfinite(value) else [])]
        case Decimal():
            others = _decimal_spellings(value)
        case str():
            others = [np.str_(value)] if not value.endswith("\0") else []
        case bytes():
            others = [bytearray(value), memoryview(value)]
        case datetime():
            others = _moment_spellings(value)
        case date():
            others = [value.isoformat(), datetime.combine(value, time()), f"{value}T00:00:00", np.datetime64(value)]
        case _:
            others = [value.isoformat()]
    return [value, *others, pa.scalar(value, record)]


def _decimal_spellings(value: Decimal) -> list[Any]:
    with localcontext(prec=76):
        others: list[Any] = [value.normalize()]
        if value == value.to_integral_value():
            others.append(int(value))
    return [*others, *([float(value)] if Decimal(repr(float(value))) == value else [])]


def _moment_spellings(value: datetime) -> list[Any]:
    if value.tzinfo is None:
        day = [value.date()] if value.time() == time() else []
        return [value.isoformat(), value.isoformat(" "), np.datetime64(value), *day]
    east = [value.astimezone(_EAST), value.astimezone(_EAST).isoformat()] if 1 < value.year < 9999 else []
    return [value.isoformat(), value.replace(tzinfo=None).isoformat() + "Z", *east]
