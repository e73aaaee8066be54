"""A program that knows nothing of our commits: it reads a header, takes its time, and puts its own over what is there.

It writes whatever belongs to a dataset as Kartothek does: data files, the schema beside them, whole index files, a
header without our own part. What others have committed between its look and its put is lost, and that alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.index import encode_index
from kubothek.codec.keys import data_key, header_keys, index_key, is_deletion_key
from kubothek.model.header import FILE_PREFIX, SINGLE_TABLE, Header, partitions_schema
from kubothek.plan.apply import CREATION_TIME
from kubothek.plan.index_merge import LABELS, index_from_postings
from kubothek.store.interface import Blob
from kubothek.testing.simulation.client import ClientStore
from kubothek.testing.simulation.dataset_operations import DATASET, DatasetOperation
from kubothek.testing.simulation.objects import Objects
from kubothek.testing.simulation.rows import rows_of_file, table_of
from kubothek.testing.simulation.runs import Row, Rows

_FILE = FILE_PREFIX + SINGLE_TABLE


@dataclass(slots=True, eq=False)
class ForeignUpdate(DatasetOperation):
    """Add a partition with some rows, all of one value of ``p``, or remove the first partition.

    ``seen`` is the header that it looked at.
    """

    rows: tuple[Row, ...]
    patience: int
    commits = False
    seen: bytes | None = field(default=None, repr=False)
    removed: Rows = field(default_factory=Counter, repr=False)

    def act(self, store: Any) -> Any:
        """Do it."""
        key, blob = _look(store)
        if blob is None:
            return None
        header = decode_header(blob.data, key)
        if header.is_withdrawn or header.partitions is None:
            return None
        for _ in range(self.patience):
            store.wait(1.0)
        data = encode_header(self._updated(store, header))
        self.seen = blob.data
        store.put_where(key, data, lambda: _is_same(store.objects, key, header))
        return None

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return what it makes of the rows of the header that it saw."""
        return before - self.removed + Counter(self.rows)

    def _updated(self, store: ClientStore, header: Header) -> Header:
        """Write the files of the next header and return it."""
        partitions = header.partitions
        assert partitions is not None  # noqa: S101  the caller has looked
        if not self.rows:
            return self._without_first(store, header, partitions)
        folder = f"p={self.rows[0][1]}/" if header.partition_keys else ""
        label = folder + store.world.new_id()
        table = table_of(self.rows)
        store.put(data_key(DATASET, SINGLE_TABLE, label), _parquet(table.drop_columns(["p"]) if folder else table))
        row = {"label": label, "rows": None, "bytes": None, _FILE: data_key(DATASET, SINGLE_TABLE, label)}
        added = pa.Table.from_pylist([row], partitions_schema((SINGLE_TABLE,)))
        columns = {name: table[name].to_pylist() for name in table.column_names}
        indices = {
            column: self._index(store, column, key, [], [(value, label) for value in columns[column]])
            for column, key in header.indices.items()
        }
        known = partitions.select(added.column_names) if partitions.num_rows else added.slice(0, 0)
        return replace(header, partitions=pa.concat_tables([known, added]), indices=indices, state=None)

    def _without_first(self, store: ClientStore, header: Header, partitions: pa.Table) -> Header:
        gone = partitions["label"].to_pylist()[:1]
        keys = partitions[_FILE].to_pylist()[:1] if gone else []
        self.removed = sum((rows_of_file(key, store.objects.lives[key][-1].data) for key in keys), Counter())
        indices = {column: self._index(store, column, key, gone, []) for column, key in header.indices.items()}
        return replace(header, partitions=partitions.slice(1), indices=indices, state=None)

    def _index(self, store: ClientStore, column: str, key: str, gone: list[str], new: list[tuple[Any, str]]) -> str:
        """Write the next file of an index and return its key."""
        old = pq.read_table(pa.BufferReader(store.get(key).data), use_threads=False)
        pairs = zip(old[column].to_pylist(), old[LABELS].to_pylist(), strict=True)
        kept = [(value, label) for value, labels in pairs for label in labels if label not in gone]
        values = pa.array([value for value, _ in (*kept, *new)], old.schema.field(column).type)
        labels = pa.array([label for _, label in (*kept, *new)], pa.string())
        made = index_key(DATASET, column, store.world.clock())
        store.put(made, encode_index(column, [index_from_postings(column, values, labels)]))
        return made


def _look(store: ClientStore) -> tuple[str, Blob | None]:
    """Read the header that counts."""
    keys = header_keys(DATASET)
    blobs = store.get_many(keys)
    return next(((key, blob) for key, blob in zip(keys, blobs, strict=True) if blob is not None), (keys[0], None))


def _is_same(objects: Objects, key: str, seen: Header) -> bool:
    """Whether the dataset has not been deleted or overwritten, which would leave a header without its files.

    Nor is one of its name being deleted, with the copy of the schema that is the only one for a foreign header.
    """
    found = objects.now.get(key)
    if found is None or any(map(is_deletion_key, objects.now)):
        return False
    now = decode_header(found.data, key)
    return not now.is_withdrawn and now.metadata.get(CREATION_TIME) == seen.metadata.get(CREATION_TIME)


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]  # PyArrow has no types
