"""How a dataset is checked against itself: the header, the schemas beside the data, every file, every index.

Each check goes on where another has found something, as far as it still makes sense. Footers are read of all files,
and the indexed columns of all files one by one, so that memory holds one column of a few files at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.keys import header_keys, schema_key
from kubothek.codec.pandas_metadata import PANDAS_KEY
from kubothek.codec.schema import decode_schema
from kubothek.dataset.snapshot import Snapshot, find_snapshot, not_found
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.objects import list_objects
from kubothek.dataset.upkeep.schema_copies import put_schema_copies
from kubothek.dataset.upkeep.verify_files import UNREADABLE, check_file_list, check_footers, check_index
from kubothek.dataset.upkeep.verify_history import check_history
from kubothek.errors import CorruptDatasetError
from kubothek.model.problem import Problem, Problems
from kubothek.plan.verify import check_tables, table_files
from kubothek.store.interface import Blob
from kubothek.store.open import StoreLike, open_store


def verify_dataset(uuid: str, store: StoreLike, *, repair: bool = False) -> list[Problem]:
    """Look for everything that is wrong with a dataset.

    Checked are the header; the schemas beside the data, which other software reads; that every partition has every
    table, with partition values that can be decoded; that every data file is there with the recorded size and rows, can
    be opened, and fits the schema; that every index names exactly the values that its column holds; that what is kept
    of old versions can be read; and that other software has not overwritten commits of which nothing is left since.

    Parameters
    ----------
    uuid, store
        The dataset.
    repair
        Put the schemas beside the data where they are missing or wrong. Nothing else is changed.

    Returns
    -------
    list of Problem
        What was found, the repaired problems included; empty where all is well.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset.
    StoreError
        The store cannot be read, which says nothing about the dataset.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Store, verify_dataset, write_dataset
    >>> store = Store("memory://verify_dataset")
    >>> ds = write_dataset(pa.table({"TEMP": [1.5]}), "weather", store)
    >>> verify_dataset("weather", store)
    []
    >>> store.delete(["weather/table/_common_metadata"])
    >>> [problem.kind for problem in verify_dataset("weather", store, repair=True)]
    ['missing_schema_copy']
    """
    check_flag(repair, "repair")
    opened = open_store(store)
    try:
        snapshot = find_snapshot(uuid, opened)
    except CorruptDatasetError as error:
        return Problems([unreadable_dataset(uuid, error)])
    if snapshot is None:
        raise not_found(uuid, opened)
    return Problems(verify_snapshot(snapshot, repair=repair))


def verify_snapshot(snapshot: Snapshot, *, repair: bool = False, files: bool = True) -> list[Problem]:
    """Look for everything that is wrong with a dataset that can be opened; without ``files``, none is read."""
    problems = [*_check_header(snapshot), *_check_schema_copies(snapshot, repair), *check_tables(snapshot.base)]
    objects = list_objects(snapshot.uuid, snapshot.store)
    problems += check_history(snapshot, objects, files=files)
    listed = {table: table_files(snapshot.base, table, objects) for table in snapshot.tables}
    for table, own in listed.items():
        problems += check_file_list(snapshot, table, own)
        problems += check_footers(snapshot, table, own) if files else ()
    broken = [problem.key for problem in problems if problem.kind in UNREADABLE]
    for column in snapshot.index_columns if files else ():
        problems += check_index(snapshot, column, listed, broken)
    return problems


def unreadable_dataset(uuid: str, error: CorruptDatasetError) -> Problem:
    """Return the problem that a dataset cannot be opened."""
    key = error.details.get("key")
    if key in header_keys(uuid):
        return Problem("unreadable_header", uuid, key, error.message)
    schema = key is not None and key.endswith("/_common_metadata")
    return Problem("unreadable_schema" if schema else "undecodable_partition", uuid, key, error.message)


def _check_header(snapshot: Snapshot) -> Iterator[Problem]:
    if snapshot.shadowed:
        key = header_keys(snapshot.uuid)[1]
        yield Problem(
            "second_header",
            snapshot.uuid,
            key,
            f"The dataset has a second header, which {snapshot.key!r} hides. The next commit deletes it, and so does "
            "garbage_collect_dataset.",
        )


def _check_schema_copies(snapshot: Snapshot, repair: bool) -> list[Problem]:
    """Compare the schemas beside the data with those of record; put them where asked to."""
    keys = {table: schema_key(snapshot.uuid, table) for table in snapshot.tables}
    blobs = snapshot.store.get_many(keys.values())
    found = {
        table: problem
        for table, blob in zip(keys, blobs, strict=True)
        if (problem := _check_schema_copy(snapshot, table, keys[table], blob)) is not None
    }
    if repair and found:
        put_schema_copies(snapshot, found)
    return [replace(problem, repaired=repair) for problem in found.values()]


def _check_schema_copy(snapshot: Snapshot, table: str, key: str, blob: Blob | None) -> Problem | None:
    uuid, advice = snapshot.uuid, "Other software cannot open the dataset; verify_dataset(…, repair=True) puts it."
    if blob is None:
        return Problem("missing_schema_copy", uuid, key, f"The schema of table {table!r} is missing. {advice}")
    try:
        stored = decode_schema(blob.data, key)
    except CorruptDatasetError as error:
        return Problem("wrong_schema_copy", uuid, key, f"{error.message} {advice}")
    record = snapshot.schemas[table]
    different = sorted({str(f) for f in stored} ^ {str(f) for f in record})
    if different:
        said = f"The schema of table {table!r} differs from the header's in {', '.join(different)}."
        return Problem("wrong_schema_copy", uuid, key, f"{said} Other software misreads it; repair=True puts it.")
    if PANDAS_KEY not in (pq.read_schema(pa.BufferReader(blob.data)).metadata or {}):
        said = (
            "The schema lacks what pandas says about its columns, so Kartothek can read the dataset, but not update it."
        )
        return Problem("no_pandas_metadata", uuid, key, f"{said} repair=True puts it.")
    return None
