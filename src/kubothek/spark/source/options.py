"""What the options of the data source say: texts by name, checked and turned into values, all problems at once.

Spark gives the names of options in small letters, whatever the user wrote. They are compared without underscores too,
so that ``partition_on`` and ``partitionOn`` are the same option. Lists of names are written with commas or, where a
name holds one, as JSON. Options of the store itself begin with ``store.``; secrets are better left to the environment,
because Spark keeps options with its plans.
"""

from __future__ import annotations

import difflib
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from kubothek.errors import InvalidInputError, KubothekError
from kubothek.model.condition import Condition
from kubothek.model.where import parse_where
from kubothek.store.interface import Store

Parse = Callable[[str], Any]

_STORE_PREFIX = "store."
_WORDS = {"true": True, "false": False}
_NOT_OF_CUBES = ("delete_scope", "secondary_indices", "sort_by", "rows_per_row_group", "header_format")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read: a dataset (and of which table), or a cube; ``None`` where nothing was said.

    ``at`` is a version's number, a time, or the text of a cube's pin. ``pushdown`` is ``None`` for what is safe with
    the Spark that runs.
    """

    store: Store
    dataset: str | None
    cube: str | None
    columns: tuple[str, ...] | None
    where: Condition
    at: int | datetime | str | None
    table: str | None
    pushdown: bool | None

    @property
    def subject(self) -> str:
        """What is read, for messages."""
        return f"dataset {self.dataset!r}" if self.cube is None else f"cube {self.cube!r}"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Where to write, and how; ``None`` stands for what the dataset has, or the default of a new one.

    With ``cube``, ``dataset`` is an id within it. ``delete_scope`` is a list of mappings or a text, as
    :func:`kubothek.update_dataset` takes it. ``partition_overwrite`` is ``None`` for what the session says.
    """

    store: Store
    dataset: str
    cube: str | None
    partition_on: tuple[str, ...] | None
    secondary_indices: tuple[str, ...] | None
    sort_by: tuple[str, ...]
    delete_scope: Any
    metadata: Mapping[str, Any] | None
    compression: str
    rows_per_row_group: int | None
    header_format: Literal["json", "msgpack"]
    partition_overwrite: Literal["static", "dynamic"] | None


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Parse the options of a read.

    Raises
    ------
    InvalidInputError
        Options are unknown, missing, contradict each other or cannot be understood; all of them are named.
    """
    found = parse_options(options, READ, "read")
    problems = list(found.problems)
    if (found.get("dataset") is None) == (found.get("cube") is None):
        problems.append("name what to read: either 'dataset' or 'cube'")
    if found.get("cube") is not None and found.get("table") is not None:
        problems.append("'table' goes with a dataset: those of a cube have one table each")
    if found.get("cube") is not None and isinstance(found.get("at"), int):
        problems.append("'at' is a time or a pin for a cube: each of its datasets counts versions for itself")
    if found.get("dataset") is not None and isinstance(found.get("at"), str):
        problems.append(f"'at' is the number of a version or a time in ISO form, not {found.get('at')!r}")
    refuse(problems, "read")
    return ReadOptions(
        store=found.store,
        dataset=found.get("dataset"),
        cube=found.get("cube"),
        columns=found.get("columns"),
        where=found.get("where", parse_where(None)),
        at=found.get("at"),
        table=found.get("table"),
        pushdown=found.get("pushdown"),
    )


def write_options(options: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    """Parse the options of a write that is no stream; ``overwrite`` says its mode, which is ``append`` otherwise.

    Raises
    ------
    InvalidInputError
        As for :func:`read_options`.
    """
    found = parse_options(options, WRITE, "write")
    refuse([*found.problems, *_write_problems(found, overwrite=overwrite)], "write")
    return write_options_of(found)


def _write_problems(found: Found, *, overwrite: bool) -> Iterator[str]:
    """Say what a write lacks, and what it cannot ask together."""
    in_cube = found.get("cube") is not None
    if found.get("dataset") is None:
        yield "name the 'dataset' to write" + (", an id within the cube" if in_cube else "")
    if overwrite and found.get("delete_scope") is not None:
        yield "'delete_scope' goes with mode 'append', which deletes and adds in one commit; 'overwrite' replaces"
    foreign = [repr(name) for name in _NOT_OF_CUBES if in_cube and found.get(name) is not None]
    if foreign:
        yield f"{', '.join(foreign)} cannot be chosen for a dataset of a cube: the cube decides"


def write_options_of(found: Found) -> WriteOptions:
    """Put together what was found of a write, in which there are no problems."""
    return WriteOptions(
        store=found.store,
        dataset=found.get("dataset"),
        cube=found.get("cube"),
        partition_on=found.get("partition_on"),
        secondary_indices=found.get("secondary_indices"),
        sort_by=found.get("sort_by", ()),
        delete_scope=found.get("delete_scope"),
        metadata=found.get("metadata"),
        compression=found.get("compression", "zstd"),
        rows_per_row_group=found.get("rows_per_row_group"),
        header_format=found.get("header_format", "json"),
        partition_overwrite=found.get("partitionOverwriteMode"),
    )


@dataclass(frozen=True, slots=True)
class Found:
    """What options say: values by the names of a table, the store, and what is wrong with them."""

    values: Mapping[str, Any]
    problems: tuple[str, ...]
    opened: Store | None

    @property
    def store(self) -> Store:
        """The store; only where there are no problems."""
        if self.opened is None:
            raise AssertionError("the store is missing, which is a problem")
        return self.opened

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of an option."""
        return self.values.get(name, default)


def parse_options(options: Mapping[str, str], known: Mapping[str, Parse], work: str) -> Found:
    """Parse options by a table of their names, with those of the store, which all kinds of work have.

    Parameters
    ----------
    options
        Texts by name, as Spark gives them.
    known
        What turns the text of an option into its value; a ``ValueError`` of it is a problem.
    work
        ``"read"`` or ``"write"``, for messages.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    places: list[str] = []
    rest: dict[str, Any] = {}
    names = {_plain(name): name for name in known}
    if {"provider", "owner"} <= {name.lower() for name in options}:
        raise InvalidInputError(
            "Spark does not tell data sources written in Python the options of a table in a catalog when it is read, "
            "so CREATE TABLE ... USING kubothek cannot work: write CREATE TEMPORARY VIEW ... USING kubothek."
        )
    for given, text in options.items():
        if given.lower().startswith(_STORE_PREFIX):
            rest[given[len(_STORE_PREFIX) :]] = _WORDS.get(text.lower(), text)
        elif _plain(given) in ("store", "path"):
            places.append(text)
        elif _plain(given) not in names:
            problems.append(_unknown(given, [*known, "store"], work))
        else:
            try:
                values[names[_plain(given)]] = known[names[_plain(given)]](text)
            except ValueError as error:  # as errors of ours about input are, too
                problems.append(f"{names[_plain(given)]!r}: {error}")
    place = _open(list(dict.fromkeys(places)), rest, problems)
    return Found(values, tuple(problems), place)


def refuse(problems: list[str], work: str) -> None:
    """Raise ``InvalidInputError`` about these problems, if there are any."""
    if problems:
        raise InvalidInputError(
            f"These options of format('kubothek') cannot be used to {work}:\n- " + "\n- ".join(problems),
            problems=tuple(problems),
        )


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _unknown(name: str, known: list[str], work: str) -> str:
    plain = {_plain(one): one for one in known}
    close = difflib.get_close_matches(_plain(name), plain, n=1)
    said = f"did you mean {plain[close[0]]!r}?" if close else f"to {work}, there are {', '.join(sorted(known))}"
    return f"{name!r} is unknown; {said}"


def _open(places: list[str], options: dict[str, Any], problems: list[str]) -> Store | None:
    if len(places) != 1:
        said = f"'store' and 'path' name different places, {' and '.join(map(repr, places))}" if places else ""
        problems.append(said or "name the 'store': a directory or a URL, also as the argument of load() and save()")
        return None
    try:
        store = Store(places[0], **options)
        pickle.dumps(store)  # refused by stores that live in one process, as Spark's workers are others
    except KubothekError as error:
        problems.append(f"'store': {error}")
        return None
    return store


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas, or in JSON."""
    value = _json(text) if text.lstrip().startswith("[") else [part.strip() for part in text.split(",")]
    if not all(isinstance(name, str) and name for name in value):
        raise ValueError(f"it is a list of names, with commas or as JSON, and not {text!r}")
    doubled = sorted({name for name in value if value.count(name) > 1})
    if doubled:
        raise ValueError(f"it names {', '.join(doubled)} more than once")
    return tuple(value)


def _some_names(text: str) -> tuple[str, ...]:
    """Return the names in a list, none for an empty text."""
    return _names(text) if text.strip() else ()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def _where(text: str) -> Condition:
    return parse_where(_json(text) if text.lstrip().startswith(("{", "[")) else text)


def _scope(text: str) -> Any:
    return _json(text) if text.lstrip().startswith(("{", "[")) else text


def _mapping(text: str) -> Mapping[str, Any]:
    value = _json(text)
    if not isinstance(value, dict):
        raise ValueError(f"it is a JSON object, and not {text!r}")
    return value


def _moment(text: str) -> int | datetime | str:
    """Return a version's number or a time, and other texts, which a pin may be, as they are."""
    if text.strip().isdecimal():
        return int(text)
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return text


def positive(text: str) -> int:
    """Return the number, which an integer of the JVM can hold."""
    if not (text.strip().isdecimal() and 0 < int(text) < 2**31):
        raise ValueError(f"it is a number above 0 and below 2**31, and not {text!r}")
    return int(text)


def _flag(text: str) -> bool:
    if text.strip().lower() not in _WORDS:
        raise ValueError(f"it is 'true' or 'false', and not {text!r}")
    return _WORDS[text.strip().lower()]


def one_of(*allowed: str) -> Parse:
    """Return what understands one of some words."""

    def parse(text: str) -> str:
        if text.strip().lower() not in allowed:
            raise ValueError(f"it is one of {', '.join(allowed)}, and not {text!r}")
        return text.strip().lower()

    return parse


READ: Mapping[str, Parse] = {
    "dataset": str,
    "cube": str,
    "columns": _names,
    "where": _where,
    "at": _moment,
    "table": str,
    "pushdown": _flag,
}
"""Options of reading, besides those of the store."""

WRITE: Mapping[str, Parse] = {
    "dataset": str,
    "cube": str,
    "partition_on": _some_names,
    "secondary_indices": _some_names,
    "sort_by": _some_names,
    "delete_scope": _scope,
    "metadata": _mapping,
    "compression": str,
    "rows_per_row_group": positive,
    "header_format": one_of("json", "msgpack"),
    "partitionOverwriteMode": one_of("static", "dynamic"),
}
"""Options of writing, besides those of the store."""
