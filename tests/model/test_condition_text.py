"""The text form of conditions: what it means, that it reads back, and where it points when it is wrong."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.errors import InvalidInputError
from kubothek.model.condition import EVERYTHING, NOTHING, C, Comparison, IsIn, IsNull, Not
from kubothek.model.condition_text import parse_text
from kubothek.testing.conditions import conditions

X1, Y2, V3 = C("x") == 1, C("y") < 2, C("v1") > 3


def unfolded(moment):
    """Leave out which of two equal clock times is meant, which ISO text cannot say."""
    return moment.replace(fold=0)


ZONES = st.integers(-720, 720).map(lambda minutes: timezone(timedelta(minutes=minutes)))
LITERALS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.times().map(unfolded),
    st.datetimes().map(unfolded),
    st.datetimes(timezones=ZONES).map(unfolded),
    st.decimals(allow_nan=False),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('COUNTRY_CODE == "DE" & TEMP < 0', (C("COUNTRY_CODE") == "DE") & (C("TEMP") < 0)),
        ("x = 1", X1),
        ("x <> 1", C("x") != 1),
        ("x==-1", C("x") == -1),
        ("0 < x", C("x") > 0),
        ("1 == x & 2 > y", X1 & Y2),
        ("x == 1 & y < 2 | v1 > 3", (X1 & Y2) | V3),
        ("v1 > 3 | x == 1 & y < 2", V3 | (X1 & Y2)),
        ("x == 1 AND (y < 2 or v1 > 3)", X1 & (Y2 | V3)),
        ("x == 1 && y < 2 || v1 > 3", (X1 & Y2) | V3),
        ("not x == 1 and y < 2", ~X1 & Y2),
        ("~(x == 1 | y < 2)", ~(X1 | Y2)),
        ("!x == 1", ~X1),
        ("x in (1, 2.5, 'a')", IsIn("x", (1, 2.5, "a"))),
        ("x in [1,]", IsIn("x", (1,))),
        ("x in ()", IsIn("x", ())),
        ("x not in (1)", Not(IsIn("x", (1,)))),
        ("x is null", IsNull("x")),
        ("x IS NOT NULL", Not(IsNull("x"))),
        ("x == None", Comparison("x", "==", None)),
        ("x != null", Comparison("x", "!=", None)),
        ("x == true & y == False", (C("x") == True) & (C("y") == False)),  # noqa: E712
        ("x >= 2020-01-31", C("x") >= date(2020, 1, 31)),
        ('x >= date"2020-01-31"', C("x") >= date(2020, 1, 31)),
        ("x < 2020-01-31T12:00", C("x") < datetime(2020, 1, 31, 12)),  # noqa: DTZ001  no zone
        ("x < 2020-01-31T12:00:00.25Z", C("x") < datetime(2020, 1, 31, 12, 0, 0, 250000, UTC)),
        ("x == 12:30:00", C("x") == time(12, 30)),
        ('x == decimal"1.10"', C("x") == Decimal("1.10")),
        (r'x == b"\x00a"', C("x") == b"\x00a"),
        (r"x == 'it\'s \u00fc\n'", C("x") == "it's ü\n"),
        ("x == 'a \"b\" & (c)'", C("x") == 'a "b" & (c)'),
        ("x == 1e3 & y == -.5", (C("x") == 1000.0) & (C("y") == -0.5)),
        ("x < inf & y > -inf", (C("x") < float("inf")) & (C("y") > float("-inf"))),
        ("`wind speed` > 1 & `a``b` > 1", (C("wind speed") > 1) & (C("a`b") > 1)),
        ("größe > 1 & date == 1 & b == 2", (C("größe") > 1) & (C("date") == 1) & (C("b") == 2)),
        ("x between 1 and 5 and y < 2", (C("x") >= 1) & (C("x") <= 5) & Y2),
        ("x NOT BETWEEN 1 AND 5", ~((C("x") >= 1) & (C("x") <= 5))),
        ("between == 1 | between between 1 and 2", (C("between") == 1) | (C("between") >= 1) & (C("between") <= 2)),
        ("x == 'it''s'", C("x") == "it's"),
        ('x in ("say ""a""", \'\', "")', IsIn("x", ('say "a"', "", ""))),
        ("x < 2020-01-31 12:00", C("x") < datetime(2020, 1, 31, 12)),  # noqa: DTZ001  no zone
        ("x < 12:00:00.250000000", C("x") < time(12, 0, 0, 250000)),
        ("", EVERYTHING),
        ("true", EVERYTHING),
        ("false", NOTHING),
    ],
)
def test_text_means(text, expected):
    """Each form of the grammar gives the condition that the expression gives."""
    assert repr(parse_text(text)) == repr(expected)


@given(conditions({"x": LITERALS, "wind speed": LITERALS, "in": LITERALS, "`": LITERALS}))
def test_the_text_of_a_condition_reads_back(condition):
    """``str`` and ``parse_text`` are inverse, whatever the literals and names are."""
    assert repr(parse_text(str(condition))) == repr(condition)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int8(3), "3"),
        (np.float32(0.5), "0.5"),
        (np.bool_(True), "true"),
        (np.datetime64("2020-01-31"), "2020-01-31"),
        (np.datetime64("2020-01-31T12"), "2020-01-31T12:00:00"),
        (np.datetime64("NaT"), "null"),
        (pd.Timestamp("2020-01-31 12:00"), "2020-01-31T12:00:00"),
        (pd.NaT, "null"),
        (pd.NA, "null"),
        (pa.scalar(1, pa.int8()), "1"),
        (pa.scalar(date(2020, 1, 31)), "2020-01-31"),
    ],
    ids=repr,
)
def test_scalars_of_other_libraries_print_as_what_they_are(value, text):
    """NumPy's, pandas' and Arrow's scalars have the text of the plain value."""
    assert str(Comparison("x", "==", value)) == f"x == {text}"


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("x ==", 4, "a value was expected"),
        ("x == y", 5, "texts? is written in quotes|written in quotes"),
        ("x", 1, "an operator"),
        ("a-1 == 2", 1, "backticks"),
        ("(x == 1", 7, "closing parenthesis"),
        ("x == 1)", 6, "the end"),
        ("x == 1 y == 2", 7, "the end"),
        ("0 < x < 5", 6, "one comparison at a time"),
        ("x < 5 < 7", 6, "one comparison at a time"),
        ("x in (1, 2", 10, "end of the list"),
        ("x in 1", 5, "a list"),
        ("x is 3", 5, "null"),
        ("x < null", 4, "no order"),
        ("x == 'abc", 5, "never closed"),
        ("x == 2020-13-01", 5, "month"),
        ("x == decimal'a'", 5, "no decimal"),
        (r"x == '\q'", 5, "escape"),
        ("x == b'ü'", 5, "ASCII"),
        ("x == 12abc", 5, "no meaning"),
        ("x < 1e400", 4, "no float is so large"),
        ("x < 2020-01-31T12:00:00.1234567", 4, "microseconds"),
        ("x between 1", 11, "the other bound"),
        ("x between null and 5", 10, "no order"),
        ("x not == 1", 6, "'in' or 'between'"),
        ("`between` `between` 1 and 2", 10, "an operator"),
        ("x == 1 &\n  y @ 2", 13, "no meaning"),
    ],
)
def test_a_wrong_text_points_at_the_place(text, position, problem):
    """The message has the line and a caret under the position, which the error also carries."""
    with pytest.raises(InvalidInputError, match=problem) as caught:
        parse_text(text)
    *_, line, caret = str(caught.value).split("\n")
    assert caught.value.position == position
    assert text.split("\n")[-1] in line
    assert caret.index("^") - 2 == position - (text.rfind("\n", 0, position) + 1)


def test_a_text_nested_too_deeply_is_refused():
    """No text can exhaust the stack."""
    with pytest.raises(InvalidInputError, match="too deeply"):
        parse_text("(" * 10_000 + "x == 1" + ")" * 10_000)
