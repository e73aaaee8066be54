"""What a dataset is, as the facts that commands print: values that JSON can hold, under names that stay.

``rows`` and ``bytes`` are ``None`` where a header does not record them, which those of other software do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.footer import load_footer
from kubothek.codec.index import SEALED_AS
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.fetched_file import open_fetched
from kubothek.engine.local import map_in_threads
from kubothek.errors import ObjectNotFoundError
from kubothek.model.display import human_bytes, plural
from kubothek.plan.apply import CREATION_TIME


def size_facts(snapshot: Snapshot) -> dict[str, Any]:
    """Return which dataset it is and how large."""
    partitions = snapshot.partitions
    return {
        "uuid": snapshot.uuid,
        "store": snapshot.store.url,
        "version": snapshot.version,
        "partitions": partitions.num_rows,
        "rows": total(partitions["rows"]),
        "bytes": total(partitions["bytes"]),
    }


def dataset_facts(snapshot: Snapshot) -> dict[str, Any]:
    """Return all that is worth knowing of a dataset; one request per index, for the number of its values."""
    schemas = {
        table: [{"name": field.name, "type": str(field.type)} for field in schema]
        for table, schema in snapshot.schemas.items()
    }
    return {
        **size_facts(snapshot),
        "created": _as_instant(snapshot.header.metadata.get(CREATION_TIME)),
        "partition_keys": list(snapshot.partition_keys),
        "tables": schemas,
        "indices": index_facts(snapshot, snapshot.index_columns),
        "metadata": dict(snapshot.header.metadata),
    }


def _as_instant(stored: Any) -> Any:
    """Return a time that is stored without a zone, as Kartothek does, with its zone; what is no time stays as it is."""
    try:
        return datetime.fromisoformat(stored).replace(tzinfo=UTC).isoformat()
    except (TypeError, ValueError):
        return stored


def index_facts(snapshot: Snapshot, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return column, type and number of values of indices; what a missing or broken index has is not known."""
    return list(map_in_threads(lambda column: _index(snapshot, column), columns))


def _index(snapshot: Snapshot, column: str) -> dict[str, Any]:
    kind = next((schema.field(column).type for schema in snapshot.schemas.values() if column in schema.names), None)
    values = None
    if column in snapshot.header.indices:
        try:
            footer = load_footer(open_fetched(snapshot.store, snapshot.header.indices[column]), SEALED_AS)
            values, stored = footer.num_rows, footer.schema.to_arrow_schema()
            kind = kind or (stored.field(column).type if column in stored.names else None)
        except (ObjectNotFoundError, pa.ArrowInvalid):
            pass  # `verify` says more, and the rest is still worth showing
    else:
        values = len(snapshot.header.embedded_indices[column])
    return {"column": column, "type": None if kind is None else str(kind), "values": values}


def total(column: pa.ChunkedArray) -> int | None:
    """Return the sum of what is known for all, else ``None``."""
    return None if column.null_count else int(pc.sum(column).as_py() or 0)


def extent(facts: Mapping[str, Any]) -> str:
    """Return partitions and size for people."""
    size = "" if facts["bytes"] is None else f", {human_bytes(facts['bytes'])}"
    return plural(facts["partitions"], "partition") + size


def size_text(size: int | None) -> str:
    """Return a size in bytes for people."""
    return "-" if size is None else human_bytes(size)
