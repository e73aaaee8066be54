"""How the schemas beside the data, which other software reads, are put right.

They are not part of a commit: whoever changes a schema puts its copy afterwards. So a copy that is put for another
reason may replace that of a commit that happened meanwhile; then the newer one is put again. And whoever creates a
dataset looks after its commit whether the copies that it has put before are there: who deletes what an earlier dataset
of this name has left looks for a new one only then, so that one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubothek.codec.keys import schema_key
from kubothek.codec.schema import encode_schema
from kubothek.dataset.snapshot import Snapshot, find_snapshot


def missing_schema_copies(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the tables of whose schema there is no copy, or another one than this library would put."""
    keys = [schema_key(snapshot.uuid, table) for table in snapshot.tables]
    found = zip(snapshot.schemas.items(), snapshot.store.get_many(keys), strict=True)
    return tuple(table for (table, schema), blob in found if blob is None or blob.data != encode_schema(schema))


def put_schema_copies(snapshot: Snapshot, tables: Iterable[str]) -> None:
    """Put the copies of some tables' schemas, as the dataset has them once they are there."""
    current: Snapshot | None = snapshot
    stale = {table: snapshot.schemas[table] for table in tables}
    while stale:
        for table, schema in stale.items():
            snapshot.store.put(schema_key(snapshot.uuid, table), encode_schema(schema))
        current = find_snapshot(snapshot.uuid, snapshot.store)
        now = {} if current is None else current.schemas
        stale = {table: now[table] for table, schema in stale.items() if table in now and now[table] != schema}
