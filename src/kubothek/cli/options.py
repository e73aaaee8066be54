"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import click

import kubothek as kb
from kubothek.plan.retention import DEFAULT_KEEP

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_VERSION_DIGITS = 8  # so many digits are a date to ISO 8601
_PARAMETERS = ("url", "backend")  # of a store's class, which are no options of the store


def parse_duration(text: str) -> timedelta:
    """Return the duration that a number and a unit mean.

    Raises
    ------
    click.BadParameter
        The text is none, or too long a time.

    Examples
    --------
    >>> parse_duration("90m"), parse_duration("1.5d")
    (datetime.timedelta(seconds=5400), datetime.timedelta(days=1, seconds=43200))
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no duration; write a number and a unit, such as 30m, 12h or 7d.")
    try:
        return timedelta(**{_UNITS[found[2]]: float(found[1])})
    except OverflowError as error:
        raise click.BadParameter(f"{text!r} is longer than can be reckoned with.") from error


def parse_keep(text: str) -> int | timedelta:
    """Return how many versions a number means, or how far back those go that a duration means.

    Raises
    ------
    click.BadParameter
        The text is neither.

    Examples
    --------
    >>> parse_keep("20"), parse_keep("7d")
    (20, datetime.timedelta(days=7))
    """
    if text.isdecimal() and text.isascii() and 1 <= int(text) < 2**63:
        return int(text)
    if _DURATION.fullmatch(text.strip()) is None:
        raise click.BadParameter(f"{text!r} is neither a number of versions nor a duration; write 20, 12h or 7d.")
    return parse_duration(text)


def parse_time(text: str) -> datetime:
    """Return the time that a text means, as ISO 8601 writes it; without a zone it is UTC.

    Raises
    ------
    click.BadParameter
        The text is none.

    Examples
    --------
    >>> parse_time("2026-07-01T12:00").isoformat()
    '2026-07-01T12:00:00+00:00'
    """
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no time; write 2026-07-01 or 2026-07-01T12:30:00+02:00.") from error
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def parse_version(text: str) -> int | datetime:
    """Return the version of a dataset that a text means: its number, or a time at which it was current.

    Raises
    ------
    click.BadParameter
        The text is neither.

    Examples
    --------
    >>> parse_version("7"), parse_version("2026-07-01").isoformat()
    (7, '2026-07-01T00:00:00+00:00')
    """
    if text.isdecimal() and text.isascii() and len(text) < _VERSION_DIGITS:
        return int(text)
    try:
        return parse_time(text)
    except click.BadParameter as error:
        raise click.BadParameter(f"{text!r} is no number of a version, and {error.message}") from error


def parse_key_value(text: str) -> tuple[str, str | bool]:
    """Return the key and the value of ``key=value``; ``true`` and ``false`` are truth values.

    Raises
    ------
    click.BadParameter
        The text is none, or its key cannot be an option.

    Examples
    --------
    >>> parse_key_value("region=eu-west-1"), parse_key_value("fsync=false")
    (('region', 'eu-west-1'), ('fsync', False))
    """
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"{text!r} is no option; write it as key=value.")
    if key in _PARAMETERS:
        raise click.BadParameter(f"{key!r} is no option of a store.")
    return key, {"true": True, "false": False}.get(value.lower(), value)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only say what would go.")
older_than_option = click.option(
    "--older-than",
    metavar="DURATION",
    type=parse_duration,
    default="1d",
    show_default=True,
    help="Spare what was written or replaced since, as somebody may need it; such as 30m, 12h or 7d.",
)
keep_option = click.option(
    "--keep",
    metavar="N|DURATION",
    type=parse_keep,
    help=f"Versions to keep: so many, or those of so long, such as 12h or 7d; {DEFAULT_KEEP} if not given.",
)


def to_store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that name the store of a copy; it gets that as ``other``, ``None`` without."""

    @functools.wraps(command)
    def opened(
        *arguments: Any, to_store: str | None, to_store_options: tuple[tuple[str, str | bool], ...], **others: Any
    ) -> Any:
        if to_store_options and to_store is None:
            raise click.UsageError("--to-store-option goes with --to-store.")
        other = None if to_store is None else kb.Store(to_store, **dict(to_store_options))
        return command(*arguments, other=other, **others)

    opened = click.option(
        "--to-store-option",
        "to_store_options",
        metavar="KEY=VALUE",
        multiple=True,
        type=parse_key_value,
        help="An option of that store; may be given several times.",
    )(opened)
    return click.option("--to-store", metavar="URL", help="Store of the copy; the same if not given.")(opened)
