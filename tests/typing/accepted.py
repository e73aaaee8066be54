"""Calls as users write them; what mypy takes each expression for stands beside it. Checked, never run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, reveal_type

import kubothek as kb
from kubothek import C, Cube


def datasets(rows: Any) -> None:
    """Write, read and look after a dataset."""
    ds = kb.write_dataset(rows, "u", Path("data"), partition_on=["p"], secondary_indices="i1")
    reveal_type(ds)  # kubothek.dataset.dataset.Dataset
    reveal_type(ds.version)  # int | None
    reveal_type(ds.partitions["p=1/a"].rows)  # int | None
    reveal_type(ds.load_index("i1").eval_operator("==", 1))  # frozenset[str]
    then, store = datetime(2024, 1, 1, tzinfo=UTC), kb.Store("s3://bucket", region="eu-west-1")
    reveal_type(kb.open_dataset("u", store, at=then))  # kubothek.dataset.dataset.Dataset
    reveal_type(kb.update_dataset(None, "u", "data", delete_scope=[{"p": 1}]))  # kubothek.dataset.dataset.Dataset
    reveal_type(kb.garbage_collect_dataset("u", "data", older_than=timedelta(1), keep=3))  # list[str]
    reveal_type(kb.export_delta("u", "data").added)  # int
    reveal_type(ds.history()[0].version)  # int
    staged = kb.write_partitions(rows, "u", "data")
    reveal_type(staged)  # tuple[kubothek.model.staged.StagedPartition, ...]
    reveal_type(kb.commit_dataset("u", "data", new_partitions=staged))  # kubothek.dataset.dataset.Dataset


def conditions() -> None:
    """Build conditions."""
    reveal_type(C("x") == 1)  # kubothek.model.condition.Condition
    reveal_type(~((C("x") < 1) & (C("p").isin(["a"])) | C("y").is_null()))  # kubothek.model.condition.Condition


def scans(ds: kb.Dataset, spark: Any) -> None:
    """Read rows."""
    scan = ds.scan("v1", where="x > 1")
    reveal_type(scan)  # kubothek.dataset.scan.Scan
    reveal_type(scan.to_pandas())  # Any
    reveal_type(scan.to_polars())  # polars.dataframe.frame.DataFrame
    reveal_type(scan.to_spark(spark))  # pyspark.sql.dataframe.DataFrame
    for key, _ in scan.groups("p"):
        reveal_type(key)  # Any
    reveal_type(scan.explain(analyze=True).files)  # int


def cubes(rows: Any) -> None:
    """Build and ask a cube."""
    cube = Cube(uuid_prefix="c", dimension_columns="x", partition_columns=["p"])
    reveal_type(kb.build_cube({"seed": rows, "e": rows}, cube, "data"))  # dict[str, kubothek.dataset.dataset.Dataset]
    query = kb.query_cube(cube, "data", where=[[("x", "==", 1)]], partition_by="p")
    reveal_type(query)  # kubothek.cube.query.Query
    for key, _ in query.groups():
        reveal_type(key)  # tuple[Any, ...]
    reveal_type(query.pin())  # kubothek.model.pin.Pin
    reveal_type(kb.check_cube("c", "data"))  # list[kubothek.model.problem.Problem]
    reveal_type(kb.discover_cube("c", "data")[0])  # kubothek.model.cube.Cube
