"""Calls that are wrong, with the error that mypy finds in each. Checked, never run."""

from __future__ import annotations

from typing import Any

import kubothek as kb
from kubothek import Cube


def wrong(rows: Any, ds: kb.Dataset) -> None:
    """Have the wrong types, names or order."""
    kb.write_dataset(rows, 1, "data")  # error: arg-type
    kb.write_dataset(rows, "u")  # error: call-arg
    kb.write_dataset(rows, "u", "data", ["p"])  # error: call-arg
    kb.write_dataset(rows, "u", "data", partitioned_by="p")  # error: call-arg
    kb.write_dataset(rows, "u", "data", header_format="yaml")  # error: arg-type
    kb.write_dataset(rows, "u", "data", num_buckets="4")  # error: arg-type
    kb.garbage_collect_dataset("u", "data", older_than=1)  # error: arg-type
    kb.open_dataset("u", "data", at="yesterday")  # error: arg-type
    kb.no_such_function()  # error: attr-defined
    ds.scan(limit=1)  # error: call-arg
    ds.version = 3  # error: misc
    ds.scan().to_spark()  # error: call-arg
    Cube(uuid_prefix="c").dimension_columns = ("x",)  # error: misc
