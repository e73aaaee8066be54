"""How Spark notes in the checkpoint of a streaming query up to where it has read a dataset."""

from __future__ import annotations

from typing import Any

from kubothek.errors import CorruptDatasetError
from kubothek.model.position import Beginning, Position

Offset = dict[str, Any]
"""As JSON: ``{"after": 0}`` for a beginning, ``null`` after what is found first; else the fields of a position."""


def offset_of(place: Position | Beginning) -> Offset:
    """Return what Spark notes.

    Examples
    --------
    >>> offset_of(Beginning(2)), offset_of(Position("5f2c", 3, "91ab"))
    ({'after': 2}, {'incarnation': '5f2c', 'version': 3, 'commit': '91ab'})
    """
    if isinstance(place, Beginning):
        return {"after": place.after}
    return {"incarnation": place.incarnation, "version": place.version, "commit": place.commit}


def place_of(offset: Offset) -> Position | Beginning:
    """Return what Spark has noted.

    Raises
    ------
    CorruptDatasetError
        It is none of our offsets.

    Examples
    --------
    >>> place_of({"after": None})
    Beginning(after=None)
    """
    match offset:
        case {"after": int() | None as after, **rest} if not rest:
            return Beginning(after)
        case {"incarnation": str(incarnation), "version": int(version), "commit": str(commit)}:
            return Position(incarnation, version, commit)
    raise CorruptDatasetError(
        f"The offset {offset!r} in the checkpoint of the streaming query is none of a dataset. Start the query with a "
        "new checkpoint.",
        key="",
    )
