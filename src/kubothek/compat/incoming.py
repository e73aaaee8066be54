"""Which rows are meant by the many forms in which Kartothek takes partitions, as Kubothek takes them.

A partition is a frame; a dictionary of frames by table, bare or under ``data``; or a list of pairs of table and frame.
Lists of partitions may be nested. Frames of the default table alone become plain frames.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from kubothek.errors import InvalidInputError
from kubothek.model.header import SINGLE_TABLE


def frames_of(given: Any) -> Iterator[Any] | None:
    """Return rows as ``write_dataset`` takes them, ``None`` where there are none.

    One partition at a time is taken from an iterator. A label that a partition brings along is not used, which is
    warned of: labels are given here, as they must not repeat.

    Raises
    ------
    InvalidInputError
        Something is no partition, or has indices of its own.

    Examples
    --------
    >>> list(frames_of({"data": [("core", "rows 1"), ("helper", "rows 2")]}))
    [{'core': 'rows 1', 'helper': 'rows 2'}]
    """
    parts = _partitions(given)
    first = next(parts, None)
    if first is None:
        return None
    together = chain([first], parts)
    return (part[SINGLE_TABLE] for part in together) if list(first) == [SINGLE_TABLE] else together


def _partitions(given: Any) -> Iterator[dict[str, Any]]:
    """Yield each partition as a dictionary of frames by table."""
    if given is None:
        return
    if isinstance(given, Mapping):
        yield _tables(given)
    elif _is_pairs(given):
        yield dict(given)
    elif _is_rows(given):
        yield {SINGLE_TABLE: given}
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        for one in given:
            yield from _partitions(one)
    else:
        raise InvalidInputError(f"A partition is a frame or a dictionary of frames, not a {type(given).__qualname__}.")


def _tables(given: Mapping[str, Any]) -> dict[str, Any]:
    if any(given.get("indices", {}).values()):
        raise InvalidInputError("Indices are built from the rows: name their columns in secondary_indices instead.")
    if "label" in given and "data" in given:
        warnings.warn(
            f"The label {given['label']!r} is not used: Kubothek gives labels that do not repeat.", stacklevel=2
        )
    return dict(given.get("data", given))


def _is_pairs(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(one, tuple) and len(one) == 2 for one in given)


def _is_rows(given: Any) -> bool:
    return type(given).__name__ == "DataFrame" or hasattr(given, "__arrow_c_stream__")


def cube_data(given: Any) -> Any:
    """Return rows of a cube as ``build_cube`` takes them: one frame, or frames by dataset.

    Lists of frames, or of dictionaries of frames by dataset, are put together by dataset; what is ``None`` is left out.

    Examples
    --------
    >>> cube_data([{"seed": "rows 1", "weather": None}, {"seed": "rows 2"}])
    {'seed': ['rows 1', 'rows 2']}
    """
    if isinstance(given, Mapping) or _is_rows(given):
        return given
    parts = list(given)
    if not any(isinstance(part, Mapping) for part in parts):
        return [part for part in parts if part is not None]
    together: dict[str, list[Any]] = {}
    for part in parts:
        for dataset_id, rows in part.items():
            together.setdefault(dataset_id, []).extend([] if rows is None else [rows])
    return {dataset_id: rows for dataset_id, rows in together.items() if rows}
