"""A server in a process of its own on this machine: started on a free port, ready when used, gone at the end."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 60
STOP_SECONDS = 10


@contextmanager
def running(command: Callable[[int], Sequence[str]], log: Path) -> Iterator[int]:
    """Run a server for the length of the context and give its port.

    Parameters
    ----------
    command
        Returns the command line for a port.
    log
        Where the server's output goes.

    Raises
    ------
    RuntimeError
        The server ended, or took no connection in a minute; its output is in the message.
    """
    port = free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(command(port), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    try:
        _await(process, port, log)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of the loopback address on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    how = f"takes no connection after {START_SECONDS} s" if process.poll() is None else f"ended ({process.returncode})"
    said = log.read_text(encoding="utf-8", errors="replace") or "(nothing)"
    raise RuntimeError(f"The server {' '.join(map(str, process.args))} {how}. It said:\n{said}")  # type: ignore[arg-type]
