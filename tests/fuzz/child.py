"""Fuzz one target until the time is over, in a process of its own with bounded memory; run by ``python -m tests.fuzz``.

Coverage of our Python code guides the search. Errors that a target may not raise are noted, once per place in the
code, with the input; what kills the process (a crash, too much memory, more than some seconds) is noted by whoever
started it, from the last input that this process wrote down.
"""

from __future__ import annotations

import json
import mmap
import resource
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutate import mutate

ADDRESS_SPACE = 6 * 2**30
"""Bytes of memory that the process may reserve; what only asks for more is found by it, however little it would use."""

SECONDS_PER_INPUT = 10
LAST_INPUT = 2**24


def fuzz(name: str, folder: Path, seconds: int, seed: int) -> None:
    """Give a target one input after the other, and keep count in ``folder``."""
    import atheris  # which only this process has, and which sees only what is imported under its eyes

    with atheris.instrument_imports(include=["kubothek"]):
        from tests.fuzz.targets import TARGETS

    target, samples = TARGETS[name], TARGETS[name].samples()
    for one in samples:
        target.read(one)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    status: dict[str, Any] = {"executions": 0, "slowest": 0.0, "accepted": 0, "base": _peak()}
    ends = shown = time.monotonic()
    ends += seconds
    last = _last_input(folder)

    def read(data: bytes) -> None:
        nonlocal shown
        last[: 8 + len(data)] = len(data).to_bytes(8, "big") + data
        started = time.monotonic()
        try:
            target.read(data)
            status["accepted"] += 1
        except target.refusals:
            pass
        except Exception as error:  # noqa: BLE001  everything else is a finding
            _note(folder, data, error)
        took = time.monotonic() - started
        status["executions"] += 1
        if took > status["slowest"]:
            status["slowest"] = took
            (folder / "slowest").write_bytes(data)
        if time.monotonic() - shown > 2:
            shown = time.monotonic()
            (folder / "status.json").write_text(json.dumps(status | {"peak": _peak()}))

    def custom(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.3:
            return atheris.Mutate(data, most)
        return mutate(
            data if random.random() < 0.7 else random.choice(samples), samples, target.tokens, target.form, random
        )[:most]

    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, one in enumerate(samples):
        (corpus / f"sample{number}").write_bytes(one)
    options = [f"-max_total_time={seconds}", f"-timeout={SECONDS_PER_INPUT}", f"-seed={seed}", "-rss_limit_mb=0"]
    options += ["-max_len=65536", f"-artifact_prefix={folder}/", "-print_final_stats=1", str(corpus)]
    atheris.Setup([sys.argv[0], *options], read, custom_mutator=custom)
    atheris.Fuzz()


def _last_input(folder: Path) -> mmap.mmap:
    path = folder / "last"
    with path.open("wb") as file:
        file.truncate(LAST_INPUT)
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), LAST_INPUT)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _note(folder: Path, data: bytes, error: Exception) -> None:
    """Keep the input of an error that no other has had at the same place."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "kubothek" in frame.filename]
    place = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    name = f"{type(error).__name__}-{Path(place.filename).stem}-{place.lineno}"
    if not (folder / f"{name}.input").exists():
        (folder / f"{name}.input").write_bytes(data)
        (folder / f"{name}.txt").write_text("".join(traceback.format_exception(error)))


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
