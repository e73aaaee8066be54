"""How many Spark tasks a read is worth, and how rows are put into batches for Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.engine.spark import ROWS_PER_BATCH, count_tasks, in_batches
from kubothek.errors import InvalidInputError

GIB = 2**30


@pytest.mark.parametrize(
    ("size", "cores", "tasks"),
    [
        pytest.param(0, 2, 2, id="nothing: every core once"),
        pytest.param(GIB // 4, 2, 2, id="worth one task per core"),
        pytest.param(GIB // 4 + 1, 2, 4, id="a byte more, and cores stay evenly loaded"),
        pytest.param(2 * GIB, 2, 8, id="not more than four per core"),
        pytest.param(GIB, 64, 64, id="many cores"),
        pytest.param(100 * GIB, 2, 400, id="no task gets too large"),
    ],
)
def test_count_tasks(size: int, cores: int, tasks: int) -> None:
    """A core gets more than one task only where there is enough to read for each."""
    assert count_tasks(size, cores) == tasks


@pytest.mark.parametrize(
    ("rows", "batches"),
    [
        pytest.param([0, 0], [], id="nothing"),
        pytest.param([10, 0, 20], [30], id="small ones together"),
        pytest.param([ROWS_PER_BATCH // 4, 5], [ROWS_PER_BATCH // 4, 5], id="large enough"),
        pytest.param([ROWS_PER_BATCH + 7], [ROWS_PER_BATCH, 7], id="too large"),
    ],
)
def test_in_batches(rows: list[int], batches: list[int]) -> None:
    """Batches are neither tiny nor huge, and hold all rows in their order."""
    tables = [pa.table({"x": pa.array([number] * count, pa.int64())}) for number, count in enumerate(rows)]
    found = list(in_batches(tables))
    assert [batch.num_rows for batch in found] == batches
    assert pa.Table.from_batches(found, tables[0].schema).equals(pa.concat_tables(tables))


def test_in_batches_without_columns() -> None:
    """Rows without columns are still counted."""
    tables = [pa.table({"x": [1] * count}).select([]) for count in (2, 3)]
    assert sum(batch.num_rows for batch in in_batches(tables)) == 5


@pytest.mark.parametrize("spark", [None, "spark"])
@pytest.mark.parametrize("where", [None, "x == 1"])
def test_what_is_no_session_is_refused(spark: Any, where: str | None, tmp_path: Path) -> None:
    """Whichever reader the rows would have come through."""
    scan = kb.write_dataset(pa.table({"x": [1]}), "u", tmp_path).scan(where=where)
    with pytest.raises(InvalidInputError, match="must be a SparkSession"):
        scan.to_spark(spark)
