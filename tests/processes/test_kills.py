"""Writers are killed at any moment and started again, while a reader looks on."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from tests.appending import UUID, Tally, check, check_rows, command, told

import kubothek as kb
from kubothek.store.interface import Store

WRITERS, ROWS = "abcd", 100
LONGEST_LIFE = 40
"""The attempt in which a writer dies at the latest, or soon after."""
READER = """
import select, sys
import kubothek as kb
from kubothek.errors import DatasetNotFoundError
store, version, rows, reads = sys.argv[1], 0, set(), 0
while not select.select([sys.stdin], [], [], 0)[0]:
    try:
        dataset = kb.open_dataset("d", store)
    except DatasetNotFoundError:
        assert not version, "a dataset is gone"
        continue
    found = dataset.scan().to_arrow()["v1"].to_pylist()
    assert len(found) == len(set(found)) == dataset.version, "a read is not complete"
    assert version <= dataset.version and rows <= set(found), "a read went back"
    version, rows, reads = dataset.version, set(found), reads + 1
print(reads)
"""


def until_all_are_acknowledged(store: Store, writer: str, folder: Path) -> tuple[Tally, int]:
    """Start a writer, kill it and start it again until its rows are acknowledged; return its kills, too."""
    chance, tally, kills = random.Random(writer), Tally(), 0
    while (left := ROWS - len(tally.acknowledged)) > 0:
        output = folder / f"{writer}{kills}.txt"
        with output.open("w") as file:
            process = subprocess.Popen(command(store, writer, left), stdout=file)
        life = chance.randint(1, LONGEST_LIFE)
        while process.poll() is None and len(told(output.read_text()).tried) < life:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.05))  # anywhere in this attempt or one of the next
        process.kill()
        end = process.wait()
        assert end in (0, -signal.SIGKILL)
        kills += end != 0
        tally += told(output.read_text())
    return tally, kills


def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """Four writers have 100 rows acknowledged each, all are there once, and no read was ever incomplete or older."""
    store = Store(tmp_path / "store")
    pipe, looks = subprocess.PIPE, [sys.executable, "-c", READER, store.url]
    with (
        subprocess.Popen(looks, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as reader,
        ThreadPoolExecutor(len(WRITERS)) as pool,
    ):
        ends = list(pool.map(lambda writer: until_all_are_acknowledged(store, writer, tmp_path), WRITERS))
        reads, errors = reader.communicate("stop")
    assert errors == ""
    assert int(reads) > 1
    assert sum(kills for _, kills in ends) > len(WRITERS)
    tally = sum((tally for tally, _ in ends), Tally())
    assert (len(tally.acknowledged), tally.refused) == (len(WRITERS) * ROWS, frozenset())
    check(store, tally)
    assert kb.garbage_collect_dataset(UUID, store, older_than=timedelta(0), keep=1) != []
    check_rows(store, tally)
