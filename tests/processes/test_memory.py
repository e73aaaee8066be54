"""A process that has streamed a small file needs hardly more memory to stream a large one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.foreign import file_of, parquet

from kubothek.store.open import open_store

BATCH = 262_144
MIB = 2**20
# Prints the most memory that the process has had so far, in KiB, after streaming each of the datasets.
STREAM = """
import sys
from kubothek import open_dataset
for folder in sys.argv[1:]:
    for where in (None, "v1 >= 0"):
        assert sum(batch.num_rows for batch in open_dataset("u", folder).scan(where=where).batches()) % 262_144 == 0
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="reads the peak of memory in /proc")
def test_streaming_a_file_of_twenty_batches(tmp_path: Path) -> None:
    """Twenty times the rows, 126 MB of them, take less than half of that more, in row groups of any size."""
    numbers = pa.array(range(BATCH), pa.int64())
    piece = pa.table({"v1": numbers, "v2": numbers.cast(pa.float64()), "v3": numbers})
    folders = []
    for name, count, group in (("small", 1, BATCH), ("large", 20, BATCH), ("one row group", 20, 64 * MIB)):
        folders.append(str(tmp_path / name))
        data = parquet(pa.concat_tables([piece] * count), row_group_size=group, use_dictionary=False, compression="lz4")
        file_of(open_store(folders[-1]), piece.schema, data)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    printed = subprocess.check_output([sys.executable, "-c", STREAM, *folders], env=environment)
    small, large, giant = (int(line) * 1024 for line in printed.splitlines())
    assert large - small < 48 * MIB
    assert giant - small < 48 * MIB
