"""Which objects of a dataset nobody needs: those that no live header refers to and that are old enough.

What is old enough is the caller's decision: a writer that has staged files and not committed them looks exactly like
one that died. So is what earlier versions still need (:func:`spare`). Whatever is not known to be the dataset's stays.

===========  =========================================================================================================
data         garbage if not named, in a table of the dataset or under a random name; none where a live header lists
             no partitions, because then every data file is one
index        garbage if not named
schema       garbage if no live header has the table
passing      garbage: staged index values, and records of deletions that did not happen
version      garbage: who lives by them says which stay
delta        garbage if there is no live header
private      garbage if of another incarnation; none where other software's header hides which one is live
===========  =========================================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.header import FILE_PREFIX, Header

OBJECTS = pa.schema(
    [
        ("key", pa.string()),
        ("size", pa.int64()),
        ("modified", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("random", pa.bool_()),
    ]
)
"""What a listing tells about a dataset's objects; the last three are those of ``codec.object_kinds``."""


def named_keys(header: Header) -> pa.Array:
    """Return the keys of all data and index files that a header names."""
    partitions = header.partitions
    files = [] if partitions is None else [partitions[FILE_PREFIX + table] for table in header.tables]
    indices = pa.array(list(header.indices.values()), pa.string())
    return pa.concat_arrays([indices, *(chunk for column in files for chunk in column.chunks)]).drop_null()


def known_tables(header: Header) -> tuple[str, ...] | None:
    """Return the tables of a dataset, ``None`` where its header does not tell."""
    if header.state is not None:
        return tuple(header.state.schema)
    return header.tables or None


def find_garbage(objects: pa.Table, live: Sequence[Header], before: datetime) -> pa.Table:
    """Return the objects that may be deleted, as far as no earlier version needs them: rows of the table.

    Parameters
    ----------
    objects
        What is there: a table of :data:`OBJECTS`, listed before the headers were read.
    live
        All headers whose content must stay readable; none where the dataset was deleted.
    before
        What was changed after this moment (UTC) stays.
    """
    objects = objects.combine_chunks()
    kind, name = objects["kind"].combine_chunks(), objects["name"].combine_chunks()
    named = pa.concat_arrays([pa.nulls(0, pa.string()), *map(named_keys, live)])
    unnamed = pc.invert(pc.is_in(objects["key"].combine_chunks(), value_set=named))
    old = pc.less_equal(objects["modified"].combine_chunks(), pa.scalar(before, OBJECTS.field("modified").type))
    unneeded = {
        "data": pc.and_(unnamed, _replaceable(objects, live)),
        "index": unnamed,
        "schema": _without_table(name, live),
        "passing": unnamed,
        "version": unnamed,
        "delta": pa.repeat(not live, objects.num_rows),
        "private": _of_other_incarnations(name, live),
    }
    garbage = pa.repeat(False, objects.num_rows)
    for one, mask in unneeded.items():
        garbage = pc.or_(garbage, pc.and_(pc.equal(pc.fill_null(kind, ""), one), mask))
    return objects.filter(pc.and_(garbage, old))


def is_file(objects: pa.Table) -> pa.ChunkedArray:
    """Tell which objects are files that versions name: data and indices."""
    return pc.is_in(objects["kind"], value_set=pa.array(["data", "index"], pa.string()))


def spare(garbage: pa.Table, files: pa.Array, versions: Sequence[str]) -> pa.Table:
    """Return the garbage without what versions need: of all files only these go, and these copies of headers stay."""
    keys = garbage["key"]
    gone = pc.or_(pc.invert(is_file(garbage)), pc.is_in(keys, value_set=files))
    return garbage.filter(pc.and_(gone, pc.invert(pc.is_in(keys, value_set=pa.array(versions, pa.string())))))


def _replaceable(objects: pa.Table, live: Sequence[Header]) -> pa.Array:
    """Where a data file counts only if it is named: in what is or was a table, not in any folder of anybody."""
    if any(header.partitions is None for header in live):
        return pa.repeat(False, objects.num_rows)
    schemas = objects.filter(pc.equal(pc.fill_null(objects["kind"], ""), "schema"))
    tables = {*schemas["name"].to_pylist(), *(table for header in live for table in known_tables(header) or ())}
    in_table = pc.is_in(objects["name"].combine_chunks(), value_set=pa.array(sorted(tables), pa.string()))
    return pc.or_(in_table, objects["random"].combine_chunks())


def _without_table(names: pa.Array, live: Sequence[Header]) -> pa.Array:
    tables = [known_tables(header) for header in live]
    if None in tables:
        return pa.repeat(False, len(names))
    kept = sorted({table for known in tables for table in known or ()})
    return pc.invert(pc.is_in(names, value_set=pa.array(kept, pa.string())))


def _of_other_incarnations(names: pa.Array, live: Sequence[Header]) -> pa.Array:
    if any(header.state is None for header in live):
        return pa.repeat(False, len(names))
    kept = sorted({header.state.incarnation for header in live if header.state is not None})
    return pc.invert(pc.is_in(names, value_set=pa.array(kept, pa.string())))
