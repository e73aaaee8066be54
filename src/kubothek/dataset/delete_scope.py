"""Which partitions of a snapshot a delete scope removes: reads what the decision needs.

Scopes on partition columns need nothing, and those on columns that only an index has, with one value per partition,
need that index. For others the index says which files may hold a match, and the footers of these few files whether they
hold one value throughout. What follows from it is decided in ``kubothek.plan.delete_scope``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.data import corrupt_file
from kubothek.codec.footer import load_footer
from kubothek.codec.keys import file_stem
from kubothek.codec.possible_groups import group_statistics
from kubothek.dataset.indices.lookup import index_only_columns, load_postings, look_up
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.fetched_file import open_fetched
from kubothek.engine.local import map_in_threads
from kubothek.model.condition import Condition
from kubothek.model.header import FILE_PREFIX
from kubothek.model.schema import joint_schema
from kubothek.plan.apply import NO_LABELS
from kubothek.plan.attached import attach_column
from kubothek.plan.delete_scope import bind_scope, deleted_labels
from kubothek.plan.possible import Mask
from kubothek.plan.prune import index_lookups, prune_files

_PARALLEL = 16


def select_deleted(snapshot: Snapshot, scope: Sequence[Condition]) -> pa.Array:
    """Return the labels of the partitions that a delete scope removes.

    Raises
    ------
    UnindexedColumnError, AmbiguousDeleteScopeError
        It cannot be carried out by removing whole files, or that cannot be known.
    """
    if not scope:
        return NO_LABELS
    keys, files = snapshot.partition_keys, _files(snapshot)
    record = joint_schema(snapshot.schemas.values(), keys)
    for name in index_only_columns(snapshot):
        if any(name in part.columns for part in scope):
            index = load_postings(snapshot, name)
            record, keys = record.append(index.schema.field(name)), (*keys, name)
            files = attach_column(files, name, index)
    indexed = snapshot.index_columns
    condition = bind_scope(scope, record, keys, indexed, snapshot.uuid)
    tested = sorted(condition.columns - set(keys))
    if tested:
        hits = look_up(snapshot, index_lookups(condition, set(indexed).intersection(tested)))
        files = prune_files(files, condition, keys, hits).kept
    constants = {name: _constants(snapshot, name, record.field(name).type, files["label"]) for name in tested}
    return deleted_labels(condition, files, constants, snapshot.uuid)


def _files(snapshot: Snapshot) -> pa.Table:
    """Return one row per label, from the first table that the partition has."""
    tables = [snapshot.file_table(table).drop_columns(["rows", "bytes", "key"]) for table in snapshot.tables]
    files = tables[0]
    for more in tables[1:]:
        new = pc.invert(pc.is_in(more["label"], value_set=files["label"].combine_chunks()))
        files = pa.concat_tables([files, more.filter(new)])
    return files


def _constants(snapshot: Snapshot, column: str, kind: pa.DataType, labels: pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """Return for each label the value that a column has in all rows of all its files, and where that is known."""
    rows = pc.index_in(labels, value_set=snapshot.partitions["label"].combine_chunks())
    tables = [FILE_PREFIX + name for name, schema in snapshot.schemas.items() if column in schema.names]
    keys = zip(*(snapshot.partitions[table].take(rows).to_pylist() for table in tables), strict=True)

    def constant(files: tuple[str | None, ...]) -> pa.Array | None:
        values = [None if key is None else _constant(snapshot, key, column, kind) for key in files]
        held = [value for value in values if value is None or len(value)]  # files without rows have no say
        return held[0] if held and all(value is not None and value == held[0] for value in held) else None

    found = list(map_in_threads(constant, keys, threads=_PARALLEL))
    values = [pa.nulls(1, kind) if value is None else value for value in found]
    known: Mask = np.array([value is not None for value in found], dtype=np.bool_)
    return pa.concat_arrays(values or [pa.array([], kind)]), known


def _constant(snapshot: Snapshot, key: str, column: str, kind: pa.DataType) -> pa.Array | None:
    """Return the one value of a column in a file, as its statistics prove it, or ``None``; no value without rows.

    Statistics of floats say nothing about NaN, and CSV files have none.
    """
    if pa.types.is_floating(kind) or not key.endswith(".parquet"):
        return None
    with open_fetched(snapshot.store, key) as file, corrupt_file(key):
        footer = load_footer(file, file_stem(key))
        if footer.num_rows == 0:
            return pa.array([], kind)
        statistics = group_statistics(footer, frozenset((column,))).get(column)
        if statistics is None or statistics.nulls.null_count:
            return None
        nulls, rows = pc.sum(statistics.nulls).as_py(), pc.sum(statistics.rows).as_py()
        if nulls == rows:
            return pa.nulls(1, kind)
        if nulls or statistics.min.null_count:
            return None
        values = pc.unique(pa.concat_arrays([statistics.min.cast(kind), statistics.max.cast(kind)]))
        return values if len(values) == 1 else None
