"""Processes that share a directory: none loses what another wrote, and a dead one leaves nothing visible."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kubothek.store.interface import Store

LATER = timedelta(hours=1)
COUNT = """
import sys
from kubothek.store.interface import LostRace, Store
store, done = Store(sys.argv[1]), 0
while done < 100:
    blob = store.get("k")
    done += store.replace("k", b"%d" % (int(blob.data) + 1), blob.etag) != LostRace()
"""
STREAM = """
import sys
from kubothek.store.interface import Store
with Store(sys.argv[1]).create_file("a/k") as file:
    file.write(b"x" * 100_000)
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


def start(program: str, store: Store) -> subprocess.Popen[bytes]:
    """Start a Python process of its own on a store."""
    command = [sys.executable, "-c", program, store.url]
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    )


def test_processes_lose_no_increment(tmp_path: Path) -> None:
    """Two processes that count by replacing, 100 times each, end at 200."""
    store = Store(tmp_path)
    store.put("k", b"0")
    workers = [start(COUNT, store) for _ in range(2)]
    assert [worker.communicate()[0] for worker in workers] == [b"", b""]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert store.get("k").data == b"200"


def test_a_killed_writer_leaves_nothing_visible(tmp_path: Path) -> None:
    """What a writer had written when it was killed is in no listing, and can be removed by age."""
    store = Store(tmp_path)
    with start(STREAM, store) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        writer.send_signal(signal.SIGKILL)
    assert (list(store.list()), store.list_level()) == ([], ([], []))
    assert store.remove_leftovers(datetime.now(UTC) - LATER) == []
    found = store.remove_leftovers(datetime.now(UTC) + LATER, dry_run=True)
    assert found == store.remove_leftovers(datetime.now(UTC) + LATER) != []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
