"""The data source ``kubothek`` in Spark SQL: the rows of unpushed Spark, from the files that our conditions read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from tests.spark.answers import physical_plan, rows, setting, spark_rows

from kubothek import Cube, build_cube, open_dataset, query_cube, update_dataset, write_dataset
from kubothek.spark import register
from kubothek.spark.register import PUSH_DOWN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUBE = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"], index_columns=["i1"])
INSTANT = datetime(2024, 3, 10, 6, 30, tzinfo=UTC)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i1": (pa.int64(), [0, 1, 2, None, 5, -3]),
    "f1": (pa.float64(), [0.0, -0.0, 1.5, math.nan, None, -math.inf, 2.0]),
    "d1": (
        pa.decimal128(38, 2),
        [Decimal("1.50"), Decimal("-2.00"), None, Decimal("12345678901234567890123456789.01")],
    ),
    "u1": (pa.uint64(), [0, 7, None, 2**64 - 1]),
    "s1": (pa.string(), ["", "a", "ab", "b", None, "ä", "12:00:00"]),
    "b1": (pa.bool_(), [True, False, None]),
    "y1": (pa.binary(), [b"", b"a", b"\xff", None]),
    "t1": (pa.date32(), [date(2024, 3, 10), date(1900, 1, 1), None]),
    "n1": (pa.timestamp("us"), [INSTANT.replace(tzinfo=None), datetime.fromisoformat("2024-03-10T00:00"), None]),
    "z1": (pa.timestamp("us", "UTC"), [INSTANT, datetime(2024, 3, 10, 5, tzinfo=UTC), None]),
}
LITERALS = {
    "p": ["0", "2", "1.5", "NULL"],
    "i1": ["0", "2", "1.5D", "-3", "'2'", "3000000000", "NULL"],
    "f1": ["0.0D", "-0.0D", "1.5", "2", "double('NaN')", "double('-Infinity')", "float(1.5)", "NULL"],
    "d1": ["1.5BD", "-2", "1.505BD", "12345678901234567890123456789.01BD", "1.5D"],
    "u1": ["7", "-1", "18446744073709551615BD"],
    "s1": ["''", "'a'", "'ab'", "'ä'", "'b '", "NULL"],
    "b1": ["true", "false", "NULL"],
    "y1": ["X''", "X'61'", "X'ff'"],
    "t1": ["DATE'2024-03-10'", "TIMESTAMP'2024-03-10 00:00:00'", "'1900-01-01'", "NULL"],
    "n1": ["TIMESTAMP_NTZ'2024-03-10 06:30:00'", "DATE'2024-03-10'", "TIMESTAMP'2024-03-10 06:30:00'"],
    "z1": ["TIMESTAMP'2024-03-10 01:30:00'", "TIMESTAMP'2024-03-10 06:30:00Z'", "DATE'2024-03-10'", "NULL"],
}
OTHERS = ["f1", "s1", "t1"]
OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]


def cells(count: int = 48) -> pa.Table:
    """Rows with all kinds of values, in an order that mixes them."""
    table = pa.table({"x": range(count), "p": [x // 4 for x in range(count)]})
    for step, (name, (kind, values)) in enumerate(VALUES.items()):
        table = table.append_column(
            name, pa.array([values[(x * (step + 1) // 3) % len(values)] for x in range(count)], kind)
        )
    return table


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset, and a cube whose enrichment has two of three cells, the same rows in both."""
    folder = tmp_path_factory.mktemp("source")
    write_dataset(cells(), "d", folder, partition_on="p", secondary_indices=["i1", "f1", "s1", "z1"])
    other = cells().filter(pa.array([x % 3 != 0 for x in range(48)])).select(["x", "p", *OTHERS])
    other = other.rename_columns(["x", "p", *(f"{name}_" for name in OTHERS)])
    build_cube({"seed": cells(), "other": other}, CUBE, folder)
    return folder


@pytest.fixture(scope="module")
def pushing(spark: SparkSession) -> Iterator[SparkSession]:
    """Switch the push-down on."""
    before = spark.conf.get(PUSH_DOWN)
    register(spark)
    yield spark
    spark.conf.set(PUSH_DOWN, before)


def load(spark: SparkSession, store: Path, **options: Any) -> DataFrame:
    """Load anew, to push the filters of one query."""
    return spark.read.format("kubothek").options(pushdown=True, **options).load(str(store))


def leaves(names: list[str]) -> st.SearchStrategy[str]:
    """SQL on one column: comparisons with values of several types, lists, beginnings and ends, null."""
    column = st.sampled_from(names).map(lambda name: (name, st.sampled_from(LITERALS[name.rstrip("_")])))
    compared = column.flatmap(
        lambda drawn: st.builds("{} {} {}".format, st.just(drawn[0]), st.sampled_from(OPERATORS), drawn[1])
    )
    listed = column.flatmap(
        lambda drawn: st.lists(drawn[1], min_size=1, max_size=3).map(lambda said: f"{drawn[0]} IN ({', '.join(said)})")
    )
    null = st.sampled_from(names).map("{} IS NULL".format)
    text = st.sampled_from(["s1 LIKE 'a%'", "s1 LIKE '%b'", "s1 LIKE '%a%'", "s1 LIKE '_'", "b1", "upper(s1) = 'A'"])
    return st.one_of(compared, compared, listed, null, text)


def predicates(names: list[str]) -> st.SearchStrategy[str]:
    """SQL of several leaves; mostly conjunctions, as only these are pushed."""
    single = st.one_of(leaves(names), leaves(names).map("NOT ({})".format))
    either = st.builds("({} OR {})".format, single, single)
    return st.lists(st.one_of(single, single, either), min_size=1, max_size=3).map(" AND ".join)


ASKED = {
    "dataset": ({"dataset": "d"}, [*LITERALS]),
    "cube": ({"cube": "c"}, [*LITERALS, *(f"{one}_" for one in OTHERS)]),
}


@settings(max_examples=3)
@given(data=st.data())
@pytest.mark.parametrize(("asked", "names"), ASKED.values(), ids=ASKED)
def test_rows_are_those_of_unpushed_spark(
    pushing: SparkSession, store: Path, asked: dict[str, str], names: list[str], data: st.DataObject
) -> None:
    """Whatever is pushed, a query has the rows that Spark finds in a plain table with the same columns."""
    chosen = data.draw(st.lists(predicates(names), min_size=25, max_size=25))
    with setting(pushing, "spark.sql.session.timeZone", data.draw(st.sampled_from(["UTC", "America/New_York"]))):
        true = plain(pushing, store, asked).selectExpr("x", *(f"coalesce({one}, false)" for one in chosen)).toArrow()
        each = [load(pushing, store, **asked).where(one).selectExpr(f"{n} AS n", "x") for n, one in enumerate(chosen)]
        pushed = union(each).toArrow()
    for number, one in enumerate(chosen):
        expected = true.filter(true.column(number + 1))["x"].to_pylist()
        assert sorted(pushed.filter(pc.equal(pushed["n"], number))["x"].to_pylist()) == sorted(expected), one


def plain(spark: SparkSession, store: Path, asked: dict[str, str]) -> DataFrame:
    """Return the same rows as a table of Spark's own."""
    read = query_cube("c", store) if "cube" in asked else open_dataset("d", store).scan()
    table = read.to_arrow()
    place = table.column_names.index("u1")
    return spark.createDataFrame(table.set_column(place, "u1", table["u1"].cast(pa.decimal128(20, 0))))


def union(frames: list[DataFrame]) -> DataFrame:
    """Put the rows of many frames together, as a shallow tree."""
    while len(frames) > 1:
        frames = [one.union(other) for one, other in zip(frames[::2], frames[1::2], strict=False)] + (
            frames[-1:] if len(frames) % 2 else []
        )
    return frames[0]


READ_ALIKE = {
    "partition": ("p = 2", "p == 2"),
    "partitions, as unpushed": ("p <> 2 AND p IS NOT NULL", "p != 2"),
    "range": ("p BETWEEN 1 AND 2", "p >= 1 & p <= 2"),
    "index": ("i1 = 5", "i1 == 5"),
    "index of texts": ("s1 LIKE 'ab%'", "s1 == 'ab'"),
    "index of floats": ("f1 < -1.5D", "f1 < -1.5"),
    "index of instants": ("z1 = TIMESTAMP'2024-03-10 05:00:00Z'", 'z1 == "2024-03-10T05:00+00:00"'),
    "both": ("p IN (0, 3) AND i1 = 1", "p in (0, 3) & i1 == 1"),
}


@pytest.mark.parametrize(("said", "where"), READ_ALIKE.values(), ids=READ_ALIKE)
def test_a_query_opens_the_files_of_a_scan(pushing: SparkSession, store: Path, said: str, where: str) -> None:
    """With all other data files out of the way, a filter in SQL finds its rows."""
    scan, query = open_dataset("d", store).scan("x", where), query_cube("c", store, where=where)
    expected = [rows(scan.to_arrow()), rows(query.to_arrow().select(["x"]))]
    kept = [key for read in (scan, query) for files in read.plan.files for key in files["key"].to_pylist()]
    frames = [load(pushing, store, dataset="d"), load(pushing, store, cube="c")]
    with only_files(store, kept):
        assert [spark_rows(frame.where(said).select("x")) for frame in frames] == expected


@contextmanager
def only_files(store: Path, kept: list[str]) -> Iterator[None]:
    """Take all data files but these out of the way for a while."""
    others = [path for path in store.rglob("table/**/*.parquet") if str(path.relative_to(store)) not in kept]
    assert others
    for path in others:
        path.rename(path.with_suffix(".away"))
    try:
        yield
    finally:
        for path in others:
            path.with_suffix(".away").rename(path)


def test_nothing_is_pushed_with_the_switch_off(spark: SparkSession, store: Path) -> None:
    """Without the switch a query has the same rows, from all files."""
    with setting(spark, PUSH_DOWN, "false"):
        frame = load(spark, store, dataset="d").where("p = 2 AND i1 = 5").select("x")
        assert spark_rows(frame) == rows(open_dataset("d", store).scan("x", "p == 2 & i1 == 5").to_arrow())
        with only_files(store, []), pytest.raises(PySparkException, match="SnapshotExpiredError"):
            load(spark, store, dataset="d").where("p = 2").collect()


def test_cells_without_partner_stay_where_null_is_asked_for(pushing: SparkSession, store: Path) -> None:
    """``IS NULL`` on a column of an enrichment finds the cells that it does not have, which a condition would not."""
    found = load(pushing, store, cube="c").where("s1_ IS NULL AND p = 0").select("x").toArrow()["x"].to_pylist()
    missing = [x for x in range(4) if x % 3 == 0 or cells()["s1"][x].as_py() is None]
    assert sorted(found) == missing


def test_queries_of_one_frame_do_not_share_filters(pushing: SparkSession, store: Path) -> None:
    """By default a frame may be queried again and again, also in one query, with and without filters."""
    frame = pushing.read.format("kubothek").option("dataset", "d").load(str(store)).select("p")
    one, other = frame.where("p = 1"), frame.where("p = 2")
    assert [one.count(), frame.count(), other.union(one).distinct().count()] == [4, 48, 2]


@pytest.mark.xfail(reason="Spark 4.1 to 4.3 keep the plan of a filtered query with the frame, and use it for others")
def test_queries_of_one_frame_that_pushes_do_not_share_filters(pushing: SparkSession, store: Path) -> None:
    """Once Spark keeps what it pushes with the query, filters can be taken without being asked for."""
    frame = load(pushing, store, dataset="d")
    assert [frame.where("p = 1").count(), frame.count()] == [4, 48]


def test_views_are_found_and_joined(spark: SparkSession, store: Path) -> None:
    """``USING kubothek`` needs no registration; a dataset and a cube are tables like others."""
    for name, what in {"d": "dataset 'd'", "c": "cube 'c', columns 's1_,x', where 'p < 3'"}.items():
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} USING kubothek OPTIONS (store '{store}', {what})")
    found = spark.sql("SELECT d.x, s1_ FROM d JOIN c ON d.x = c.x WHERE d.p = 1 AND i1 IS NOT NULL")
    cube = query_cube("c", store, where="p == 1 & ~(i1 is null)", columns=["s1_"])
    assert spark_rows(found) == rows(cube.to_arrow().select(["x", "s1_"]))


@pytest.mark.parametrize("asked", [{"dataset": "d"}, {"cube": "c"}], ids=["dataset", "cube"])
def test_loading_runs_no_job(spark: SparkSession, store: Path, asked: dict[str, str]) -> None:
    """The schema comes from headers: all columns as the other ways to read give them."""
    spark.sparkContext.setJobGroup("loading", "no job expected")
    frame = load(spark, store, **asked)
    read = query_cube("c", store) if "cube" in asked else open_dataset("d", store).scan()
    assert frame.schema == read.to_spark(spark).schema
    assert "BatchScan kubothek" in physical_plan(frame)
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("loading")


@pytest.mark.parametrize("columns", ["s1_", "x", "i1,p"])
def test_a_cube_gives_exactly_the_columns_asked_for(spark: SparkSession, store: Path, columns: str) -> None:
    """Dimension and partition columns are read along and left out again."""
    frame = load(spark, store, cube="c", columns=columns)
    assert frame.columns == columns.split(",")
    assert spark_rows(frame) == rows(query_cube("c", store).to_arrow().select(columns.split(",")))


def test_no_rows_are_an_empty_frame(pushing: SparkSession, store: Path) -> None:
    """Neither a condition that nothing fulfils nor a filter that leaves no file is an error."""
    assert load(pushing, store, dataset="d", where="p == 99").count() == 0
    assert load(pushing, store, cube="c").where("p = 99").toArrow().num_rows == 0


def test_a_frame_shows_what_it_was_loaded_from(pushing: SparkSession, tmp_path: Path) -> None:
    """Commits after loading are seen by loading again; older versions by their number."""
    write_dataset(cells(8), "d", tmp_path, partition_on="p")
    frame = load(pushing, tmp_path, dataset="d")
    update_dataset(cells(8), "d", tmp_path)
    counts = [frame.count(), frame.where("p = 1").count()]
    assert counts == [8, 4]
    assert [load(pushing, tmp_path, dataset="d", **at).count() for at in ({}, {"at": 1}, {"at": 2})] == [16, 8, 16]


def test_a_schema_of_the_user_chooses_columns(spark: SparkSession, store: Path) -> None:
    """``schema(...)`` with the types of record reads these columns; with others it is refused."""
    reader = spark.read.format("kubothek").option("dataset", "d")
    assert reader.schema("s1 STRING, x BIGINT").load(str(store)).columns == ["s1", "x"]
    assert spark_rows(reader.schema("x BIGINT").load(str(store))) == [
        (x,) for x in sorted(range(48), key=lambda x: repr((x,)))
    ]
    with pytest.raises(PySparkException, match="'x' is bigint and may be null, not int"):
        reader.schema("x INT").load(str(store)).collect()


def test_options_that_are_wrong_are_refused_at_once(spark: SparkSession, store: Path) -> None:
    """Spark shows what is wrong with them when the frame is made."""
    with pytest.raises(PySparkException, match=r"(?s)'colums' is unknown; did you mean 'columns'\?.*store"):
        spark.read.format("kubothek").option("dataset", "d").option("colums", "x").load()
