"""What the footers of data files say for a Delta log: rows, columns that differ from those of record, and bounds.

Bounds are those that every reader of Delta understands alike: of whole numbers, text, dates and timestamps. Columns of
floating-point numbers have none, because Parquet leaves NaN out of its bounds and Delta holds it for the largest value.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

from kubothek.codec.data import corrupt_file
from kubothek.codec.possible_groups import group_statistics
from kubothek.engine.data_files import open_parquet
from kubothek.engine.local import map_in_threads
from kubothek.model.delta import DeltaFile
from kubothek.plan.delta import differences
from kubothek.plan.statistics import ColumnStatistics
from kubothek.store.interface import Store

_PARALLEL = 16
_COLUMNS = 32
"""Columns with statistics at most, as is usual in Delta: a log holds them for every file."""

_BOUNDED = (types.is_int64, types.is_string, types.is_date32, types.is_timestamp)


def read_delta_files(store: Store, files: pa.Table, record: pa.Schema) -> Iterable[DeltaFile]:
    """Read the footers of data files, several at a time, and yield what each says, in order.

    Parameters
    ----------
    store
        Where they are.
    files
        Their ``key`` and ``bytes`` (null where unknown).
    record
        The columns that each file is to have, with their types of record.

    Raises
    ------
    SnapshotExpiredError, CorruptDatasetError
        A file is gone, or is no Parquet file.
    """

    def read(file: tuple[str, int | None]) -> DeltaFile:
        key, size = file
        with open_parquet(store, key, size) as opened, corrupt_file(key):
            return _facts(opened.metadata, differences(opened.schema_arrow, record), record)

    return map_in_threads(read, zip(files["key"].to_pylist(), files["bytes"].to_pylist(), strict=True), _PARALLEL)


def _facts(footer: pq.FileMetaData, differing: tuple[str, ...], record: pa.Schema) -> DeltaFile:
    flat = [field for field in record if not types.is_nested(field.type)][:_COLUMNS]
    found = group_statistics(footer, frozenset(field.name for field in flat))
    bounded = [f.name for f in flat if f.name in found and any(belongs(f.type) for belongs in _BOUNDED)]
    statistics = {
        "minValues": _known({name: _bound(found[name], found[name].min, pc.min) for name in bounded}),
        "maxValues": _known({name: _bound(found[name], found[name].max, pc.max) for name in bounded}),
        "nullCount": _known({name: _nulls(one) for name, one in found.items()}),
    }
    return DeltaFile(footer.num_rows, differing, statistics)


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _bound(column: ColumnStatistics, bounds: pa.Array, choose: Any) -> Any:
    """Return the bound of a file; a row group that is not known to hold nulls alone must have one."""
    empty = pc.fill_null(pc.equal(column.nulls, column.rows), False)
    if not pc.all(pc.or_(pc.is_valid(bounds), empty)).as_py():
        return None
    value = choose(bounds).as_py()
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z") if isinstance(value, datetime) else value


def _nulls(column: ColumnStatistics) -> int | None:
    return None if column.nulls.null_count else pc.sum(column.nulls).as_py() or 0
