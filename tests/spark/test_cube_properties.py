"""Any cube, any query: Spark finds the rows that plain Python finds, in cubes that either of them wrote."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.answers import setting
from tests.spark.test_types import IN_SPARK

import kubothek as kb
from kubothek.errors import DuplicateCellsError
from kubothek.testing.cube_cases import cube_cases
from kubothek.testing.cube_questions import CubeQuestion, cube_questions
from kubothek.testing.cubes import CubeCase, CubeStep, Part, write_cube
from kubothek.testing.datasets import same_rows
from kubothek.testing.kinds import flat_kinds, partition_kinds
from kubothek.testing.reference_cube import ReferenceCube

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = settings.default.max_examples
CASES = cube_cases(flat=flat_kinds(IN_SPARK), keys=partition_kinds(IN_SPARK), nested=False)
AS_WRITTEN = ("spark.sql.timestampType", "TIMESTAMP_NTZ")


def agrees(spark: SparkSession, case: CubeCase, url: str, reference: ReferenceCube, question: CubeQuestion) -> bool:
    """Ask a cube on Spark and in-process; tell whether both have the rows of the reference."""
    query = kb.query_cube(case.cube, url, where=question.asked, **question.options)
    groups = reference.query(where=question.meant, **question.options)
    expected = [row for _, rows in groups for row in rows]
    zeros = {*case.separating, *(case.cube.dimension_columns if question.options["dimension_columns"] else ())}
    found = query.to_spark(spark).toArrow().cast(query.schema)
    return same_rows(found, expected, zeros=zeros) and same_rows(query.to_arrow(), expected, zeros=zeros)


@settings(max_examples=max(EXAMPLES // 10, 1))
@given(CASES, st.data())
def test_queries_on_spark_find_what_plain_python_finds(
    spark: SparkSession, case: CubeCase, data: st.DataObject
) -> None:
    """A cube that this process wrote has the same answers on Spark."""
    with TemporaryDirectory() as folder, setting(spark, *AS_WRITTEN):
        write_cube(case, folder)
        for _ in range(3):
            question = data.draw(cube_questions(case))
            assert agrees(spark, case, folder, case.reference(), question), question


@settings(max_examples=max(EXAMPLES // 20, 1))
@given(CASES, st.data())
def test_cubes_that_spark_writes_are_those_of_plain_python(
    spark: SparkSession, case: CubeCase, data: st.DataObject
) -> None:
    """Builds, extensions, appends and updates by Spark leave the rows that they leave in plain Python."""

    def on_spark(part: Part, step: CubeStep) -> Any:
        rows = pa.schema([(name, kind.record) for name, kind in part.kinds.items()])
        return spark.createDataFrame(pa.Table.from_pylist(list(step.rows[part.dataset_id]), rows))

    with TemporaryDirectory() as folder, setting(spark, *AS_WRITTEN):
        write_cube(case, folder, on_spark)
        for _ in range(2):
            question = data.draw(cube_questions(case))
            assert agrees(spark, case, folder, case.reference(), question), question


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_a_cell_is_one_in_all_partitions_of_its_dataset(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """A cell given twice is found where a partition column that the cube does not know keeps its rows apart."""
    cube = kb.Cube("c", ["x"], ["p"])
    more = spark.range(0, 8, 1, 2).selectExpr("id % 7 AS x", "id AS r", "id AS v1")
    data = {"seed": spark.range(8).selectExpr("id AS x", "0 AS p"), "more": more}
    with pytest.raises(DuplicateCellsError, match="more than once") as caught:
        kb.build_cube(data, cube, tmp_path, partition_on={"more": ["r"]}, shuffle=shuffle)
    assert caught.value.examples == [{"x": 0}]
    kb.build_cube({**data, "more": more.where("r < 7")}, cube, tmp_path, partition_on={"more": ["r"]}, shuffle=shuffle)
