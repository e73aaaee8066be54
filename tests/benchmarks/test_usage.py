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
