"""What is measured on: a cube of a seed and two enrichments, and unsorted rows to be written.

The cube is built with :func:`kubothek.build_cube`, and Spark's own way reads the very same files. All values are hashes
of a row number, so that every run makes the same data. It is made once per size::

    <directory>/<size>/cube/      bench++seed      p x y  i1 n1 n2 v1 v2 v3 s1 s2  with an index on i1
                                  bench++complete  p x y  a1 a2 a3 a4             every cell
                                  bench++partial   p x y  b1 b2 b3                70 % of the cells
    <directory>/<size>/rows/      p64 p512 x y i1 n1 v1 v2 v3 s1                  in no order
    <directory>/<size>/made       empty, and made last

A wider cube has a folder of its own (:mod:`benchmarks.wide`), and so have the same rows as tables of Spark's
(:mod:`benchmarks.bucketed`) and what works in this process make, each below the same folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import kubothek as kb

KEYS = ("p", "x", "y")
CUBE = kb.Cube(uuid_prefix="bench", dimension_columns=("x", "y"), partition_columns=("p",), index_columns=("i1",))


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything.

    Rows of the seed and its partitions, rows of a write, values to look up and the files they are in, rows of a
    partition for whose twentieth the memory is measured too, rows of a narrow shuffle, commits, and how many rounds are
    timed. ``tiny_files`` are the files of a second lookup of the same values, ``many`` the numbers of partitions that
    datasets have which are opened, of those up to ``appended`` also appended to; ``read`` are the rows of which 1 % are
    read, ``indexed`` the numbers of values of an index.
    """

    rows: int
    partitions: int
    written: int
    values: int
    files: int
    partition: int
    shuffled: int
    commits: int
    rounds: int
    tiny_files: int
    many: tuple[int, ...]
    appended: int
    read: int
    indexed: tuple[int, ...]


SIZES = {
    "tiny": Size(
        50_000,
        16,
        20_000,
        values=2_000,
        files=20,
        partition=100_000,
        shuffled=200_000,
        commits=16,
        rounds=2,
        tiny_files=100,
        many=(10, 100, 1_000),
        appended=1_000,
        read=20_000,
        indexed=(2_000, 4_000),
    ),
    "small": Size(
        1_000_000,
        128,
        500_000,
        values=100_000,
        files=200,
        partition=2_000_000,
        shuffled=2_000_000,
        commits=160,
        rounds=5,
        tiny_files=1_000,
        many=(10, 1_000, 10_000),
        appended=1_000,
        read=500_000,
        indexed=(100_000, 200_000),
    ),
    "medium": Size(
        5_000_000,
        128,
        2_500_000,
        values=500_000,
        files=500,
        partition=10_000_000,
        shuffled=10_000_000,
        commits=400,
        rounds=5,
        tiny_files=10_000,
        many=(10, 1_000, 10_000, 100_000),
        appended=10_000,
        read=5_000_000,
        indexed=(500_000, 1_000_000),
    ),
    "large": Size(
        20_000_000,
        128,
        10_000_000,
        values=1_000_000,
        files=1_000,
        partition=20_000_000,
        shuffled=50_000_000,
        commits=800,
        rounds=3,
        tiny_files=100_000,
        many=(10, 1_000, 10_000, 100_000, 1_000_000),
        appended=100_000,
        read=10_000_000,
        indexed=(1_000_000, 10_000_000),
    ),
}


@dataclass(frozen=True, slots=True)
class StoredCube:
    """A cube on disk, and the payload columns of its enrichments, of which the first tells where there is a cell.

    ``restriction`` holds for 2 % of the rows of the first enrichment.
    """

    cube: kb.Cube
    folder: Path
    columns: Mapping[str, tuple[str, ...]]
    restriction: str

    @property
    def enrichments(self) -> tuple[str, ...]:
        """Their names, in the order in which they are joined."""
        return tuple(self.columns)

    @property
    def partners(self) -> tuple[str, ...]:
        """A column of each enrichment, whose values are as many as there are cells."""
        return tuple(columns[0] for columns in self.columns.values())

    @property
    def store(self) -> str:
        """Where the cube is."""
        return str(self.folder)

    def files(self, dataset: str) -> str:
        """Directory of the Parquet files of one dataset."""
        return str(self.folder / self.cube.dataset_uuid(dataset) / "table")


@dataclass(frozen=True, slots=True)
class Data:
    """The data of one size on disk."""

    size: Size
    folder: Path

    @property
    def cube(self) -> StoredCube:
        """The cube of two enrichments."""
        columns = {"complete": ("a1", "a2", "a3", "a4"), "partial": ("b1", "b2", "b3")}
        return StoredCube(CUBE, self.folder / "cube", columns, "a1 < 20")

    @property
    def rows(self) -> str:
        """Where the rows to be written are."""
        return str(self.folder / "rows")

    @property
    def written(self) -> Path:
        """Where a benchmark may write."""
        return self.folder / "written"


def make_data(spark: SparkSession, name: str, directory: Path) -> Data:
    """Return the data of a size; it is made where it is not there yet."""
    size, folder = SIZES[name], directory.absolute() / name
    made = folder / "made"
    if not made.is_file():
        for own in ("cube", "tables", "rows"):
            shutil.rmtree(folder / own, ignore_errors=True)
        kb.build_cube(cube_rows(spark, size), CUBE, str(folder / "cube"))
        plain_rows(spark, size).write.parquet(str(folder / "rows"))
        made.touch()
    return Data(size, folder)


def cube_rows(spark: SparkSession, size: Size) -> dict[str, DataFrame]:
    """Return the rows of the cube's datasets."""
    cells, keys = cells_of(spark, size), [*KEYS]
    seed = [
        indexed(size, "i1"),
        number(1, 1000, "n1"),
        number(2, 10**6, "n2"),
        *(fraction(n, f"v{n}") for n in (1, 2, 3)),
    ]
    texts = ["concat('kind-', pmod(xxhash64(id, 6), 20)) AS s1", "concat('code-', pmod(xxhash64(id, 7), 1000)) AS s2"]
    complete = [number(11, 1000, "a1"), *(fraction(10 + n, f"a{n}") for n in (2, 3, 4))]
    partial = [number(21, 1000, "b1"), *(fraction(20 + n, f"b{n}") for n in (2, 3))]
    return {
        "seed": cells.selectExpr(*keys, *seed, *texts),
        "complete": cells.selectExpr(*keys, *complete),
        "partial": cells.where("pmod(xxhash64(id, 30), 10) < 7").selectExpr(*keys, *partial),
    }


def cells_of(spark: SparkSession, size: Size) -> DataFrame:
    """Return the cells of a seed by number; dimensions are numbers with gaps, as ids are."""
    p = size.partitions
    width = max(isqrt(size.rows // p), 1)
    return spark.range(size.rows).selectExpr(
        "id",
        f"id % {p} AS p",
        f"1000 + 37 * (id div {p} div {width}) AS x",
        f"500000 + 11 * (id div {p} % {width}) AS y",
    )


def plain_rows(spark: SparkSession, size: Size) -> DataFrame:
    """Return rows in no order, for 64 or 512 partitions, with a column for an index of 1,000 values."""
    return spark.range(size.written).selectExpr(
        number(41, 64, "p64"),
        number(42, 512, "p512"),
        number(43, 10**5, "x"),
        "id AS y",
        "concat('i-', pmod(xxhash64(id, 44), 1000)) AS i1",
        number(45, 10**6, "n1"),
        *(fraction(50 + n, f"v{n}") for n in (1, 2, 3)),
        "concat('kind-', pmod(xxhash64(id, 46), 20)) AS s1",
    )


def indexed(size: Size, name: str) -> str:
    """Return the expression of a column of which each partition has 16 values, and each value a few partitions."""
    return f"pmod(xxhash64(p, pmod(xxhash64(id, 8), 16)), {4 * size.partitions}) AS {name}"


def number(salt: int, below: int, name: str) -> str:
    """Return the expression of a column of whole numbers."""
    return f"pmod(xxhash64(id, {salt}), {below}) AS {name}"


def fraction(salt: int, name: str) -> str:
    """Return the expression of a column of numbers between 0 and 1."""
    return f"pmod(xxhash64(id, {salt}), 1000000007) / 1000000007D AS {name}"
