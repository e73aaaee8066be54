"""Which datasets of a cube an operation is about: those whose ids were given, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubothek.errors import InvalidInputError


def dataset_ids(value: Any) -> tuple[str, ...] | None:
    """Parse ids of datasets; order and repetition do not matter, ``None`` stands for all.

    Raises
    ------
    InvalidInputError
        It is neither an id nor several.

    Examples
    --------
    >>> dataset_ids("weather"), dataset_ids({"weather"}), dataset_ids(None)
    (('weather',), ('weather',), None)
    """
    if value is None:
        return None
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise InvalidInputError(f"datasets must be the id of a dataset or several of them, not {value!r}.")
    ids = tuple(value)
    wrong = [one for one in ids if not isinstance(one, str)]
    if wrong:
        raise InvalidInputError(f"datasets must hold ids of datasets, but holds {wrong[0]!r}.")
    return tuple(sorted(set(ids)))


def select_datasets(uuid_prefix: str, known: Iterable[str], chosen: Iterable[str] | None) -> tuple[str, ...]:
    """Return the ids that are meant, sorted.

    Parameters
    ----------
    uuid_prefix
        Name of the cube.
    known
        Ids of its datasets.
    chosen
        Those asked for, ``None`` for all.

    Raises
    ------
    InvalidInputError
        The cube does not have all of them; ``datasets`` lists those that it lacks.

    Examples
    --------
    >>> select_datasets("flights", ["seed", "weather"], None)
    ('seed', 'weather')
    """
    there = sorted(known)
    wanted = there if chosen is None else sorted(chosen)
    unknown = tuple(one for one in wanted if one not in there)
    if unknown:
        raise InvalidInputError(
            f"Cube {uuid_prefix!r} has no dataset {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(map(repr, there)) or 'none'}.",
            datasets=unknown,
        )
    return tuple(wanted)
