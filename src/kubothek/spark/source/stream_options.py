"""What the options of streaming reads and writes say, beside those that all reads and writes have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kubothek.model.condition import Condition
from kubothek.model.header import StreamBatch
from kubothek.model.position import Beginning
from kubothek.model.where import parse_where
from kubothek.spark.source.options import (
    READ,
    WRITE,
    Parse,
    WriteOptions,
    one_of,
    parse_options,
    positive,
    refuse,
    write_options_of,
)
from kubothek.store.interface import Store

_LATEST = "latest"
_NOT_OF_STREAMS = ("cube", "delete_scope", "partitionOverwriteMode")


@dataclass(frozen=True, slots=True)
class StreamReadOptions:
    """What to read of a dataset, and how to follow it.

    ``versions`` is how many versions a batch may take in at most, ``None`` for all. ``on_removal`` says what is to
    become of a query whose dataset loses partitions that it has read.
    """

    store: Store
    dataset: str
    where: Condition
    table: str | None
    beginning: Beginning
    versions: int | None
    on_removal: Literal["error", "ignore"]


def stream_read_options(options: Mapping[str, str]) -> StreamReadOptions:
    """Parse the options of a streaming read.

    Raises
    ------
    InvalidInputError
        Options are unknown, missing or cannot be understood; all of them are named.
    """
    found = parse_options(options, _READ, "read a stream")
    problems = [*found.problems]
    if found.get("cube") is not None:
        problems.append("'cube': a cube cannot be read as a stream; name one of its datasets")
    elif found.get("dataset") is None:
        problems.append("name the 'dataset' to read")
    if found.get("at") is not None:
        problems.append("'at': a stream goes on with what comes; say where it begins with 'startingVersion'")
    refuse(problems, "read a stream")
    return StreamReadOptions(
        store=found.store,
        dataset=found.get("dataset"),
        where=found.get("where", parse_where(None)),
        table=found.get("table"),
        beginning=found.get("startingVersion", Beginning()),
        versions=found.get("maxVersionsPerTrigger"),
        on_removal=found.get("onRemoval", "error"),
    )


def without_stream_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that say what is read: Spark does not tell whether it asks for the schema of a stream."""
    own = {name.lower() for name in _OWN}
    return {name: text for name, text in options.items() if name.lower() not in own}


def stream_write_options(options: Mapping[str, str]) -> tuple[WriteOptions, str | None]:
    """Parse the options of a streaming write; the second value is the name that the user gives to the query.

    Raises
    ------
    InvalidInputError
        As for :func:`stream_read_options`.
    """
    found = parse_options(options, _WRITE, "write a stream")
    missing = ["name the 'dataset' to write"] if found.get("dataset") is None else []
    refuse([*found.problems, *missing], "write a stream")
    return write_options_of(found), found.get("query")


def _beginning(text: str) -> Beginning:
    word = text.strip().lower()
    if word == _LATEST:
        return Beginning(None)
    if not (word.isdecimal() and int(word) > 0):
        raise ValueError(f"it is the number of a version from 1 on, or {_LATEST!r}, and not {text!r}")
    return Beginning(int(word) - 1)


def _query(text: str) -> str:
    return StreamBatch(text, 0).query


_OWN: Mapping[str, Parse] = {
    "startingVersion": _beginning,
    "maxVersionsPerTrigger": positive,
    "onRemoval": one_of("error", "ignore"),
}
_READ: Mapping[str, Parse] = {**READ, **_OWN}
_WRITE: Mapping[str, Parse] = {
    **{name: parse for name, parse in WRITE.items() if name not in _NOT_OF_STREAMS},
    "query": _query,
    "checkpointLocation": str,
}
