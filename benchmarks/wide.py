"""A cube of a seed and ten enrichments.

Every other enrichment has all cells, the others have 70 % of them, each its own. It has as many cells as the other
cube, but at most 2.5 million, since it has three times the columns. It is made once per size, when it is asked for::

    <directory>/<size>/wide/cube/      wide++seed  p x y  n0 v0
                                       wide++e01   p x y  n1 v1 w1     and so on, up to e10; e01 has an index on i1
    <directory>/<size>/wide/made       empty, and made last
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import kubothek as kb
from benchmarks.data import KEYS, Data, Size, StoredCube, cells_of, fraction, indexed, number

CUBE = kb.Cube(uuid_prefix="wide", dimension_columns=("x", "y"), partition_columns=("p",), index_columns=("i1",))
MOST = 2_500_000
ENRICHMENTS = tuple(f"e{n:02}" for n in range(1, 11))


def make_wide(spark: SparkSession, data: Data) -> StoredCube:
    """Return the wide cube of the size of other data; it is made where it is not there yet."""
    folder = data.folder / "wide"
    made, wide = folder / "made", wide_cube(folder / "cube", len(ENRICHMENTS))
    if not made.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        rows = wide_rows(spark, replace(data.size, rows=min(data.size.rows, MOST)))
        kb.build_cube(rows, CUBE, wide.store)
        made.touch()
    return wide


def wide_cube(folder: Path, enrichments: int) -> StoredCube:
    """Return the cube, or as much of it as has so many enrichments."""
    columns = {name: (f"n{n}", f"v{n}", f"w{n}") for n, name in enumerate(ENRICHMENTS[:enrichments], start=1)}
    return StoredCube(CUBE, folder, columns, "n1 < 20")


def wide_rows(spark: SparkSession, size: Size) -> dict[str, DataFrame]:
    """Return the rows of the cube's datasets."""
    cells = cells_of(spark, size)
    rows = {"seed": cells.selectExpr(*KEYS, number(100, 1000, "n0"), fraction(200, "v0"))}
    for n, dataset in enumerate(ENRICHMENTS, start=1):
        own = cells if n % 2 else cells.where(f"pmod(xxhash64(id, {400 + n}), 10) < 7")
        index = [indexed(size, "i1")] if n == 1 else []
        rows[dataset] = own.selectExpr(
            *KEYS, *index, number(100 + n, 1000, f"n{n}"), fraction(200 + n, f"v{n}"), fraction(300 + n, f"w{n}")
        )
    return rows
