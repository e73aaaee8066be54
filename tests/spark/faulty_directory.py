"""A directory whose process dies, or whose answers get lost, at a step that is chosen beforehand, in Spark's tasks too.

What is to happen is a file beside the directory, so that it can be told to processes that run already; who comes to the
step first takes the file away, and has it happen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa
from pyspark import TaskContext

from kubothek.errors import StoreError
from kubothek.store.directory import DirectoryStore
from kubothek.store.interface import Blob, Doubtful, SwapOutcome

T = TypeVar("T")

Act = Literal["die before", "die after", "refuse", "lose the answer", "do nothing"]
ACTS: tuple[Act, ...] = ("die before", "die after", "refuse", "lose the answer", "do nothing")


@dataclass(frozen=True)
class Order:
    """What is to happen, at which call of the store, counted in each task and in each commit."""

    where: Literal["task", "commit"]
    step: int
    act: Act

    def give(self, file: Path) -> None:
        """Write the order, for whoever comes to the step."""
        hidden = file.with_name(f".{file.name}")
        hidden.write_text(json.dumps(asdict(self)))
        hidden.rename(file)


class FaultyDirectory(DirectoryStore):
    """A directory that carries out the order that is in a file."""

    def __init__(self, url: Any, *, order: str) -> None:
        super().__init__(url)
        self._order = order
        self._steps = 0

    def get_many(self, keys: Iterable[str]) -> list[Blob | None]:
        """See the directory."""
        return self._step(lambda: super(FaultyDirectory, self).get_many(keys))

    def create(self, key: str, data: bytes, *, durable: bool = True) -> SwapOutcome:
        """See the directory."""
        return self._step(lambda: super(FaultyDirectory, self).create(key, data, durable=durable), swap=True)

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """See the directory."""
        return self._step(lambda: super(FaultyDirectory, self).replace(key, data, etag), swap=True)

    def delete(self, keys: Iterable[str]) -> None:
        """See the directory."""
        return self._step(lambda: super(FaultyDirectory, self).delete(keys))

    @contextmanager
    def create_file(self, key: str) -> Iterator[pa.NativeFile]:
        """See the directory."""
        with super().create_file(key) as file:
            yield self._step(lambda: file)
            self._step(lambda: None)

    def flush(self) -> None:
        """See the directory."""
        self._step(super().flush)

    def _step(self, act: Callable[[], T], *, swap: bool = False) -> T:
        self._steps += 1
        order = self._take()
        if order is None:
            return act()
        if order.act == "die before":
            os._exit(9)
        result = act() if order.act in ("die after", "lose the answer") else None
        if order.act == "die after":
            os._exit(9)
        error = StoreError(f"step {order.step}: {order.act}", key="", operation="step")
        if swap and order.act != "refuse":
            return Doubtful(error)  # type: ignore[return-value]  # T of these verbs
        del result
        raise error

    def _take(self) -> Order | None:
        """Return the order if it is for this step, and for nobody else then."""
        here = "task" if TaskContext.get() is not None else "commit"
        try:
            order = Order(**json.loads(Path(self._order).read_text()))
            if (order.where, order.step) != (here, self._steps):
                return None
            Path(self._order).unlink()
        except FileNotFoundError:
            return None
        return order

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.url, self._order)


def _rebuild(url: str, order: str) -> FaultyDirectory:
    return FaultyDirectory(url, order=order)
