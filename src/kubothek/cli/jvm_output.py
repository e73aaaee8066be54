"""Keeps what Java says on its own account at every start out of the output; all else it says passes.

The JVM inherits standard error when it is started, so a pipe stands in for it at that moment. A thread copies the
pipe's lines to the real standard error for as long as the JVM lives.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STANDARD_ERROR = 2
_SAID_AT_EVERY_START = (b"WARNING: Using incubator modules: jdk.incubator.vector",)


@contextmanager
def quiet_start() -> Iterator[None]:
    """Let processes that are started in the block write to standard error through a filter."""
    sys.stderr.flush()
    real = os.dup(_STANDARD_ERROR)
    reader, writer = os.pipe()
    os.dup2(writer, _STANDARD_ERROR)
    os.close(writer)
    threading.Thread(target=_copy_lines, args=(reader, real), name="kubothek-jvm-output", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(real, _STANDARD_ERROR)  # the copy stays open for the thread


def _copy_lines(reader: int, real: int) -> None:
    with os.fdopen(reader, "rb") as lines, os.fdopen(real, "wb", buffering=0) as error:
        for line in lines:
            if not line.startswith(_SAID_AT_EVERY_START):
                error.write(line)
