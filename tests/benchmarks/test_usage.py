"""What a process tree is seen to use."""

from __future__ import annotations

import subprocess
import sys

import pytest
from benchmarks.usage import Meter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")


def test_own_memory() -> None:
    """Memory that was given back before the end counts, and a peak of before does not."""
    for size in (96 << 20, 32 << 20):
        with Meter() as meter:
            held = bytearray(size)
            del held
        assert meter.usage is not None
        assert meter.usage.grown_mib == pytest.approx(size >> 20, rel=0.2)


def test_process_that_ended() -> None:
    """A process that came and went leaves its CPU, its memory and its bytes."""
    code = (
        "import time; b = bytearray(64 << 20); open('/dev/null', 'wb').write(b)\nwhile time.process_time() < 0.8: pass"
    )
    with Meter() as meter:
        subprocess.run([sys.executable, "-S", "-c", code], check=True)
    assert meter.usage is not None
    assert meter.usage.cpu >= 0.8
    assert meter.usage.grown_mib >= 64
    assert meter.usage.written >= 64 << 20


def test_process_of_which_nothing_is_left() -> None:
    """What a worker used before does not count against others when it ends, though its parent never waits for it."""
    code = (
        "import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "if not os.fork(): open('/dev/null', 'wb').write(bytes(64 << 20)); print(flush=True); input(); os._exit(0)\n"
        "try: os.wait()\n"
        "except ChildProcessError: print(flush=True); signal.pause()\n"
    )
    daemon = subprocess.Popen([sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    with daemon.stdin, daemon.stdout:
        daemon.stdout.readline()
        with Meter() as meter:
            daemon.stdin.write(b"\n")
            daemon.stdin.flush()
            daemon.stdout.readline()
        daemon.kill()
        daemon.wait()
    assert meter.usage is not None
    assert meter.usage.cpu >= 0
    assert 0 <= meter.usage.written < 1 << 20
