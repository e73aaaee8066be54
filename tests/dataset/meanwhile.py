"""A store in which others act at a moment that a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubothek.store.interface import Store
from kubothek.testing.stores import Call, WrappedStore


class Meanwhile(WrappedStore):
    """Lets something else happen right before the call of this number."""

    def __init__(self, inner: Store, number: int, happen: Callable[[], object]) -> None:
        super().__init__(inner)
        self.number, self.happen, self.calls = number, happen, 0

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        """Carry out the call, after something else."""
        self.calls += 1
        if self.calls == self.number:
            self.happen()
        return act()
