"""A client's own view of the simulated store: each call is a turn of the scheduler's, and may go wrong.

A file is read with one call for the whole object, and written with one call when it ends, so that nothing but the
client's own thread ever calls.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from kubothek.codec.keys import HEADER_SUFFIXES
from kubothek.engine.steps import ONE_BY_ONE
from kubothek.errors import CommitStateUnknownError, KubothekError, ObjectNotFoundError, StoreError
from kubothek.store.interface import Blob, Doubtful, Level, LostRace, ObjectInfo, Part, Store, SwapOutcome, whole_range
from kubothek.testing.simulation.faults import NO_FAULTS, Faults
from kubothek.testing.simulation.objects import Life, Objects
from kubothek.testing.simulation.runs import Fault, Operation, Outcome, Run
from kubothek.testing.simulation.scheduler import Scheduler
from kubothek.testing.simulation.world import SimulatedWorld, client_world

T = TypeVar("T")

_SUFFIXES = tuple(HEADER_SUFFIXES.values())
_SECONDS_PER_TURN = 0.05


class Killed(BaseException):
    """The client is dead: nothing that it still tries to do reaches the store."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the trace: who called what at which moment, what went wrong, and what came of it."""

    moment: int
    client: str
    call: str
    fault: Fault | None
    answer: str

    def __str__(self) -> str:
        """Return the line."""
        wrong = "" if self.fault is None else f"  !! {self.fault.value}"
        return f"{self.moment:5d} {self.client:10s} {self.call} -> {self.answer}{wrong}"


@dataclass(slots=True, eq=False)
class Late:
    """A request that is on its way; it is carried out at this turn at the latest."""

    due: int
    act: Callable[[], object]


@dataclass(slots=True, eq=False)
class Simulation:
    """What the clients of one simulation share; ``scheduler`` gives turns to those that run now, if several do."""

    objects: Objects
    scheduler: Scheduler | None = None
    trace: list[Step] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def run(self, rng: random.Random, plans: Mapping[ClientStore, Sequence[Operation]]) -> None:
        """Have several clients carry out their operations at once; what is late arrives before the end."""
        self.scheduler = Scheduler(rng, self._land_due)
        self.scheduler.run({one.name: partial(_perform_all, one, plan) for one, plan in plans.items()})
        self.scheduler = None
        for one in self.late:
            one.act()
        self.late.clear()

    def run_alone(self, client: ClientStore, plan: Sequence[Operation]) -> None:
        """Have one client carry out operations when no other runs."""
        copy_context().run(_alone, client, plan)

    def _land_due(self, turn: int) -> None:
        """Carry out the requests that are due."""
        due = [one for one in self.late if one.due <= turn]
        self.late = [one for one in self.late if one.due > turn]
        for one in due:
            one.act()


def _alone(client: ClientStore, plan: Sequence[Operation]) -> None:
    ONE_BY_ONE.set(True)
    _perform_all(client, plan)


def _perform_all(client: ClientStore, plan: Sequence[Operation]) -> None:
    """Carry out operations as long as the client lives and knows what came of them."""
    for operation in plan:
        if client.perform(operation).outcome in (Outcome.DIED, Outcome.UNKNOWN):
            return


class ClientStore(Store):
    """The store as one client sees it.

    Parameters
    ----------
    name
        Of the client.
    simulation
        What it shares with the others.
    seed
        Gives it a clock and dice of its own.
    faults
        What goes wrong with its calls.
    """

    world: SimulatedWorld

    def __init__(self, name: str, simulation: Simulation, seed: str, faults: Faults = NO_FAULTS) -> None:
        super().__init__(f"simulation://{name}")
        self.name, self._faults = name, faults
        self.world = client_world(name, seed, simulation.objects.clock, self.wait)
        self._simulation, self.objects = simulation, simulation.objects
        self._run: Run | None = None
        self._dead, self._outage = False, 0

    def perform(self, operation: Operation) -> Run:
        """Carry out an operation, and record what comes of it."""
        run = self._run = Run(self.name, operation, self.objects.moment)
        self._simulation.runs.append(run)
        known = len(self.world.ids)
        try:
            run.answer = operation.act(self)
            run.outcome = Outcome.DONE
        except Killed:
            run.outcome = Outcome.DIED
        except CommitStateUnknownError as error:
            run.outcome, run.error = Outcome.UNKNOWN, error
        except StoreError as error:
            run.outcome, run.error = Outcome.BROKEN, error
        except KubothekError as error:
            run.outcome, run.error = Outcome.FAILED, error
        except Exception as error:  # noqa: BLE001  a finding
            run.outcome, run.error = Outcome.ABSURD, error
        run.ended, run.ids = self.objects.moment, tuple(self.world.ids[known:])
        return run

    def check_swap(self) -> None:
        """See :meth:`Store.check_swap`; the conditions hold."""

    def wait(self, seconds: float) -> None:
        """Let time pass and others have their turns; what the world's ``sleep`` does."""
        self.objects.clock.advance(seconds)
        self._turn()

    def get(self, key: str) -> Blob:
        """See :meth:`Store.get`."""
        found = self._get(key)
        return Blob(found.data, found.etag)

    def get_many(self, keys: Iterable[str]) -> builtins.list[Blob | None]:
        """See :meth:`Store.get_many`; others may come between two of the objects."""
        return [self._get_or_none(key) for key in keys]

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See :meth:`Store.get_range`."""
        return whole_range(self._get(key).data[start : start + length], key, start, length)

    def get_part(self, key: str, start: int | None, length: int) -> Part:
        """See :meth:`Store.get_part`."""
        found = self._get(key)
        first = max(len(found.data) - length, 0) if start is None else start
        return Part(found.data[first : first + length], len(found.data), found.etag)

    def open_file(self, key: str, size: int | None = None) -> Any:
        """See :meth:`Store.open_file`; the whole object is read at once."""
        return pa.BufferReader(self._get(key).data)

    def info(self, key: str) -> ObjectInfo:
        """See :meth:`Store.info`."""
        return self._call("info", key, lambda: self.objects.get(key)).info

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """See :meth:`Store.list`."""
        return (life.info for life in self._list(prefix))

    def list_level(self, prefix: str = "") -> Level:
        """See :meth:`Store.list_level`."""
        start, infos = len(prefix), [life.info for life in self._list(prefix)]
        deeper = {info.key[: info.key.index("/", start) + 1] for info in infos if "/" in info.key[start:]}
        return [info for info in infos if "/" not in info.key[start:]], sorted(deeper)

    def put(self, key: str, data: bytes) -> str:
        """See :meth:`Store.put`."""
        run = self._run
        return self._call("put", key, lambda: self.objects.put(key, data, run))

    def create(self, key: str, data: bytes, *, durable: bool = True) -> SwapOutcome:
        """See :meth:`Store.create`."""
        run, asked = self._run, self.objects.moment
        late = lambda: self.objects.create_late(key, data, run, asked)
        return self._call("create", key, lambda: self.objects.create(key, data, run), late)

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """See :meth:`Store.replace`."""
        run = self._run
        return self._call("replace", key, lambda: self.objects.replace(key, data, etag, run))

    @contextmanager
    def create_file(self, key: str) -> Iterator[Any]:
        """See :meth:`Store.create_file`."""
        sink = pa.BufferOutputStream()
        yield sink
        self.put(key, sink.getvalue().to_pybytes())

    def delete(self, keys: Iterable[str]) -> None:
        """See :meth:`Store.delete`."""
        run, doomed = self._run, sorted(keys)
        self._call("delete", " ".join(doomed), lambda: self.objects.delete(doomed, run))

    def put_where(self, key: str, data: bytes, allowed: Callable[[], bool]) -> bool:
        """Put an object if something holds at this very moment, as a program would that nobody else runs beside."""
        run = self._run
        return self._call("put", key, lambda: allowed() and self.objects.put(key, data, run) is not None)

    def copy(self, source: str, target: str) -> None:
        """See :meth:`Store.copy`; two calls."""
        self.put(target, self._get(source).data)

    def _get(self, key: str) -> Life:
        return self._call("get", key, lambda: self._look(key))

    def _look(self, key: str) -> Life:
        if self._run is not None and key.endswith(_SUFFIXES):
            self._run.looks.setdefault(key, self.objects.moment)
        return self.objects.get(key)

    def _list(self, prefix: str) -> builtins.list[Life]:
        return self._call("list", prefix, lambda: self.objects.listing(prefix))

    def _turn(self) -> None:
        """Let others come first; who is dead comes no further."""
        if self._dead:
            raise Killed
        if self._simulation.scheduler is not None:
            self.objects.clock.advance(_SECONDS_PER_TURN)
            self._simulation.scheduler.pause(self.name)

    def _call(self, verb: str, key: str, act: Callable[[], T], late: Callable[[], object] | None = None) -> T:
        """Carry out one call as the faults have it; ``late`` is what it does when it comes late, if that differs."""
        self._turn()
        fault = self._next_fault(verb, key)
        try:
            answer = act() if fault is None else self._spoiled(verb, key, act, late or act, fault)
        except BaseException as error:
            self._note(verb, key, fault, type(error).__name__)
            raise
        self._note(verb, key, fault, "" if isinstance(answer, str | Life) else _shown(answer))
        return answer

    def _next_fault(self, verb: str, key: str) -> Fault | None:
        if self._outage:
            self._outage -= 1
            return self._faults.fail(verb)
        fault = self._faults.draw(verb, is_swap=verb in ("create", "replace") and key.endswith(_SUFFIXES))
        if fault in (Fault.FAIL, Fault.LATE, Fault.LOSE_ANSWER):
            self._outage = self._faults.outage()
        return fault

    def _spoiled(self, verb: str, key: str, act: Callable[[], T], late: Callable[[], object], fault: Fault) -> T:
        """Carry out a call that goes wrong."""
        if self._run is not None:
            self._run.faults.append(fault)
        if fault in (Fault.LOSE_ANSWER, Fault.REPEAT, Fault.DIE_AFTER):
            act()
        if fault in (Fault.DIE_BEFORE, Fault.DIE_AFTER):
            self._dead = True
            raise Killed
        if fault is Fault.STALE:
            return self.objects.listing(key, self._faults.lag())  # type: ignore[return-value]  # T is this
        if fault is Fault.REPEAT:
            self._turn()
            answer = late()
            if isinstance(answer, LostRace):
                return LostRace(repeated=True)  # type: ignore[return-value]  # T of these verbs
            return answer  # type: ignore[return-value]  # what comes late gives the same answer
        if fault in (Fault.LATE, Fault.BUSY) and self._simulation.scheduler is not None:
            due = self._simulation.scheduler.turn + self._faults.delay()
            self._simulation.late.append(Late(due, lambda: self._land(verb, key, late)))
        if fault in (Fault.CONFLICT, Fault.BUSY):
            return LostRace(repeated=True)  # type: ignore[return-value]  # T of these verbs
        error = StoreError(f"{verb} of {key!r}: {fault.value}.", key=key, operation=verb)
        if verb in ("create", "replace") and fault is not Fault.REFUSE:
            return Doubtful(error)  # type: ignore[return-value]  # T of these verbs
        raise error

    def _land(self, verb: str, key: str, act: Callable[[], object]) -> None:
        """Carry out a late call."""
        self._note(f"late {verb}", key, None, _shown(act()))

    def _note(self, verb: str, key: str, fault: Fault | None, answer: str) -> None:
        self._simulation.trace.append(Step(self.objects.moment, self.name, f"{verb} {key}", fault, answer))

    def _get_or_none(self, key: str) -> Blob | None:
        try:
            return self.get(key)
        except ObjectNotFoundError:
            return None


def _shown(answer: object) -> str:
    """Return an answer in a word."""
    return f"{len(answer)}" if isinstance(answer, builtins.list) else type(answer).__name__
