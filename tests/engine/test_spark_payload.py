"""What travels to Spark's tasks is whole and small."""

from __future__ import annotations

import uuid as uuids
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kubothek import write_dataset
from kubothek.engine.spark.payload import pickled, unpickled
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.tasks import cut_plan


def plan_of(files: int) -> ReadPlan:
    """Return the plan of a scan that reads so many files, one per partition."""
    data = write_dataset(pa.table({"x": [1], "p": [1]}), "d", f"memory://{uuids.uuid4().hex}", partition_on="p")
    plan = data.scan(where="x > 0").plan
    (one,) = plan.files
    labels = [f"p={number}/{uuids.uuid4().hex}" for number in range(files)]
    columns = {
        "unit": pa.array(range(files), pa.int32()),
        "label": labels,
        "key": [f"d/table/{label}.parquet" for label in labels],
        "bytes": np.random.default_rng(7).integers(10**6, 10**7, files),
        "partition/p": range(files),
    }
    same = {name: pa.repeat(one[name][0], files) for name in one.schema.names if name not in columns}
    table = pa.table([(columns | same)[name] for name in one.schema.names], schema=one.schema)
    return replace(plan, files=(table,), units=pa.table({"unit": columns["unit"]}))


def test_plans_arrive_as_they_were() -> None:
    """What is unpickled is what was pickled."""
    plan = plan_of(10)
    assert unpickled(pickled(plan)) == plan


def test_names_of_files_travel_as_little_more_than_their_random_part() -> None:
    """All pieces of a plan together take less than 64 bytes per file; a message of Connect may have 128 MiB."""
    pieces = cut_plan(plan_of(20_000), 8)
    assert 16 * 20_000 < sum(len(pickled(piece)) for piece in pieces) < 64 * 20_000
