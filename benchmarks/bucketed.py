"""The rows of a cube as tables of Spark's, bucketed and sorted by the keys, which spares a join its shuffle and sort.

They are made from the files of the cube when they are asked for first, and lie beside it::

    <directory>/<size>/.../tables/<dataset>/
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.data import KEYS, StoredCube

BUCKETS = 16


def table(spark: SparkSession, cube: StoredCube, dataset: str) -> DataFrame:
    """Return the table of a dataset; a session that does not know it yet is told where it is.

    Joins may rely on the order of its files, of which there is one per bucket, and do not sort again.
    """
    spark.conf.set("spark.sql.legacy.bucketedTableScan.outputOrdering", "true")
    name, folder = f"{cube.cube.uuid_prefix}_{dataset}", cube.folder.parent / "tables" / dataset
    if not (folder / "_SUCCESS").exists():
        _write(spark, cube, dataset, name, folder)
    if not spark.catalog.tableExists(name):
        columns = spark.read.parquet(str(folder)).schema
        described = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
        keys = ", ".join(KEYS)
        spark.sql(
            f"CREATE TABLE {name} ({described}) USING parquet CLUSTERED BY ({keys}) SORTED BY ({keys}) "
            f"INTO {BUCKETS} BUCKETS LOCATION '{folder}'"
        )
    return spark.table(name)


def _write(spark: SparkSession, cube: StoredCube, dataset: str, name: str, folder: Path) -> None:
    """Copy the files of a dataset into one file per bucket."""
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    shutil.rmtree(folder, ignore_errors=True)
    rows = spark.read.parquet(cube.files(dataset)).repartition(BUCKETS, *KEYS)
    writer = rows.write.bucketBy(BUCKETS, *KEYS).sortBy(*KEYS).option("compression", "zstd")
    writer.option("path", str(folder)).saveAsTable(name)
