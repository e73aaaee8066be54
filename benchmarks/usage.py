"""What a piece of work needs besides time: CPU, memory and bytes of this process and of all processes below it.

Linux tells it of each process in ``/proc``; elsewhere nothing is told. CPU and bytes are added up over the tree before
and after: what ends hands its sums to the parent that waits for it, so that processes may come and go in between.
Memory is the most that the tree held in a stretch of a quarter of a second: the sum of what each process held at most
in it, which Linux counts anew from the start of each stretch. A process shorter than a stretch may go unseen, and pages
that processes share count for each. A thread wakes once a stretch and reads a few small files; shorter works have none.
"""

from __future__ import annotations

import gc
import os
import re
import resource
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import sub
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

_PROC = Path("/proc")
_STRETCH = 0.25
_COUNT_ANEW = "5"
"""What ``clear_refs`` is told to make the peak of a process what it holds now."""
_MIB = 1 << 20
_TOLD = (
    all((_PROC / "thread-self" / name).exists() for name in ("io", "children")) and (_PROC / "self/clear_refs").exists()
)


class _Sums(NamedTuple):
    """What one process, and those that ended below it, have used so far; ``passed_on`` if its parent will get it."""

    cpu: float
    read: int
    written: int
    passed_on: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds, memory (at most, and how much of it was not held at the start), bytes of calls to read and write."""

    cpu: float
    peak_mib: float
    grown_mib: float
    read: int
    written: int


class Meter:
    """Tells after a ``with`` block what the tree used in it, as ``usage``; ``None`` where the system does not tell."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Self:
        gc.collect()  # what others left behind is theirs
        if _TOLD:
            self._held = self._peak = _held("VmRSS")
            self._watch.start()
            self._before = _spent(own_last=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if _TOLD:
            cpu, read, written = _difference(_spent(), self._before)
            self._ended.set()
            self._watch.join()
            peak, held = max(self._peak, _held("VmHWM")) / _MIB, self._held / _MIB
            self.usage = Usage(round(cpu, 4), round(peak, 1), round(peak - held, 1), int(read), int(written))

    def _look_on(self) -> None:
        while not self._ended.wait(_STRETCH):
            self._peak = max(self._peak, _held("VmHWM"))


def descendants(process: str) -> Iterator[str]:
    """Yield the processes that a process started, and that those started; some may have ended since."""
    with suppress(OSError):
        for task in (_PROC / process / "task").iterdir():
            with suppress(OSError):
                for child in (task / "children").read_text(encoding="ascii").split():
                    yield child
                    yield from descendants(child)


def _held(what: str) -> int:
    """Add up, over the tree, what processes hold or held at most, in bytes; their peaks begin anew."""
    held = 0
    for process in (own := str(os.getpid()), *descendants(own)):
        with suppress(FileNotFoundError, ProcessLookupError):
            found = re.search(rf"^{what}:\s+(\d+) kB$", (_PROC / process / "status").read_text("utf-8"), re.MULTILINE)
            (_PROC / process / "clear_refs").write_text(_COUNT_ANEW, encoding="ascii")
            held += 1024 * int(found[1]) if found else 0  # a process that has ended and is not waited for holds nothing
    return held


def _spent(*, own_last: bool = False) -> dict[str, _Sums]:
    """Look what each process of the tree has used; what reading the others takes is left out of our own."""
    own = str(os.getpid())
    first = None if own_last else _spent_here()
    others = {process: sums for process in descendants(own) if (sums := _spent_by(process))}
    return {own: first or _spent_here(), **others}


def _difference(after: dict[str, _Sums], before: dict[str, _Sums]) -> tuple[float, int, int]:
    """Return CPU seconds and bytes read and written in between."""
    counted = [sums for process, sums in before.items() if sums.passed_on or process in after]
    cpu, read, written, _ = map(sub, _total(after.values()), _total(counted))
    return cpu, read, written


def _total(several: Iterable[_Sums]) -> Iterator[float]:
    return map(sum, zip(*several, strict=True))


def _spent_here() -> _Sums:
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return _Sums(sum(time.ru_utime + time.ru_stime for time in times), *_bytes_of("self"))


def _spent_by(process: str) -> _Sums | None:
    try:
        # Its parent, and times of it and of what it waited for, after its name, which may contain anything.
        fields = (_PROC / process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        cpu = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return _Sums(cpu, *_bytes_of(process), passed_on=not _ignores_ends(fields[1]))
    except (FileNotFoundError, ProcessLookupError):  # it has ended; who waited for it has its sums
        return None


def _ignores_ends(process: str) -> bool:
    ignored = re.search(r"^SigIgn:\s+(\w+)$", (_PROC / process / "status").read_text("utf-8"), re.MULTILINE)
    return bool(ignored and int(ignored[1], 16) >> (signal.SIGCHLD - 1) & 1)


def _bytes_of(process: str) -> tuple[int, int]:
    lines = (_PROC / process / "io").read_text(encoding="ascii").splitlines()
    counts = dict(line.split(": ") for line in lines)
    return int(counts["rchar"]), int(counts["wchar"])
