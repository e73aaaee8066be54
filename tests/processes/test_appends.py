"""Writers in processes of their own, one of which dies: nothing acknowledged is lost, nothing is damaged."""

from __future__ import annotations

import subprocess
import sys
import time

import kubothek as kb

APPENDS = 25

WRITER = """
import sys
import pyarrow as pa
import kubothek as kb

store, writer, appends = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(appends):
    rows = pa.table({"p": [writer], "i1": [number]})
    kb.update_dataset(rows, "d", store, partition_on="p", secondary_indices="i1")
    print(number, flush=True)
"""


def start(store, writer: str, appends: int = APPENDS) -> subprocess.Popen[str]:
    """Start a process that appends one row after the other and prints each number once it is committed."""
    command = [sys.executable, "-c", WRITER, str(store), writer, str(appends)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows(store) -> set[tuple[str, int]]:
    """Return every row of the dataset."""
    return {(row["p"], row["i1"]) for row in kb.open_dataset("d", store).scan().to_arrow().to_pylist()}


def test_two_processes_that_append_to_one_dataset_lose_nothing(tmp_path):
    """Each row that either process was told is committed is there once, and so is its index entry."""
    writers = [start(tmp_path, name) for name in "ab"]
    errors = [writer.communicate()[1] for writer in writers]
    assert errors == ["", ""]
    dataset = kb.open_dataset("d", tmp_path)
    assert dataset.version == len(dataset.partitions) == 2 * APPENDS
    assert rows(tmp_path) == {(name, number) for name in "ab" for number in range(APPENDS)}
    assert all(len(dataset.load_index("i1").eval_operator("==", number)) == 2 for number in range(APPENDS))


def test_a_killed_writer_leaves_a_dataset_that_others_go_on_with(tmp_path):
    """What a process acknowledged before it was killed stays, and the next writer is not held up."""
    writer = start(tmp_path, "a", appends=10_000)
    acknowledged = [int(writer.stdout.readline()) for _ in range(5)]
    time.sleep(0.01)
    writer.kill()
    rest, _ = writer.communicate()
    acknowledged += [int(line) for line in rest.splitlines()]
    assert start(tmp_path, "b", appends=2).wait() == 0
    expected = {("a", number) for number in acknowledged} | {("b", 0), ("b", 1)}
    last = ("a", max(acknowledged) + 1)
    assert rows(tmp_path) in (expected, expected | {last})  # a commit may take place just before its acknowledgement
