"""Up to where somebody who follows a dataset has read it: a version of it, or nothing yet.

The number of a version does not say which one it is for ever: a dataset may be deleted and written again, and other
software may overwrite a commit, whose number another one then gets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """A version of a dataset, all of which has been read: its number, and what tells it from others of this number."""

    incarnation: str
    version: int
    commit: str


@dataclass(frozen=True, slots=True)
class Beginning:
    """Nothing has been read yet, and what came ``after`` this version is wanted.

    With 0 that is all there is, with ``None`` what comes after the version that is found first.
    """

    after: int | None = 0
