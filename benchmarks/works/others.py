"""Plateau and Kartothek 5.3 as contenders: each in an environment of its own, asked by requests, taking its own time.

Their processes are there before the clock starts and stay for all cases of a work, as a service of theirs would.
One is left out where its environment has not been made: ``make bench`` makes Plateau's, ``make kartothek-env`` that
of Kartothek.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import Contender

_ROOT = Path(__file__).parents[2]
_PYTHONS = {
    "Plateau": os.environ.get("INTEROP_PYTHON", _ROOT / ".interop-venv" / "bin" / "python"),
    "Kartothek": os.environ.get("KARTOTHEK_PYTHON", _ROOT / ".kartothek-venv" / "bin" / "python"),
}


@dataclass(frozen=True, slots=True)
class Other:
    """A process in which one of them runs."""

    name: str
    process: subprocess.Popen[str]

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer, which has the ``seconds``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        found = dict(json.loads(line)) if line else {"error": f"ended with {self.process.wait()}"}
        if "error" in found:
            raise RuntimeError(f"{self.name}: {found['error']}")
        return found

    def fetch(self, out: Path) -> pa.Table:
        """Return what it found last, by way of a file, without what only pandas wants to know."""
        self.ask("fetch", out=str(out))
        return pq.ParquetFile(out).read().replace_schema_metadata()

    def contender(self, goal: float | None, out: Path, do: str, **request: Any) -> Contender:
        """Let it find something, and fetch that by way of a file."""
        return Contender(self.name, partial(self.ask, do, **request), lambda _: self.fetch(out), goal, told)


def told(answer: dict[str, Any]) -> float:
    """Return how long it took, as the other process says."""
    return float(answer["seconds"])


@contextmanager
def running(*names: str) -> Iterator[tuple[Other, ...]]:
    """Keep Plateau and Kartothek running, or some of them; only those that are there, which results tell."""
    wanted = names or tuple(_PYTHONS)
    with ExitStack() as processes:
        yield tuple(Other(name, processes.enter_context(_started(name))) for name in wanted if is_there(name))


def is_there(name: str) -> bool:
    """Tell whether one of them can run."""
    return Path(_PYTHONS[name]).exists()


@contextmanager
def _started(name: str) -> Iterator[subprocess.Popen[str]]:
    script = Path(__file__).with_name("with_plateau.py")
    command = [str(_PYTHONS[name]), "-W", "ignore", str(script), name.lower()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  ours
        yield process
        assert process.stdin is not None
        process.stdin.close()
