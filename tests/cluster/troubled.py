"""Directories in which writers meet trouble, each kind once, wherever a task is first; and one with a secret."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kubothek.store.directory import DirectoryStore

LONG = 600


def _refuse() -> None:
    raise OSError("refused")


TROUBLES: Mapping[str, Callable[[], None]] = {
    "refuses": _refuse,
    "dies": lambda: os._exit(7),
    "hangs": lambda: time.sleep(LONG),
}


class TroubledStore(DirectoryStore):
    """A directory in which files of ``p=1`` meet the ``troubles``, one each; those of ``p=0`` are written before.

    A file in ``markers`` that has the name of a trouble holds the id of the process that met it.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, troubles: Sequence[str], markers: str | os.PathLike[str]
    ) -> None:
        super().__init__(url)
        self._troubles, self._markers = tuple(troubles), Path(markers)

    def create_file(self, key: str) -> AbstractContextManager[Any]:
        """Meet the next trouble, or do as the directory does."""
        if "/p=1/" in key:
            for name in self._troubles:
                if self._is_first(name):
                    TROUBLES[name]()
        return super().create_file(key)

    def _is_first(self, name: str) -> bool:
        try:
            with (self._markers / name).open("x") as marker:
                marker.write(str(os.getpid()))
        except FileExistsError:
            return False
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.url, self._troubles, self._markers)


def _rebuild(url: str, troubles: Sequence[str], markers: Path) -> TroubledStore:
    return TroubledStore(url, troubles=troubles, markers=markers)


SECRET = "tJZ2yVQk"  # noqa: S105  to be looked for


class SecretStore(DirectoryStore):
    """A directory whose options hold a secret, which is pickled with it as those of object stores are."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_secret, (self.url, {"secret": SECRET})


def _rebuild_secret(url: str, options: dict[str, str]) -> SecretStore:
    assert options["secret"] == SECRET
    return SecretStore(url)
