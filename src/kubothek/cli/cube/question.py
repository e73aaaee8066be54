"""What a command asks of a cube, given by options: ``--where``, ``--columns`` and the like.

:func:`question_options` gives a command these options as one :class:`Question`; :func:`ask` plans it as a query.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click

from kubothek.cli.invocation import CubeTarget
from kubothek.cli.options import parse_time
from kubothek.cube.query import Query, query_cube
from kubothek.errors import InvalidInputError
from kubothek.model.pin import Pin

_NAME = r"\s*(?:`(?:[^`]|``)+`|[^,`\s](?:[^,`]*[^,`\s])?)\s*"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; ``None`` stands for what the query does by default: all columns, datasets and dimensions, now."""

    where: str | None = None
    columns: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None
    dimension_columns: tuple[str, ...] | None = None
    partition_by: tuple[str, ...] = ()
    at: Pin | datetime | None = None


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas; one with a comma or blanks at its ends is written in backticks.

    Raises
    ------
    click.BadParameter
        Something stands where a comma should be, or there is nothing between two.

    Examples
    --------
    >>> parse_names("TEMP, WIND"), parse_names("`a,b`,c"), parse_names("")
    (('TEMP', 'WIND'), ('a,b', 'c'), ())
    """
    if not text.strip():
        return ()
    if not re.fullmatch(f"{_NAME}(?:,{_NAME})*", text):
        raise click.BadParameter(f"{text!r} is no list of names; write a,b with odd names in `backticks`.")
    return tuple(_unquoted(found[0].strip()) for found in re.finditer(_NAME, text))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _names(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...] | None:
    return tuple(name for text in texts for name in parse_names(text)) if texts else None


def _names_option(flag: str, what: str) -> Callable[[Any], Any]:
    return click.option(flag, metavar="NAMES", multiple=True, callback=_names, help=what)


def parse_moment(text: str) -> Pin | datetime:
    """Return the pin or the time that a text means.

    Raises
    ------
    click.BadParameter
        It is neither.

    Examples
    --------
    >>> parse_moment("2026-07-01").isoformat(), str(parse_moment("flights: seed=7/5f2c"))
    ('2026-07-01T00:00:00+00:00', 'flights: seed=7/5f2c')
    """
    if "=" not in text:
        return parse_time(text)
    try:
        return Pin.parse(text)
    except InvalidInputError as error:
        raise click.BadParameter(str(error)) from error


datasets_option = _names_option("--datasets", "Datasets to look at, as a,b, the seed among them.")
_OPTIONS = (
    click.option("--where", metavar="CONDITION", help="""Rows wanted, such as 'COUNTRY_CODE == "DE" & TEMP < 0'."""),
    _names_option("--columns", "Columns wanted, as a,b; dimension and partition columns are always there."),
    datasets_option,
    _names_option("--dimension-columns", "Dimensions to keep, in the order of sorting."),
    _names_option("--partition-by", "Indexed columns by which rows are grouped."),
    click.option(
        "--at",
        metavar="PIN|TIME",
        type=parse_moment,
        help="The versions of a pin, as `pin` prints it, or of a time (UTC), such as 2026-07-01T12:00.",
    ),
)


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what is asked; it gets them as its argument ``question``."""

    @functools.wraps(command)
    def asked(
        *arguments: Any,
        where: str | None,
        columns: tuple[str, ...] | None,
        datasets: tuple[str, ...] | None,
        dimension_columns: tuple[str, ...] | None,
        partition_by: tuple[str, ...] | None,
        at: Pin | datetime | None,
        **others: Any,
    ) -> Any:
        question = Question(where, columns, datasets, dimension_columns, partition_by or (), at)
        return command(*arguments, question=question, **others)

    for option in reversed(_OPTIONS):
        asked = option(asked)
    return asked


def ask(target: CubeTarget, question: Question) -> Query:
    """Plan the query that is asked.

    Raises
    ------
    KubothekError
        There is no such cube, or the question does not fit it.
    """
    return query_cube(
        target.uuid_prefix,
        target.store,
        where=question.where,
        columns=question.columns,
        datasets=question.datasets,
        dimension_columns=question.dimension_columns,
        partition_by=question.partition_by,
        at=question.at,
    )
