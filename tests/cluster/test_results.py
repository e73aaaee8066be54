"""What a cluster writes, answers and streams is what one process does, though executors have the package from a zip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tests.cluster.standalone import LOOPBACK, ONLY_IN_ZIPS, SETTINGS, SPARK_HOME, Cluster
from tests.cluster.troubled import SECRET, SecretStore
from tests.spark.answers import Rows, rows, spark_rows

import kubothek as kb
from kubothek import C, Cube
from kubothek.spark import register
from kubothek.spark.java import java_environment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUBE = Cube("c", ["x", "y"], "p", index_columns="i1")
SECONDS = 300

JOB = """
import sys
import kubothek as kb
from kubothek.spark import local_session

spark, store = local_session(master=sys.argv[1]), sys.argv[2]
assert ".zip" in kb.__file__, kb.__file__
kb.build_cube(spark.range(100).selectExpr("id % 3 AS p", "id AS x"), kb.Cube("c", "x", "p"), store)
kb.extend_cube({"e": spark.range(50).selectExpr("id % 3 AS p", "id AS x", "2 * id AS v1")}, "c", store)
rows = kb.query_cube("c", store, where="v1 >= 90").to_spark(spark).collect()
print(sorted(row.x for row in rows), kb.open_dataset("c++seed", store).history()[0].library)
"""


def drawn(seed: int, column: str, first: int = 0, count: int = 600) -> pa.Table:
    """Return so many cells in four partitions, with values drawn at random."""
    cells, values = np.arange(first, first + count), np.random.default_rng(seed).integers(0, 100, count)
    return pa.table({"x": cells // 10, "y": cells % 10, "p": cells % 4, "i1": cells % 7, column: values})


def write_cube(store: Path, spark: SparkSession | None) -> None:
    """Build, extend, append to and update the cube, with data from here or from Spark."""

    def given(table: pa.Table) -> pa.Table | DataFrame:
        return table if spark is None else spark.createDataFrame(table)

    kb.build_cube(given(drawn(1, "v1")), CUBE, store)
    kb.extend_cube({"e": given(drawn(2, "v2").drop_columns("i1"))}, CUBE, store)
    kb.append_to_cube(given(drawn(3, "v1", first=600, count=100)), CUBE, store)
    kb.update_cube(given(drawn(4, "v1", count=300).filter(pc.field("p") == 1)), CUBE, store)


def test_a_cube_is_what_one_process_makes_of_it(spark: SparkSession, tmp_path) -> None:
    """Written and queried on the cluster, against the same calls in this process."""
    here, there = tmp_path / "here", tmp_path / "there"
    write_cube(here, None)
    write_cube(there, spark)
    for where in (None, (C("v2") > 50) & (C("i1") == 3), C("p") == 1):
        expected = rows(kb.query_cube("c", here, where=where).to_arrow())
        assert expected == spark_rows(kb.query_cube("c", there, where=where).to_spark(spark))
        assert expected == rows(kb.query_cube("c", there, where=where).to_arrow())
        assert expected
    assert kb.check_cube("c", there) == []
    assert kb.open_dataset("c++seed", there).version == kb.open_dataset("c++seed", here).version


def test_indices_and_facts_are_gathered_by_tasks(spark: SparkSession, tmp_path) -> None:
    """An index and a hash that executors computed are those of this process."""
    data = drawn(5, "v1")
    kb.write_dataset(spark.createDataFrame(data), "d", tmp_path, partition_on="p")
    dataset = kb.build_dataset_indices("d", tmp_path, "v1", spark=spark)
    table = dataset.scan(where=C("v1") == data["v1"][0].as_py()).to_arrow()
    assert table.num_rows == pc.sum(pc.equal(data["v1"], data["v1"][0])).as_py()
    assert kb.hash_dataset("d", tmp_path, spark=spark).equals(kb.hash_dataset("d", tmp_path))


def test_the_data_source_writes_and_reads(spark: SparkSession, tmp_path) -> None:
    """A dataset written, and read with SQL."""
    register(spark)
    data = drawn(6, "v1")
    options = {"store": str(tmp_path), "dataset": "d"}
    frame = spark.createDataFrame(data).repartition(3)
    frame.write.format("kubothek").options(**options, partition_on="p").mode("append").save()
    spark.read.format("kubothek").options(**options).load().createOrReplaceTempView("d")
    expected = rows(data.filter((pc.field("p") == 2) & (pc.field("v1") > 50)))
    assert spark_rows(spark.sql("SELECT x, y, p, i1, v1 FROM d WHERE p = 2 AND v1 > 50")) == expected


def test_a_stream_copies_each_row_once(spark: SparkSession, tmp_path) -> None:
    """A dataset is followed into another one; what comes while the query is stopped is copied when it goes on."""
    register(spark)
    source, sink = ({"store": str(tmp_path), "dataset": name} for name in ("d", "e"))
    for first in (0, 600):
        kb.update_dataset(drawn(7, "v1", first), "d", tmp_path, partition_on="p")
        stream = spark.readStream.format("kubothek").options(**source).load()
        writer = stream.writeStream.format("kubothek").options(**sink, partition_on="p")
        query = writer.option("checkpointLocation", str(tmp_path / "kept")).trigger(availableNow=True).start()
        assert query.awaitTermination(SECONDS)
        assert content("e", tmp_path) == content("d", tmp_path)
    assert kb.open_dataset("e", tmp_path).version == 2


def content(uuid: str, store: Path) -> Rows:
    """Return the rows of a dataset."""
    return rows(kb.open_dataset(uuid, store).scan().to_arrow())


def test_secrets_of_a_store_are_in_no_plan(spark: SparkSession, events: Path, tmp_path) -> None:
    """What Spark notes about the session, which is all that its UI shows, says what is read and has no options."""
    store = SecretStore(tmp_path)
    data = spark.createDataFrame(drawn(8, "v1"))
    kb.build_cube(data, CUBE, store)
    frame = kb.query_cube("c", store, where="v1 > 50").to_spark(spark)
    assert frame.count() > 0
    register(spark)
    options = f"store '{tmp_path}', dataset 'c++seed', `store.fsync` 'false'"
    spark.sql(f"CREATE TEMPORARY VIEW hidden USING kubothek OPTIONS ({options})")
    said = "".join(path.read_text(encoding="utf-8") for path in events.rglob("*") if path.is_file())
    assert "kubothek: query cube c" in said
    assert "dataset -> c++seed, store.fsync -> *********(redacted)" in said
    assert SECRET not in said + repr(frame) + str(frame._jdf.queryExecution())


def test_a_submitted_program_takes_the_package_along(cluster: Cluster, python: Path, tmp_path) -> None:
    """Neither its driver nor its executors have it but in the zip."""
    package, job = tmp_path / "kubothek.zip", tmp_path / "job.py"
    subprocess.run([sys.executable, "-m", "kubothek.spark", package], check=True)
    job.write_text(JOB)
    settings = {**SETTINGS, "spark.log.level": "ERROR"}
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [SPARK_HOME / "bin" / "spark-submit", "--master", cluster.url, *options, "--py-files", package, job]
    environment = {**os.environ, **java_environment(os.environ), "SPARK_LOCAL_IP": LOOPBACK}
    environment |= {"PYSPARK_PYTHON": str(python), "SPARK_HOME": str(SPARK_HOME), ONLY_IN_ZIPS: "yes"}
    words = [*command, cluster.url, tmp_path / "store"]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.stdout.splitlines() == [f"[45, 46, 47, 48, 49] kubothek {kb.__version__}"], ended.stderr
