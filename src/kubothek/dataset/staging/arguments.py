"""How arguments that several functions take are parsed: delete scopes, metadata, layouts that are fixed already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kubothek.codec.header import check_metadata
from kubothek.dataset.snapshot import Snapshot
from kubothek.errors import InvalidInputError, SchemaError
from kubothek.model.condition import Condition
from kubothek.model.names import column_names
from kubothek.model.where import parse_where


def stored_layout(
    base: Snapshot | None, partition_on: Any, secondary_indices: Any, uuid: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return partition keys and indices of new files: as the dataset has them, or as given for a new one.

    Indices on columns that no table has are left out: new files say nothing about these.

    Raises
    ------
    SchemaError
        Other partition columns are given than the dataset has.
    """
    keys = column_names(partition_on, "partition_on")
    indices = column_names(secondary_indices, "secondary_indices")
    if base is None:
        return keys, indices
    if partition_on is not None and keys != base.partition_keys:
        raise SchemaError(
            f"Dataset {uuid!r} is partitioned by {', '.join(base.partition_keys) or 'nothing'}, but partition_on says "
            f"{', '.join(keys) or 'nothing'}. Leave partition_on out to add to it as it is.",
            columns=keys,
        )
    held = {name for schema in base.schemas.values() for name in schema.names}
    kept = [column for column in base.index_columns if column in held]
    return base.partition_keys, tuple(dict.fromkeys((*kept, *indices)))


def parse_scope(scope: Any) -> tuple[Condition, ...]:
    """Parse a delete scope into conditions, any of which selects.

    Raises
    ------
    InvalidInputError
        It is none, or would delete everything.
    """
    if scope is None:
        return ()
    if isinstance(scope, Mapping):
        scope = [scope]
    if isinstance(scope, Iterable) and not isinstance(scope, str):
        entries = list(scope)
        if all(isinstance(entry, Mapping) for entry in entries):
            empty = [entry for entry in entries if not entry]
            if empty:
                raise InvalidInputError("An empty delete scope would delete everything; name columns and values.")
            return tuple(parse_where([[(column, "==", value) for column, value in e.items()]]) for e in entries)
        scope = entries
    condition = parse_where(scope)
    if not condition.columns:
        raise InvalidInputError(
            f"The delete scope {scope!r} names no column, so it would delete everything or nothing; name columns and "
            "values, or overwrite the dataset."
        )
    return (condition,)


def parse_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return user metadata as a dictionary with text keys.

    Raises
    ------
    InvalidInputError
        It is no such mapping, or holds what JSON cannot.
    """
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise InvalidInputError(f"metadata must map names to values, but is {metadata!r}.")
    check_metadata(metadata)
    return dict(metadata)


def check_flag(value: bool, what: str) -> None:
    """Refuse for a flag what is neither true nor false, such as the text ``"false"``, which Python takes for true."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{what} must be True or False, not {value!r}.")


def check_header_format(header_format: str) -> None:
    """Refuse a format of headers that there is none of."""
    if header_format not in ("json", "msgpack"):
        raise InvalidInputError(f"header_format must be 'json' or 'msgpack', not {header_format!r}.")
