"""What the footers of data files say about their row groups: the body of the tasks that collect metadata.

Only footers are read, several at a time, because each is a request of its own to the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.data import corrupt_file
from kubothek.codec.keys import data_suffix
from kubothek.codec.possible_groups import group_statistics
from kubothek.engine.data_files import open_parquet
from kubothek.engine.local import map_in_threads
from kubothek.model.condition import Condition
from kubothek.model.read_plan import PARTITION_PREFIX, ReadPlan
from kubothek.plan.statistics import ColumnStatistics, keep_by_statistics
from kubothek.store.interface import Store

_PARALLEL = 16

FOOTERS = pa.schema(
    [
        ("partition_label", pa.string()),
        ("row_group_id", pa.int64()),
        ("row_group_compressed_size", pa.int64()),
        ("row_group_uncompressed_size", pa.int64()),
        ("number_rows_total", pa.int64()),
        ("number_row_groups", pa.int64()),
        ("serialized_size", pa.int64()),
        ("number_rows_per_row_group", pa.int64()),
    ]
)
"""Columns of collected metadata, with Kartothek's names."""


def read_footers(store: Store, plan: ReadPlan) -> Iterator[pa.Table]:
    """Read the footers of the files of a plan; the body of a task.

    A file whose statistics prove that no row matches the plan's condition gives no row.
    """
    source, files = plan.inputs[0], plan.files[0]

    def read(number: int) -> pa.Table:
        label, key, size = (files.column(name)[number].as_py() for name in ("label", "key", "bytes"))
        if data_suffix(key) != ".parquet":
            return footer_rows(label, None)
        constants = {name: files.column(PARTITION_PREFIX + name)[number] for name in source.partition_keys}
        with open_parquet(store, key, size) as file, corrupt_file(key):
            if not _may_match(source.late, file.metadata, constants):
                return FOOTERS.empty_table()
            return footer_rows(label, file.metadata)

    yield pa.concat_tables([FOOTERS.empty_table(), *map_in_threads(read, range(files.num_rows), _PARALLEL)])


def _may_match(condition: Condition, footer: pq.FileMetaData, constants: Mapping[str, pa.Scalar]) -> bool:
    """Whether a row may match, as far as statistics tell; those of columns with one value per file are made of it."""
    if condition.columns <= constants.keys():
        return True
    rows = pa.array([footer.row_group(number).num_rows for number in range(footer.num_row_groups)], pa.int64())
    none = pa.repeat(pa.scalar(0, pa.int64()), len(rows))
    known = {
        name: ColumnStatistics(
            min=pa.repeat(value, len(rows)),
            max=pa.repeat(value, len(rows)),
            nulls=none if value.is_valid else rows,
            rows=rows,
        )
        for name, value in constants.items()
    }
    known |= group_statistics(footer, condition.columns - constants.keys())
    return bool(keep_by_statistics(condition, known, len(rows)).any())


def footer_rows(label: str, footer: pq.FileMetaData | None) -> pa.Table:
    """Return one row per row group; where there are none, one row in which what a row group has is null."""
    groups = [] if footer is None else [footer.row_group(number) for number in range(footer.num_row_groups)]
    columns = [[group.column(number) for number in range(group.num_columns)] for group in groups]
    count = max(len(groups), 1)
    found = {
        "partition_label": [label] * count,
        "row_group_id": list(range(len(groups))),
        "row_group_compressed_size": [sum(one.total_compressed_size for one in chunks) for chunks in columns],
        "row_group_uncompressed_size": [sum(one.total_uncompressed_size for one in chunks) for chunks in columns],
        "number_rows_total": [None if footer is None else footer.num_rows] * count,
        "number_row_groups": [None if footer is None else footer.num_row_groups] * count,
        "serialized_size": [None if footer is None else footer.serialized_size] * count,
        "number_rows_per_row_group": [group.num_rows for group in groups],
    }
    return pa.table([pa.array(found[f.name] or [None], f.type) for f in FOOTERS], schema=FOOTERS)
