"""Which rows are meant by the many forms in which Kartothek takes partitions, as Kubothek takes them.

A partition is a frame; a dictionary of frames by table, bare or under ``data``; or a list of pairs of table and frame.
Lists of partitions may be nested. Frames of the default table alone become plain frames.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any

from kubothek.errors import InvalidInputError
from kubothek.model.cube import Cube
from kubothek.model.header import SINGLE_TABLE

_ENTRIES = ("label", "data", "indices")


def frames_of(given: Any) -> Iterator[Any] | None:
    """Return rows as ``write_dataset`` takes them, ``None`` where there are none.

    One partition at a time is taken from an iterator. A label that a partition brings along is not used, which is
    warned of: labels are given here, as they must not repeat. Where pairs name a table several times, each time is a
    partition of its own.

    Raises
    ------
    InvalidInputError
        Something is no partition, has indices of its own, or has other tables than the first one.

    Examples
    --------
    >>> list(frames_of({"data": [("core", "rows 1"), ("helper", "rows 2")]}))
    [{'core': 'rows 1', 'helper': 'rows 2'}]
    >>> list(frames_of([("table", "rows 1"), ("table", "rows 2")]))
    ['rows 1', 'rows 2']
    """
    parts = _partitions(given)
    first = next(parts, None)
    if first is None:
        return None
    together = chain([first], parts)
    return map(_only_table, count(), together) if list(first) == [SINGLE_TABLE] else together


def _only_table(number: int, part: Mapping[str, Any]) -> Any:
    if list(part) != [SINGLE_TABLE]:
        raise InvalidInputError(
            f"Partition {number} is for {', '.join(map(repr, part)) or 'no table'}, and those before are for "
            f"{SINGLE_TABLE!r} alone. Give each partition the same tables, or write one dataset for each table."
        )
    return part[SINGLE_TABLE]


def _partitions(given: Any) -> Iterator[dict[str, Any]]:
    """Yield each partition as a dictionary of frames by table."""
    if given is None:
        return
    if isinstance(given, Mapping):
        yield from _wrapped(given) if _is_wrapper(given) else [dict(given)]
    elif _is_pairs(given):
        yield from _rounds(given)
    elif _is_rows(given):
        yield {SINGLE_TABLE: given}
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        for one in given:
            yield from _partitions(one)
    else:
        raise InvalidInputError(f"A partition is a frame or a dictionary of frames, not a {type(given).__qualname__}.")


def _is_wrapper(given: Mapping[str, Any]) -> bool:
    """Tell a partition with ``data`` beside its label from frames by table, one of which may be called so."""
    return "data" in given and not _is_rows(given["data"])


def _wrapped(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the frames of a partition that brings along a label or indices."""
    data, indices = given["data"], given.get("indices") or {}
    unknown = [name for name in given if name not in _ENTRIES]
    if unknown:
        raise InvalidInputError(
            f"A partition with 'data' has {', '.join(map(repr, unknown))} besides, which has no meaning here. Put all "
            "frames into 'data'."
        )
    if not isinstance(indices, Mapping) or any(one is not None and one != {} for one in indices.values()):
        raise InvalidInputError("Indices are built from the rows: name their columns in secondary_indices instead.")
    if not isinstance(data, Mapping) and not _is_pairs(data):
        raise InvalidInputError(
            f"The 'data' of a partition is a {type(data).__qualname__}: give a dictionary of frames by table, or a "
            "list of pairs of table and frame."
        )
    if "label" in given:
        label = given["label"]
        named = repr(label) if isinstance(label, str) else f"(a {type(label).__qualname__})"
        warnings.warn(f"The label {named} is not used: Kubothek gives labels that do not repeat.", stacklevel=2)
    yield from [dict(data)] if isinstance(data, Mapping) else _rounds(data)


def _is_pairs(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(one, tuple) and len(one) == 2 for one in given)


def _rounds(pairs: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return pairs as partitions: what names a table for the nth time is in the nth."""
    parts: list[dict[str, Any]] = []
    for table, rows in pairs:
        part = next((part for part in parts if table not in part), None)
        if part is None:
            parts.append(part := {})
        part[table] = rows
    return parts


def _is_rows(given: Any) -> bool:
    return type(given).__name__ == "DataFrame" or hasattr(given, "__arrow_c_stream__")


def cube_data(given: Any, cube: Cube) -> Any:
    """Return rows of a cube as ``build_cube`` takes them: one frame, or frames by dataset.

    Frames in a list, and frames by dataset, are put together by dataset; those without one are the seed's, and what is
    ``None`` is left out.

    Examples
    --------
    >>> cube = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p")
    >>> cube_data([{"seed": "rows 1", "weather": None}, {"seed": ["rows 2", "rows 3"]}], cube)
    {'seed': ['rows 1', 'rows 2', 'rows 3']}
    """
    if isinstance(given, (Mapping, str, bytes)) or _is_rows(given) or not isinstance(given, Iterable):
        return given
    together: dict[str, list[Any]] = {}
    for part in given:
        for dataset_id, rows in (part if isinstance(part, Mapping) else {cube.seed_dataset: part}).items():
            together.setdefault(dataset_id, []).extend(_frames(rows))
    return {dataset_id: rows for dataset_id, rows in together.items() if rows}


def _frames(rows: Any) -> list[Any]:
    given = rows if isinstance(rows, (list, tuple)) else [rows]
    return [one for one in given if one is not None]
