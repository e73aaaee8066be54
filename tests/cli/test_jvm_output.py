"""What a started process says reaches standard error, but for what Java says at every start."""

from __future__ import annotations

import subprocess
import threading

import pytest

from kubothek.cli.jvm_output import quiet_start

SAY = "echo 'WARNING: Using incubator modules: jdk.incubator.vector' >&2; echo 'out of memory' >&2"


def test_only_the_usual_is_kept_back(capfd: pytest.CaptureFixture[str]) -> None:
    """Every other line passes, also after the block, and the process's own standard error is as before."""
    with quiet_start():
        process = subprocess.Popen(["/bin/sh", "-c", f"sleep 0.1; {SAY}"])
    process.wait()
    for thread in threading.enumerate():
        if thread.name == "kubothek-jvm-output":
            thread.join()
    subprocess.run(["/bin/sh", "-c", "echo after >&2"], check=True)
    assert capfd.readouterr().err == "out of memory\nafter\n"
