"""The text form of conditions: ``COUNTRY_CODE == "DE" & TEMP < 0``.

A tokenizer and a recursive descent, one function per line of the grammar::

    either     = both { ("|" | "or") both }
    both       = single { ("&" | "and") single }
    single     = ("~" | "!" | "not") single | "(" either ")" | comparison
    comparison = column operator literal | literal operator column
               | column ["not"] "in" "(" [ literal { "," literal } ] ")"
               | column ["not"] "between" literal "and" literal
               | column "is" ["not"] "null" | "true" | "false"

A comparison binds tighter than "not", "not" than "&", and "&" than "|", whether they are written as words or as signs.
As in SQL, both bounds of "between" belong to it, and a quote within quotes may be written twice.
Literals and names are described in ``kubothek.model.literal``. What a quoted text means (a date, say) is decided when
the condition meets its columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, cast

from kubothek.errors import InvalidInputError
from kubothek.model.condition import (
    EVERYTHING,
    NOTHING,
    Comparison,
    Condition,
    IsIn,
    IsNull,
    Not,
    Operator,
    all_of,
    any_of,
)
from kubothek.model.literal import whole_microseconds
from kubothek.model.names import WORDS

_CLOCK = r"\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<quoted>(?P<kind>b|date|timestamp|time|decimal)?
      (?P<quote>["'])(?P<body>(?:(?!(?P=quote))[^\\]|\\.|(?P=quote){{2}})*)(?P=quote))
    | `(?P<column>(?:[^`]|``)+)`
    | (?P<timestamp>\d{{4}}-\d{{2}}-\d{{2}}[T ]{_CLOCK}(?!\w))
    | (?P<date>\d{{4}}-\d{{2}}-\d{{2}}(?!\w))
    | (?P<time>{_CLOCK}(?!\w))
    | (?P<number>[+-]?(?:(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?|(?i:inf))(?![\w.]))
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>==|!=|<>|<=|>=|&&|\|\||[=<>&|~!(),\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0", "/": "/", "\\": "\\", "'": "'", '"': '"'}
_SAME = {"=": "==", "<>": "!=", "&&": "&", "||": "|", "and": "&", "or": "|", "not": "~", "!": "~", "none": "null"}
_FLIPPED: dict[str, Operator] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CONSTANTS: dict[str, Any] = {"null": None, "true": True, "false": False, "nan": float("nan"), "inf": float("inf")}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "column", "literal", "end", or the sign or word itself
    value: Any
    start: int
    plain: bool = False  # whether it is a column without backticks


def parse_text(text: str) -> Condition:
    """Return the condition that a text describes; an empty text matches everything.

    Raises
    ------
    InvalidInputError
        If the text does not follow the grammar; the message points at the place, ``position`` has it.

    Examples
    --------
    >>> parse_text('TEMP < 0 & COUNTRY_CODE in ("DE", "AT") | not DAY >= 2020-01-31')
    Or(parts=(And(parts=(Comparison(column='TEMP', op='<', value=0), IsIn(column='COUNTRY_CODE', values=('DE', 'AT')))),
              Not(part=Comparison(column='DAY', op='>=', value=datetime.date(2020, 1, 31)))))
    """
    try:
        return _Parser(text).condition() if text.strip() else EVERYTHING
    except RecursionError:
        raise InvalidInputError("Cannot read the condition: it is nested too deeply.", text=text) from None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokens())
        self.next = 0

    def condition(self) -> Condition:
        found = self._either()
        if self._peek() != "end":
            self._refuse("an operator (&, |) or the end was expected here")
        return found

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._take("|"):
            parts.append(self._both())
        return any_of(parts) if len(parts) > 1 else parts[0]

    def _both(self) -> Condition:
        parts = [self._single()]
        while self._take("&"):
            parts.append(self._single())
        return all_of(parts) if len(parts) > 1 else parts[0]

    def _single(self) -> Condition:
        if self._take("~"):
            return Not(self._single())
        if self._take("("):
            inner = self._either()
            self._expect(")", "a closing parenthesis")
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        if self._peek() == "literal":
            return self._flipped()
        column: str = self._expect("column", "a column, a value, 'not' or '('").value
        if self._take("is"):
            negated = self._take("~")
            if self._expect("literal", "'null'").value is not None:
                self._refuse("'is' can only be followed by 'null' or 'not null'", back=1)
            return Not(IsNull(column)) if negated else IsNull(column)
        if self._take("~"):
            return Not(self._membership(column, "'in' or 'between'"))
        if self._peek() == "in" or self._is_between():
            return self._membership(column, "'in'")
        op = self._operator()
        if self._peek() == "column":
            self._refuse("a value was expected here; a text is written in quotes, and columns are compared with values")
        value = self._expect("literal", "a value").value
        if self._peek() in _FLIPPED:
            self._refuse("one comparison at a time: write x >= 1 & x < 5")
        return self._compare(column, op, value)

    def _membership(self, column: str, expected: str) -> Condition:
        if not self._is_between():
            self._expect("in", expected)
            return IsIn(column, self._list())
        self.next += 1
        first = self._compare(column, ">=", self._expect("literal", "a value").value)
        self._expect("&", "'and' and the other bound")
        return all_of((first, self._compare(column, "<=", self._expect("literal", "a value").value)))

    def _is_between(self) -> bool:
        """Whether the word comes next; it has its meaning only here, so that columns may have this name."""
        token = self.tokens[self.next]
        return token.kind == "column" and token.plain and token.value.casefold() == "between"

    def _flipped(self) -> Condition:
        value = self._expect("literal", "a value").value
        if self._peek() not in _FLIPPED and isinstance(value, bool):
            return EVERYTHING if value else NOTHING
        op = _FLIPPED[self._operator()]
        column: str = self._expect("column", "a column").value
        if self._peek() in _FLIPPED:
            self._refuse("one comparison at a time: write x >= 1 & x < 5")
        return self._compare(column, op, value)

    def _compare(self, column: str, op: Operator, value: Any) -> Condition:
        if value is None and op not in ("==", "!="):
            self._refuse("null has no order: use 'is null', 'is not null', == or !=", back=1)
        return Comparison(column, op, value)

    def _operator(self) -> Operator:
        sign = self._peek()
        if sign not in _FLIPPED:
            signs = "==, !=, <, <=, >, >=, in, is, between"
            self._refuse(f"an operator ({signs}) was expected here; odd names go in `backticks`")
        self.next += 1
        return cast(Operator, sign)

    def _list(self) -> tuple[Any, ...]:
        close = "]" if self._take("[") else ")"
        if close == ")":
            self._expect("(", "a list in parentheses")
        values = []
        while self._peek() == "literal":
            values.append(self._expect("literal", "a value").value)
            if not self._take(","):
                break
        self._expect(close, "a value, a comma or the end of the list")
        return tuple(values)

    def _peek(self) -> str:
        return self.tokens[self.next].kind

    def _take(self, kind: str) -> bool:
        taken = self._peek() == kind
        self.next += taken
        return taken

    def _expect(self, kind: str, what: str) -> _Token:
        if not self._take(kind):
            self._refuse(f"{what} was expected here")
        return self.tokens[self.next - 1]

    def _refuse(self, problem: str, *, back: int = 0) -> NoReturn:
        _refuse(self.text, self.tokens[self.next - back].start, problem)

    def _tokens(self) -> Iterator[_Token]:
        start = 0
        while start < len(self.text):
            found = _TOKEN.match(self.text, start)
            if found is None:
                quote = self.text[start] in "\"'`"
                _refuse(self.text, start, "this quote is never closed" if quote else "this has no meaning here")
            if found.lastgroup != "space":
                yield _token(self.text, found)
            start = found.end()
        yield _Token("end", None, len(self.text))


def _token(text: str, found: re.Match[str]) -> _Token:
    kind, start = found.lastgroup or "", found.start()
    if kind == "column":
        return _Token("column", found["column"].replace("``", "`"), start)
    if kind == "word" and found[0].casefold() not in WORDS:
        return _Token("column", found[0], start, plain=True)
    if kind in ("word", "sign"):
        word = _SAME.get(found[0].casefold(), found[0].casefold())
        return _Token("literal", _CONSTANTS[word], start) if word in _CONSTANTS else _Token(word, None, start)
    try:
        return _Token("literal", _literal(found), start)
    except InvalidOperation:
        _refuse(text, start, "this is no decimal number")
    except ValueError as error:
        _refuse(text, start, f"this is no valid value ({error})")


def _literal(found: re.Match[str]) -> Any:
    kind, body = found.lastgroup, found[0]
    if kind == "quoted":
        kind, quote = found["kind"] or "text", found["quote"]
        body = _ESCAPE.sub(_unescape, found["body"].replace(quote * 2, quote))
        if kind == "b" and not found["body"].isascii():
            raise ValueError(r"bytes are written in ASCII, others as \x00 to \xff")
    match kind:
        case "b":
            return body.encode("latin-1")
        case "timestamp":
            return datetime.fromisoformat(whole_microseconds(body))
        case "date":
            return date.fromisoformat(body)
        case "time":
            return time.fromisoformat(whole_microseconds(body))
        case "decimal":
            return Decimal(body)
        case "number":
            return int(body) if body.lstrip("+-").isdecimal() else _float(body)
    return body


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number) and "inf" not in text.casefold():
        raise ValueError("no float is so large")
    return number


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(int(code, 16))
    if found[4] not in _ESCAPED:
        raise ValueError(f"unknown escape \\{found[4]}; a backslash is written \\\\")
    return _ESCAPED[found[4]]


def _refuse(text: str, position: int, problem: str) -> NoReturn:
    """Raise with the line of the text and a caret under the place."""
    line_start = text.rfind("\n", 0, position) + 1
    line = text[line_start:].split("\n", 1)[0].replace("\t", " ")
    caret = " " * (position - line_start) + "^"
    raise InvalidInputError(
        f"Cannot read the condition: {problem}.\n  {line}\n  {caret}", text=text, position=position, problem=problem
    )
