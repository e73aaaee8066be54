"""Stores that count, dawdle or fail: wrappers that behave as what they wrap, except for what a test wants to see.

Every verb of a wrapper passes through one method, :meth:`WrappedStore.around`, which gets the call as a value and the
way to carry it out. Files opened from a wrapper read through its ``get_range``, so what Parquet does is seen as well;
``local_path`` is ``None``, because nothing could be seen there, and a wrapper is remote whatever it wraps: it is read
as an object store is, in few requests, several of them at once. Wrappers stay in their process.
"""

from __future__ import annotations

import builtins
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from kubothek.errors import StoreError
from kubothek.store.interface import Blob, Doubtful, Level, LostRace, ObjectInfo, Part, Store, SwapOutcome
from kubothek.store.open import open_store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a verb: its first key (or prefix), how many keys, bytes sent, and its number per verb, from 1."""

    verb: str
    key: str
    keys: int = 1
    sent: int = 0
    number: int = 0


class WrappedStore(Store):
    """A store that does what another does, and lets a subclass see each call."""

    is_remote = True

    def __init__(self, inner: str | Store) -> None:
        self.inner = open_store(inner)
        self.can_swap, self.world = self.inner.can_swap, self.inner.world
        self.unsafe_single_writer = self.inner.unsafe_single_writer
        super().__init__(self.inner.url)

    def around(self, call: Call, act: Callable[[], T]) -> T:
        """Carry out one call; here nothing more."""
        del call
        return act()

    def get(self, key: str) -> Blob:
        """See :meth:`Store.get`."""
        return self.around(Call("get", key), lambda: self.inner.get(key))

    def get_many(self, keys: Iterable[str]) -> list[Blob | None]:
        """See :meth:`Store.get_many`; one call."""
        wanted = list(keys)
        return self.around(_call("get_many", wanted), lambda: self.inner.get_many(wanted))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See :meth:`Store.get_range`."""
        return self.around(Call("get_range", key), lambda: self.inner.get_range(key, start, length))

    def get_part(self, key: str, start: int | None, length: int) -> Part:
        """See :meth:`Store.get_part`; on the wire a ranged request as any other, and so it counts as one."""
        return self.around(Call("get_range", key), lambda: self.inner.get_part(key, start, length))

    def info(self, key: str) -> ObjectInfo:
        """See :meth:`Store.info`."""
        return self.around(Call("info", key), lambda: self.inner.info(key))

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """See :meth:`Store.list`; one call, whatever its pages."""
        return iter(self.around(Call("list", prefix), lambda: list(self.inner.list(prefix))))

    def list_level(self, prefix: str = "") -> Level:
        """See :meth:`Store.list_level`."""
        return self.around(Call("list_level", prefix), lambda: self.inner.list_level(prefix))

    def put(self, key: str, data: bytes) -> str:
        """See :meth:`Store.put`."""
        return self.around(Call("put", key, sent=len(data)), lambda: self.inner.put(key, data))

    def create(self, key: str, data: bytes, *, durable: bool = True) -> SwapOutcome:
        """See :meth:`Store.create`."""
        return self.around(Call("create", key, sent=len(data)), lambda: self.inner.create(key, data, durable=durable))

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """See :meth:`Store.replace`."""
        return self.around(Call("replace", key, sent=len(data)), lambda: self.inner.replace(key, data, etag))

    def check_swap(self) -> None:
        """See :meth:`Store.check_swap`; what the inner store does for it is not part of the story."""
        super().check_swap()
        self.inner.check_swap()

    def flush(self) -> None:
        """See :meth:`Store.flush`; no call, since no request is made."""
        self.inner.flush()

    @contextmanager
    def create_file(self, key: str) -> Iterator[Any]:
        """See :meth:`Store.create_file`; one call, when the file ends."""
        with ExitStack() as body:
            file = body.enter_context(self.inner.create_file(key))
            yield file
            call = Call("create_file", key, sent=0 if file.closed else file.tell())
            end = body.pop_all()
        # Whatever keeps the end from being carried out counts as an error of the body: nothing is left.
        with end:
            self.around(call, end.close)

    def delete(self, keys: Iterable[str]) -> None:
        """See :meth:`Store.delete`; one call."""
        doomed = list(keys)
        self.around(_call("delete", doomed), lambda: self.inner.delete(doomed))

    def copy(self, source: str, target: str) -> None:
        """See :meth:`Store.copy`."""
        self.around(Call("copy", source), lambda: self.inner.copy(source, target))

    def remove_leftovers(self, before: datetime, *, dry_run: bool = False) -> builtins.list[str]:
        """See :meth:`Store.remove_leftovers`."""
        return self.around(Call("remove_leftovers", ""), lambda: self.inner.remove_leftovers(before, dry_run=dry_run))

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to pickle: what a copy sees would be lost."""
        raise StoreError(f"{type(self).__name__} is a double for tests of one process.", key="", operation="pickle")


class CountingStore(WrappedStore):
    """Counts calls, and bytes sent and received, per verb.

    Examples
    --------
    >>> store = CountingStore("memory://counting")
    >>> etag = store.put("k", b"abc")
    >>> blob = store.get("k")
    >>> store.calls["get"], store.sent["put"], store.received["get"]
    (1, 3, 3)
    """

    def __init__(self, inner: str | Store) -> None:
        super().__init__(inner)
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Begin to count anew."""
        self.calls: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.log: list[Call] = []

    def around(self, call: Call, act: Callable[[], T]) -> T:
        """Carry out the call and count it, whether it fails or not."""
        received = 0
        try:
            answer = act()
            received = _bytes_in(answer)
        finally:
            with self._lock:
                self.log.append(call)
                self.calls[call.verb] += 1
                self.sent[call.verb] += call.sent
                self.received[call.verb] += received
        return answer


class SlowStore(WrappedStore):
    """Waits for ``latency`` seconds before each call, as a network would.

    Examples
    --------
    >>> store = SlowStore("memory://slow", latency=0.001)
    >>> store.get_many(["a", "b"]), store.get_many(["c"]), store.round_trips
    ([None, None], [None], 2)
    """

    def __init__(self, inner: str | Store, latency: float) -> None:
        super().__init__(inner)
        self.latency = latency
        self.spans: list[tuple[float, float]] = []

    def around(self, call: Call, act: Callable[[], T]) -> T:
        """Wait, then carry out the call."""
        del call
        began = time.perf_counter()
        time.sleep(self.latency)
        try:
            return act()
        finally:
            self.spans.append((time.perf_counter(), began))

    @property
    def round_trips(self) -> int:
        """How many calls, at most, each began after the one before had ended: what had to be waited for in turn."""
        found, free = 0, -math.inf
        for ended, began in sorted(self.spans):
            if began >= free:
                found, free = found + 1, ended
        return found


class Fault(Enum):
    """What can go wrong with a call."""

    FAIL = "nothing is done, and no answer comes"
    LOSE_ANSWER = "it is done, and no answer comes"
    REPEAT = "it is done, the answer is lost on the way, a client repeats it, and the second answer comes"
    LATE = "no answer comes, and it is done later, by `FaultyStore.land`"
    REFUSE = "the store refuses: surely nothing is done"


class FaultyStore(WrappedStore):
    """Fails where a script says so.

    "No answer" is a :class:`Doubtful` outcome of ``create`` and ``replace``, and a ``StoreError`` of other verbs.

    Parameters
    ----------
    inner
        The store that works.
    script
        Gets each call and says what goes wrong with it, or ``None``.

    Examples
    --------
    >>> inner = Store("memory://faulty")
    >>> store = FaultyStore(inner, lambda call: Fault.LOSE_ANSWER if call.verb == "create" else None)
    >>> type(store.create("k", b"v")).__name__, inner.get("k").data
    ('Doubtful', b'v')
    """

    def __init__(self, inner: str | Store, script: Callable[[Call], Fault | None]) -> None:
        super().__init__(inner)
        self.script = script
        self._lock = threading.Lock()
        self._numbers: Counter[str] = Counter()
        self._late: list[Callable[[], object]] = []

    def around(self, call: Call, act: Callable[[], T]) -> T:
        """Carry out the call as the script says."""
        fault = self.script(self._numbered(call))
        if fault is None:
            return act()
        error = StoreError(f"{call.verb} of {call.key!r}: {fault.value}", key=call.key, operation=call.verb)
        if fault is Fault.REFUSE:
            raise error
        if fault is Fault.LATE:
            self._late.append(act)
        elif fault is not Fault.FAIL:
            act()
        if fault is Fault.REPEAT:
            second = act()
            if isinstance(second, LostRace):
                return LostRace(repeated=True)  # type: ignore[return-value]  # T of these verbs
            return second
        if call.verb in ("create", "replace"):
            return Doubtful(error)  # type: ignore[return-value]  # T of these verbs
        raise error

    def land(self) -> None:
        """Carry out the calls that are late."""
        late, self._late = self._late, []
        for act in late:
            act()

    def _numbered(self, call: Call) -> Call:
        with self._lock:
            self._numbers[call.verb] += 1
            return Call(call.verb, call.key, call.keys, call.sent, self._numbers[call.verb])


def _call(verb: str, keys: list[str]) -> Call:
    return Call(verb, keys[0] if keys else "", len(keys))


def _bytes_in(answer: object) -> int:
    if isinstance(answer, Blob | Part):
        return len(answer.data)
    if isinstance(answer, list):
        return sum(map(_bytes_in, answer))
    return len(answer) if isinstance(answer, bytes) else 0
