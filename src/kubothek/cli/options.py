"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import re
from datetime import timedelta

import click

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PARAMETERS = ("url", "backend")  # of a store's class, which are no options of the store

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only say what would go.")


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
