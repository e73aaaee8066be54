"""What a call brings for a cube from Spark: its types are those that the cube has, where Spark shows them otherwise."""

from __future__ import annotations

import uuid as uuids
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from kubothek import Cube, build_cube
from kubothek.cube.incoming import parse_cube_data
from kubothek.cube.members import open_cube
from kubothek.engine.spark_types import spark_schema
from kubothek.store.open import open_store

CUBE = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
ROWS = pa.table({"x": pa.array([2**64 - 1], pa.uint64()), "p": [1], "t": pa.array([1], pa.time64("us"))})
OTHER = ROWS.select(["x", "p"]).append_column("v1", pa.array([1], pa.uint64()))


class DataFrame(SimpleNamespace):
    """What is looked at of Spark's before a job runs."""

    __module__ = "pyspark.sql.dataframe"


def frame(schema: pa.Schema) -> Any:
    """Return a DataFrame with these columns, as Spark shows them."""
    shown: StructType = spark_schema(schema)
    return DataFrame(schema=shown, columns=shown.fieldNames())


GIVEN = {
    "appended to the seed": ("seed", False, ROWS.schema, {"x": pa.uint64(), "t": pa.time64("us")}),
    "appended to another": ("more", False, OTHER.schema, {"x": pa.uint64(), "v1": pa.uint64()}),
    "new": ("late", True, OTHER.schema.remove(2), {"x": pa.uint64()}),
    "written anew": ("more", True, OTHER.schema, {"x": pa.uint64(), "v1": pa.decimal128(20, 0)}),
}


@pytest.mark.parametrize(("dataset", "creates", "schema", "kinds"), GIVEN.values(), ids=GIVEN)
def test_the_datasets_that_stay_decide_the_types(
    dataset: str, creates: bool, schema: pa.Schema, kinds: dict[str, pa.DataType]
) -> None:
    """Their columns have the types of record; what a dataset had that is replaced says nothing."""
    place = open_store(f"memory://{uuids.uuid4().hex}")
    build_cube({"seed": ROWS, "more": OTHER}, CUBE, place)
    given = parse_cube_data({dataset: frame(schema)}, CUBE, open_cube(CUBE, place).members, creates=creates)
    assert {name: given[dataset].schema.field(name).type for name in kinds} == kinds
