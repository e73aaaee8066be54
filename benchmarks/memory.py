"""How much memory do processes need at their peak? Linux says it of each, in ``/proc``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_MIB = 1024
"""In the unit of ``/proc``, which is KiB."""


def peak_of(process: str = "self") -> float:
    """Return the largest memory in MiB that one process ever held."""
    status = (_PROC / process / "status").read_text(encoding="utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert found, f"Linux does not tell the peak of process {process}"
    return int(found[1]) / _MIB


def descendants(process: str) -> Iterator[str]:
    """Yield the processes that a process started, and that those started."""
    for task in (_PROC / process / "task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            yield child
            yield from descendants(child)


def peaks_below(process: str = "self") -> tuple[float, float]:
    """Return the peaks in MiB of the largest Python worker of Spark and of the JVM below a process."""
    workers, machines = [], []
    for child in descendants(process):
        command = (_PROC / child / "cmdline").read_bytes()
        if b"pyspark.daemon" in command or b"pyspark/daemon" in command:
            workers.append(peak_of(child))
        elif b"java" in command.split(b"\0")[0]:
            machines.append(peak_of(child))
    assert workers, "Spark kept no Python worker to look at"
    assert machines, "there is no JVM"
    return max(workers), max(machines)
