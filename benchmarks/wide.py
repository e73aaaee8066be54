"""A cube of a seed and ten enrichments, and the same rows as bucketed tables of Spark's.

Every other enrichment has all cells, the others have 70 % of them, each its own. It is made once per size, when it is
asked for first::

    <directory>/<size>/wide/cube/      wide++seed  p x y  n0 v0
                                       wide++e01   p x y  n1 v1 w1     and so on, up to e10
    <directory>/<size>/wide/tables/    the same, in files bucketed and sorted by p, x, y
    <directory>/<size>/wide/made.json  last: how long each took
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import kubothek as kb
from benchmarks.data import Data, Size, cells_of, fraction, number, seconds

CUBE = kb.Cube(uuid_prefix="wide", dimension_columns=("x", "y"), partition_columns=("p",))
KEYS = ("p", "x", "y")
ENRICHMENTS = tuple(f"e{n:02}" for n in range(1, 11))
_BUCKETS = 16


@dataclass(frozen=True, slots=True)
class WideData:
    """The wide cube of one size on disk."""

    folder: Path

    @property
    def store(self) -> str:
        """Where the cube is."""
        return str(self.folder / "cube")

    def files(self, dataset: str) -> str:
        """Directory of the Parquet files of one dataset of the cube."""
        return str(self.folder / "cube" / CUBE.dataset_uuid(dataset) / "table")

    def bucketed(self, dataset: str) -> str:
        """Directory of the bucketed files of one dataset."""
        return str(self.folder / "tables" / dataset)


def make_wide(spark: SparkSession, data: Data) -> WideData:
    """Return the wide cube of the size of other data; it is made where it is not there yet."""
    wide = WideData(data.folder / "wide")
    made = wide.folder / "made.json"
    if not made.is_file():
        shutil.rmtree(wide.folder, ignore_errors=True)
        rows = wide_rows(spark, data.size)
        took = {"build_cube": seconds(lambda: kb.build_cube(rows, CUBE, wide.store))}
        took["tables"] = seconds(lambda: _make_tables(spark, wide))
        made.write_text(json.dumps(took), encoding="utf-8")
    return wide


def wide_rows(spark: SparkSession, size: Size) -> dict[str, DataFrame]:
    """Return the rows of the cube's datasets."""
    cells = cells_of(spark, size)
    rows = {"seed": cells.selectExpr(*KEYS, number(100, 1000, "n0"), fraction(200, "v0"))}
    for n, dataset in enumerate(ENRICHMENTS, start=1):
        own = cells if n % 2 else cells.where(f"pmod(xxhash64(id, {400 + n}), 10) < 7")
        rows[dataset] = own.selectExpr(
            *KEYS, number(100 + n, 1000, f"n{n}"), fraction(200 + n, f"v{n}"), fraction(300 + n, f"w{n}")
        )
    return rows


def table(spark: SparkSession, data: WideData, dataset: str) -> DataFrame:
    """Return a bucketed table; a session that does not know it yet is told where it is."""
    name = f"wide_{dataset}"
    if not spark.catalog.tableExists(name):
        columns = spark.read.parquet(data.bucketed(dataset)).schema
        described = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
        keys = ", ".join(KEYS)
        spark.sql(
            f"CREATE TABLE {name} ({described}) USING parquet CLUSTERED BY ({keys}) SORTED BY ({keys}) "
            f"INTO {_BUCKETS} BUCKETS LOCATION '{data.bucketed(dataset)}'"
        )
    return spark.table(name)


def _make_tables(spark: SparkSession, data: WideData) -> None:
    """Copy the files of each dataset into one file per bucket."""
    for dataset in ("seed", *ENRICHMENTS):
        rows = spark.read.parquet(data.files(dataset)).repartition(_BUCKETS, *KEYS)
        writer = rows.write.bucketBy(_BUCKETS, *KEYS).sortBy(*KEYS).option("compression", "zstd")
        writer.option("path", data.bucketed(dataset)).saveAsTable(f"wide_{dataset}")
