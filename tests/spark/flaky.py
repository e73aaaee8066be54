"""A directory that refuses some files at first, also in Spark's tasks: how often is counted by marker files."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kubothek.store.directory import DirectoryStore


class FlakyStore(DirectoryStore):
    """A directory in which ``create_file`` of a key with the text ``fails`` raises ``error`` so many ``times``."""

    def __init__(self, url: Any, *, fails: str, times: int, marker: str, error: type[Exception]) -> None:
        super().__init__(url)
        self._flaky = {"fails": fails, "times": times, "marker": marker, "error": error}

    def create_file(self, key: str) -> AbstractContextManager[Any]:
        """Refuse, or do as the directory does."""
        count = len([path for path in Path(self._flaky["marker"]).iterdir() if path.name.isdigit()])
        if self._flaky["fails"] in key and count < self._flaky["times"]:
            (Path(self._flaky["marker"]) / str(count + 1)).touch()
            raise self._flaky["error"](f"refused {key}")
        return super().create_file(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.url, self._flaky)


def _rebuild(url: str, flaky: dict[str, Any]) -> FlakyStore:
    return FlakyStore(url, **flaky)
