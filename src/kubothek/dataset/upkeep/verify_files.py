"""How the files of a dataset are checked: data files against the header and the schema, indices against data files.

Of a Parquet file the footer is read, of others all of it; for an index then the indexed column of each file, a few
files at a time. A file that cannot be read is a problem of its own, and keeps nothing else from being checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.partition_values import partition_values
from kubothek.dataset.indices.files import merged_index
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.data_files import FileScan, read_facts
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, NotFoundError
from kubothek.model.problem import Problem
from kubothek.plan.apply import NO_LABELS, IndexMerge
from kubothek.plan.verify import (
    IndexDifference,
    ValuesByLabel,
    check_columns,
    check_index_labels,
    check_index_values,
    check_labels,
    check_rows,
    check_sizes,
    compare_values,
)

T = TypeVar("T")

UNREADABLE = ("missing_file", "unreadable_file", "wrong_columns")
"""Kinds of problems of data files whose columns cannot be read."""

_FOOTERS = 16
"""Footers that are read at a time; each is a request of its own to the store."""

_MOST = 100
"""Undecodable keys of one table that are reported: each costs another attempt at all others."""


def check_file_list(snapshot: Snapshot, table: str, files: pa.Table) -> Iterator[Problem]:
    """Check names and sizes of the data files of one table; ``files`` as ``plan.verify.table_files`` gives them."""
    yield from check_labels(snapshot.uuid, table, files)
    yield from _check_partition_values(snapshot, table, files)
    yield from check_sizes(snapshot.uuid, files)


def check_footers(snapshot: Snapshot, table: str, files: pa.Table) -> Iterator[Problem]:
    """Check that the data files of one table that are there can be opened and fit the schema."""
    there = files.filter(pc.is_valid(files["size"]))
    keys = snapshot.partition_keys
    stored = pa.schema([field for field in snapshot.schemas[table] if field.name not in keys])
    rows = zip(*(there[name].to_pylist() for name in ("key", "size", "rows")), strict=True)
    found = map_in_threads(lambda row: _check_file(snapshot, stored, *row), rows, _FOOTERS)
    yield from chain.from_iterable(found)


def _check_partition_values(snapshot: Snapshot, table: str, files: pa.Table) -> Iterator[Problem]:
    uuid, keys = snapshot.uuid, files["key"].combine_chunks()
    for _ in range(_MOST):
        try:
            partition_values(keys, uuid, table, snapshot.partition_keys, snapshot.schemas[table])
            return
        except CorruptDatasetError as error:
            bad = error.details.get("key")
            yield Problem("undecodable_partition", uuid, bad, error.message)
            others = keys.filter(pc.not_equal(keys, bad)) if bad is not None else keys
            if len(others) == len(keys):
                return
            keys = others


def _check_file(snapshot: Snapshot, stored: pa.Schema, key: str, size: int, rows: int | None) -> list[Problem]:
    """Check one file that is there: its footer, or all of it where it has none."""
    found = _tried(lambda: read_facts(snapshot.store, key, size, stored), snapshot.uuid, key)
    if isinstance(found, Problem):
        return [found]
    count, schema = found
    uuid = snapshot.uuid
    return [*check_rows(uuid, key, rows, count), *check_columns(uuid, key, stored, schema)]


def _tried(read: Callable[[], T], uuid: str, key: str) -> T | Problem:
    """Return what was read of a data file, or the problem that it cannot be."""
    try:
        return read()
    except CorruptDatasetError as error:
        return Problem("unreadable_file", uuid, key, error.message)
    except NotFoundError as error:
        return Problem("missing_file", uuid, key, error.message)
    except (pa.ArrowException, ValueError, OverflowError) as error:  # what damaged metadata makes of Arrow
        return Problem("unreadable_file", uuid, key, f"The file cannot be read: {error}")


def check_index(
    snapshot: Snapshot, column: str, files: Mapping[str, pa.Table], broken: Collection[str | None]
) -> list[Problem]:
    """Check one secondary index against the column in the data files, but for files that are known to be broken.

    An index on a column that no table has can only be asked whether its partitions exist.
    """
    uuid, key = snapshot.uuid, snapshot.header.indices.get(column)
    tables = [table for table, schema in snapshot.schemas.items() if column in schema.names]
    kind = snapshot.schemas[tables[0]].field(column).type if tables else None
    embedded = snapshot.header.embedded_indices.get(column, {})
    try:
        index = merged_index(snapshot.store, IndexMerge(column, kind, key, embedded, None, (), NO_LABELS))
    except CorruptDatasetError as error:
        return [Problem("unreadable_index", uuid, key, error.message)]
    except (pa.ArrowException, ValueError, KeyError) as error:
        return [Problem("unreadable_index", uuid, key, f"The index on {column!r} cannot be read: {error}")]
    indexed = ValuesByLabel(column, index)
    known = snapshot.partitions["label"].combine_chunks()
    problems = [*check_index_labels(uuid, column, key, indexed.labels, known)]
    differences: list[IndexDifference] = []
    if kind is not None:
        sources = [_Column(snapshot, table, column, files[table], broken) for table in tables]
        for found in map_in_threads(lambda label: _compare(label, column, indexed, sources), known.to_pylist()):
            if isinstance(found, Problem):
                problems.append(found)
            elif found is not None:
                differences.append(found)
    return [*problems, *check_index_values(uuid, column, key, differences)]


class _Column:
    """One column of the files of one table, read by label; files that are broken are left out."""

    def __init__(
        self, snapshot: Snapshot, table: str, column: str, files: pa.Table, broken: Collection[str | None]
    ) -> None:
        bad = pa.array(sorted(key for key in broken if key is not None), pa.string())
        self.broken = set(files["label"].filter(pc.is_in(files["key"], value_set=bad)).to_pylist())
        places = zip(files["key"].to_pylist(), files["size"].to_pylist(), strict=True)
        self._snapshot = snapshot
        self._schema = pa.schema([snapshot.schemas[table].field(column)])
        self._files = dict(zip(files["label"].to_pylist(), places, strict=True))

    def values(self, label: str) -> pa.Array | Problem | None:
        """Return the distinct values of a partition, ``None`` where it lacks the table."""
        if label not in self._files:
            return None
        key, size = self._files[label]
        scan = FileScan(self._snapshot.store, key, size, self._schema, tuple(self._schema.names))
        return _tried(lambda: pc.unique(scan.read().column(0)), self._snapshot.uuid, key)


def _compare(
    label: str, column: str, indexed: ValuesByLabel, sources: Sequence[_Column]
) -> IndexDifference | Problem | None:
    if any(label in source.broken for source in sources):
        return None
    held = [source.values(label) for source in sources]
    wrong = next((values for values in held if isinstance(values, Problem)), None)
    if wrong is not None:
        return wrong
    arrays = [values for values in held if values is not None]
    difference = compare_values(label, column, indexed[label], pa.concat_arrays(arrays))
    return difference if len(difference.missing) or len(difference.superfluous) else None
