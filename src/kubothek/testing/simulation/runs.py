"""What a client of a simulation does, and what came of it: operations, each with its model, and their runs.

An :class:`Operation` can be carried out on a store, by one of the library's own functions, and knows in plain Python
what it makes of the rows of each of its datasets. A :class:`Run` is one time that a client did it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kubothek.store.interface import Store

Row = tuple[int, int, Any]
"""A row in every model: its number, which no other row has, its partition ``p``, and its index value or cell."""

Rows = Counter[Row]


class Fault(Enum):
    """What can go wrong with one call of a store."""

    DIE_BEFORE = "the client dies before the call"
    DIE_AFTER = "the client dies after the call"
    FAIL = "nothing is done, and no answer comes"
    REFUSE = "the store refuses: surely nothing is done"
    LOSE_ANSWER = "it is done, and no answer comes"
    REPEAT = "it is done, the answer is lost on the way, it is done again some time later, and that answer comes"
    LATE = "no answer comes, and it is done later"
    STALE = "the listing is that of some time ago"
    CONFLICT = "the store says that another came first, though none has: nothing is done"
    BUSY = "the store says that another came first, which is the same request: it is done later"


class Outcome(Enum):
    """How an operation ended."""

    DONE = "it returned"
    FAILED = "an error said that nothing was committed"
    BROKEN = "the store failed, and nothing was committed"
    UNKNOWN = "an error said that the state is unknown"
    DIED = "the client died"
    ABSURD = "an error that this library does not raise on purpose"


class Operation:
    """Something that a client does to datasets or reads of them.

    ``uuids`` are the datasets that it is about. ``commits`` tells whether it commits, once to each, when it returns.
    ``tidies`` tells that it may commit what changes nothing that anybody reads, and fail after that.
    """

    uuids: tuple[str, ...] = ()
    commits: bool = True
    tidies: bool = False

    def act(self, store: Store) -> Any:
        """Do it."""
        raise NotImplementedError

    def committed(self, answer: Any) -> tuple[str, ...]:
        """Return the datasets to which it has committed when it returns this."""
        return self.uuids if self.commits else ()

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return what it makes of the rows of a dataset; an absent dataset has none."""
        return before


@dataclass(slots=True, eq=False)
class Run:
    """One operation of one client.

    ``started`` and ``ended`` are moments (see :mod:`kubothek.testing.simulation.objects`). ``ids`` are those that it
    made, ``looks`` the moments at which it first looked at each header.
    """

    client: str
    operation: Operation
    started: int
    ended: int = 0
    outcome: Outcome = Outcome.DIED
    answer: Any = None
    error: BaseException | None = None
    ids: tuple[str, ...] = ()
    looks: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def __str__(self) -> str:
        """Say who did what, and what came of it."""
        said = "" if self.error is None else f" ({type(self.error).__name__}: {self.error})"
        return f"{self.client} {self.operation!r}: {self.outcome.value}{said}"
