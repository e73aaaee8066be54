"""What a dataset is at one moment: its header, pinned with its tag, and everything that follows from it.

Opening goes in two steps. Both possible headers are fetched at once (JSON wins, as in Kartothek), for many datasets in
one round of requests. What our own headers say and others leave open is then read: schemas from the copies that
Kartothek keeps beside the data, partitions of a header that lists none from a listing of the store.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.header import decode_header
from kubothek.codec.keys import (
    DATA_SUFFIXES,
    HEADER_SUFFIXES,
    OTHER_FOLDERS,
    check_uuid,
    header_key,
    header_keys,
    schema_key,
)
from kubothek.codec.partition_values import infer_partition_keys, partition_values
from kubothek.codec.schema import decode_schema
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, DatasetNotFoundError, InvalidInputError
from kubothek.model.header import FILE_PREFIX, SINGLE_TABLE, Header, partitions_schema
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.dataset_layout import Base
from kubothek.store.interface import Blob, Store


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A dataset pinned at one moment.

    ``header`` is as stored. ``etag`` is the tag of its object, on which the next commit depends; that of an old version
    is empty. ``partition_keys`` and ``partitions`` (see ``Header.partitions``) are known here, also where the header
    leaves them open. ``schemas`` is the schema of record per table. ``shadowed`` says that a msgpack header lies unused
    beside this JSON one.
    """

    store: Store
    header: Header
    etag: str
    partition_keys: tuple[str, ...]
    partitions: pa.Table
    schemas: Mapping[str, pa.Schema]
    shadowed: bool = False
    _file_tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    @property
    def uuid(self) -> str:
        """Name of the dataset."""
        return self.header.uuid

    @property
    def key(self) -> str:
        """Key of the header."""
        return header_key(self.uuid, self.header.format)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""
        return tuple(self.schemas)

    @property
    def index_columns(self) -> tuple[str, ...]:
        """Columns that have a secondary index."""
        return tuple(dict.fromkeys((*self.header.indices, *self.header.embedded_indices)))

    @property
    def version(self) -> int | None:
        """Number of the commit, ``None`` where other software made it."""
        return None if self.header.state is None else self.header.state.version

    @property
    def base(self) -> Base:
        """The snapshot without its store: what decisions need."""
        return Base(self.header, self.partition_keys, self.partitions, self.schemas)

    def table_name(self, table: str | None = None) -> str:
        """Return the table that is meant: the given one, else ``"table"``, else the only one.

        Raises
        ------
        InvalidInputError
            There is no such table, or there are several and none was named.
        """
        wanted = SINGLE_TABLE if table is None else table
        if isinstance(wanted, str) and wanted in self.schemas:
            return wanted
        if table is None and len(self.schemas) == 1:
            return self.tables[0]
        known = ", ".join(map(repr, self.tables)) or "none"
        if table is None:
            raise InvalidInputError(f"Dataset {self.uuid!r} has several tables: name one of {known} with table=.")
        raise InvalidInputError(f"Dataset {self.uuid!r} has no table {wanted!r}; it has {known}.")

    def schema(self, table: str | None = None) -> pa.Schema:
        """Return the schema of record of a table."""
        return self.schemas[self.table_name(table)]

    def file_table(self, table: str | None = None) -> pa.Table:
        """Return one row per data file of a table, in the order of the header.

        Its columns are ``label``, ``key``, ``rows`` and ``bytes`` (null where unknown) and ``partition/<name>`` for
        each partition column, with the values that hold for the whole file.

        Raises
        ------
        CorruptDatasetError
            A key does not have the partition columns of the dataset.
        """
        table = self.table_name(table)
        if table not in self._file_tables:
            self._file_tables[table] = self._read_file_table(table)
        return self._file_tables[table]

    def _read_file_table(self, table: str) -> pa.Table:
        column, present = FILE_PREFIX + table, self.partitions
        if present[column].null_count:
            present = present.filter(pc.is_valid(present[column]))
        values = partition_values(
            present[column].combine_chunks(), self.uuid, table, self.partition_keys, self.schemas[table]
        )
        columns = {"label": present["label"], "key": present[column]}
        unknown = pa.nulls(present.num_rows, pa.int64())  # what is recorded is the sum over the tables of a partition
        columns |= {name: present[name] if len(self.schemas) == 1 else unknown for name in ("rows", "bytes")}
        return pa.table(columns | {PARTITION_PREFIX + name: v for name, v in values.items()})


def load_snapshot(uuid: str, store: Store) -> Snapshot:
    """Pin a dataset as it is now.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset, or its creation was taken back; ``similar`` lists names that look alike.
    CorruptDatasetError
        Its header or schema cannot be understood.
    """
    return load_snapshots((uuid,), store)[0]


def find_snapshot(uuid: str, store: Store) -> Snapshot | None:
    """Pin a dataset as it is now, or return ``None`` where there is none."""
    return find_snapshots((uuid,), store)[0]


def find_dataset(uuid: str, store: Store) -> Snapshot | None:
    """Pin a dataset as it is now, or return ``None`` where there is none, or its creation was taken back."""
    found = find_snapshot(uuid, store)
    return None if found is None or found.header.is_withdrawn else found


def load_snapshots(uuids: Iterable[str], store: Store) -> list[Snapshot]:
    """Pin several datasets, in their order, with their headers fetched at once; raises as ``load_snapshot`` does."""
    uuids = tuple(uuids)
    found = find_snapshots(uuids, store)
    for uuid, snapshot in zip(uuids, found, strict=True):
        if snapshot is None or snapshot.header.is_withdrawn:
            raise not_found(uuid, store)
    return [snapshot for snapshot in found if snapshot is not None]


def not_found(uuid: str, store: Store) -> DatasetNotFoundError:
    """Return the error that there is no such dataset, with names that look alike."""
    known = {
        info.key.removesuffix(suffix)
        for info in store.list_level("")[0]
        for suffix in HEADER_SUFFIXES.values()
        if info.key.endswith(suffix)
    }
    similar = tuple(difflib.get_close_matches(uuid, sorted(known - {uuid}), n=3))
    hint = (
        f" Did you mean {' or '.join(map(repr, similar))}?" if similar else f" The store has {len(known)} dataset(s)."
    )
    return DatasetNotFoundError(f"There is no dataset {uuid!r} in {store.url}.{hint}", uuid=uuid, similar=similar)


def find_snapshots(uuids: Sequence[str], store: Store) -> list[Snapshot | None]:
    """Pin several datasets, in their order, with their headers fetched at once; ``None`` for each that is not there."""
    for uuid in uuids:
        check_uuid(uuid)
    blobs = store.get_many([key for uuid in uuids for key in header_keys(uuid)])

    def pin(number: int) -> Snapshot | None:
        return _pin(uuids[number], blobs[2 * number], blobs[2 * number + 1], store)

    # Large headers are decoded side by side: Arrow does nearly all of it, and lets other threads run.
    pinned = [*map_in_threads(pin, range(len(uuids)))] if len(uuids) > 1 else [pin(i) for i in range(len(uuids))]
    foreign = [snapshot for snapshot in pinned if snapshot is not None and not snapshot.schemas]
    if not foreign:
        return pinned
    completed = dict(zip(map(id, foreign), _complete(foreign, store), strict=True))
    return [completed.get(id(snapshot), snapshot) for snapshot in pinned]


def _pin(uuid: str, json: Blob | None, msgpack: Blob | None, store: Store) -> Snapshot | None:
    """Decode the header that counts: the JSON one, if its dataset was not withdrawn."""
    keys = header_keys(uuid)
    if json is not None:
        header = decode_header(json.data, keys[0])
        if msgpack is None or not header.is_withdrawn:
            return pin_header(header, json.etag, store, shadowed=msgpack is not None)
    return None if msgpack is None else pin_header(decode_header(msgpack.data, keys[1]), msgpack.etag, store)


def pin_header(header: Header, etag: str, store: Store, *, shadowed: bool = False) -> Snapshot:
    """Return the snapshot that a header makes; schemas are missing where it does not hold them.

    Raises
    ------
    CorruptDatasetError
        It lists files of a table of which it has no schema.
    """
    uuid = header.uuid
    partitions = _listed_partitions(uuid, store) if header.partitions is None else header.partitions
    schemas = {} if header.state is None else header.state.schema
    keys = _partition_keys(header, partitions)
    unknown = [table for table in _table_names(partitions) if schemas and table not in schemas]
    if unknown:
        key = header_key(uuid, header.format)
        raise CorruptDatasetError(
            f"{key!r} lists files of table {unknown[0]!r}, but has schemas of {', '.join(map(repr, schemas))} only.",
            key=key,
        )
    return Snapshot(store, header, etag, keys, _with_tables(partitions, schemas), schemas, shadowed)


def _with_tables(partitions: pa.Table, tables: Iterable[str]) -> pa.Table:
    """Return partitions with a column for each table; a header without partitions does not tell their names."""
    for table in tables:
        if FILE_PREFIX + table not in partitions.column_names:
            partitions = partitions.append_column(FILE_PREFIX + table, pa.nulls(partitions.num_rows, pa.string()))
    return partitions


def _partition_keys(header: Header, partitions: pa.Table) -> tuple[str, ...]:
    if header.partition_keys is not None:
        return header.partition_keys
    for table in _table_names(partitions):
        keys = partitions[FILE_PREFIX + table].drop_null()
        if len(keys):
            return infer_partition_keys(keys[0].as_py(), header.uuid, table)
    return ()


def _table_names(partitions: pa.Table) -> tuple[str, ...]:
    return tuple(n.removeprefix(FILE_PREFIX) for n in partitions.column_names if n.startswith(FILE_PREFIX))


def _listed_partitions(uuid: str, store: Store) -> pa.Table:
    """Return the partitions of a dataset whose header lists none: one for each label that has a data file."""
    files: dict[str, dict[str, tuple[str, int]]] = {}
    for info in store.list(f"{uuid}/"):
        table, _, name = info.key.removeprefix(f"{uuid}/").partition("/")
        suffix = next((suffix for suffix in DATA_SUFFIXES if name.endswith(suffix)), None)
        if table in OTHER_FOLDERS or suffix is None:
            continue
        found = files.setdefault(name.removesuffix(suffix), {})
        if table in found:
            raise CorruptDatasetError(
                f"Dataset {uuid!r} has two data files for one partition: {found[table][0]!r} and {info.key!r}.",
                key=info.key,
            )
        found[table] = info.key, info.size
    tables = tuple(dict.fromkeys(table for found in files.values() for table in found))
    # A size is that of the file that is opened, so there is none for several tables.
    sizes = [next(iter(found.values()))[1] if len(found) == 1 else None for found in files.values()]
    keys = [[found[table][0] if table in found else None for found in files.values()] for table in tables]
    columns = [list(files), [None] * len(files), sizes, *keys]
    schema = partitions_schema(tables)
    return pa.table([pa.array(column, f.type) for column, f in zip(columns, schema, strict=True)], schema=schema)


def _complete(snapshots: Sequence[Snapshot], store: Store) -> list[Snapshot]:
    """Read the schemas that other software keeps beside the data, those of all datasets at once."""
    tables = [_table_names(s.partitions) or _folders(s.uuid, store) for s in snapshots]
    keys = [schema_key(s.uuid, table) for s, names in zip(snapshots, tables, strict=True) for table in names]
    blobs = dict(zip(keys, store.get_many(keys), strict=True))
    return [_with_schemas(s, names, blobs) for s, names in zip(snapshots, tables, strict=True)]


def _folders(uuid: str, store: Store) -> tuple[str, ...]:
    """Return what may be the tables of a dataset without partitions."""
    folders = (prefix.removeprefix(f"{uuid}/").rstrip("/") for prefix in store.list_level(f"{uuid}/")[1])
    return tuple(folder for folder in folders if folder not in OTHER_FOLDERS)


def _with_schemas(snapshot: Snapshot, tables: Sequence[str], blobs: Mapping[str, Blob | None]) -> Snapshot:
    schemas = {}
    for table in tables:
        key = schema_key(snapshot.uuid, table)
        blob = blobs[key]
        if blob is not None:
            schemas[table] = _arrange(decode_schema(blob.data, key), snapshot.partition_keys, key)
        elif snapshot.partitions.num_rows:
            raise CorruptDatasetError(
                f"Dataset {snapshot.uuid!r} has no schema of table {table!r}: {key!r} is missing.", key=key
            )
    if not schemas:
        key = schema_key(snapshot.uuid, SINGLE_TABLE)
        raise CorruptDatasetError(
            f"Dataset {snapshot.uuid!r} has neither partitions nor a schema such as {key!r}.", key=key
        )
    return replace(snapshot, partitions=_with_tables(snapshot.partitions, schemas), schemas=schemas, _file_tables={})


def _arrange(schema: pa.Schema, partition_keys: Sequence[str], key: str) -> pa.Schema:
    """Order a stored schema as the schema of record is: partition columns, then the others by name."""
    missing = [name for name in partition_keys if name not in schema.names]
    if missing:
        raise CorruptDatasetError(
            f"The schema {key!r} lacks the partition column(s) {', '.join(map(repr, missing))}; "
            f"it has {', '.join(map(repr, schema.names))}.",
            key=key,
        )
    rest = sorted(name for name in schema.names if name not in partition_keys)
    return pa.schema([schema.field(name) for name in (*partition_keys, *rest)])
