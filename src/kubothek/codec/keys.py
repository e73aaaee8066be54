"""Where each object of a dataset is stored: its key, and which keys are allowed.

::

    <uuid>.by-dataset-metadata.json                     header (or .msgpack.zstd)
    <uuid>/<table>/_common_metadata                     schema, for other readers
    <uuid>/<table>/<label>.parquet                      data; a label is P=1/Q=a/<file name>
    <uuid>/<table>/<label>.csv, .csv.gz                 data of others, only read
    <uuid>/indices/<column>/<time>.by-dataset-index.parquet
    <uuid>.<column>.by-dataset-index.parquet            index of an old dataset, only read
    <uuid>/_delta_log/                                  log of a Delta table that is an export (codec.delta_log)
    _kubothek/<uuid>/<incarnation>/                     our own objects beyond the format
    _kubothek/<uuid>/<incarnation>/staged/<write id>/   index values on their way from a write to its commit
    _kubothek/<uuid>/<incarnation>/history/<version>-<time>-<commit>.json.zst, .msgpack.zst   header of a version

Keys that come out of a header are not trusted: one that is absolute, contains ``..`` or lies outside its dataset is an
error before anything is read, copied or deleted (:func:`check_keys`). The parts of a label are made and read back in
:mod:`kubothek.codec.labels` and :mod:`kubothek.codec.partition_values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.quoting import quote, unquote
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.header import HeaderFormat
from kubothek.model.history import UNKNOWN_TIME
from kubothek.plan.letters import in_steps, letters_of

HEADER_SUFFIXES: dict[HeaderFormat, str] = {
    "json": ".by-dataset-metadata.json",
    "msgpack": ".by-dataset-metadata.msgpack.zstd",
}
DATA_SUFFIXES = (".parquet", ".csv.gz", ".csv")
"""Endings of data files; what we write is Parquet."""
OTHER_FOLDERS = {"indices": "the dataset's indices", "_delta_log": "the log of an export"}
"""Folders of a dataset beside those of its tables, and what they hold."""

_DELETION = "deletion.json"
_UNKNOWN_TIME = "00000000T000000.000000Z"
_LARGEST_VERSION = 2**63 - 1
_VERSION = re.compile(
    r"_kubothek/[^/]+/[^/]+/history/(?P<version>\d{20})-(?P<time>\d{8}T\d{6}\.\d{6}Z)-(?P<commit>[^/]+)"
    r"\.(?:json|msgpack)\.zst\Z",
    re.ASCII,
)
_INDEX_SUFFIX = ".by-dataset-index.parquet"
_NAME = re.compile(r"[a-zA-Z0-9+\-_]+\Z")
_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[^/\x00-\x1f\x7f\ud800-\udfff]+\Z")
_BAD_SEGMENT = r"/\.{0,2}(/|$)|[\x00-\x1f\x7f]"
_SLASH, _DOT, _FIRST_PLAIN, _DELETE = b"/. \x7f"


def check_uuid(uuid: str) -> None:
    """Refuse a dataset name that could not be part of a key.

    Raises
    ------
    InvalidInputError
        If it holds anything but ASCII letters, digits, ``+``, ``-`` and ``_``, or names the folder of our own objects.
    """
    _check_name(uuid, "dataset uuid")
    if uuid == "_kubothek":
        raise InvalidInputError("A dataset cannot be called '_kubothek': that folder holds our own objects.")


def is_uuid(name: str) -> bool:
    """Tell whether a dataset can have this name (see :func:`check_uuid`)."""
    return bool(_NAME.match(name)) and name != "_kubothek"


def check_table(table: str) -> None:
    """Refuse a table name that could not be part of a key, or that names a folder of something else."""
    _check_name(table, "table")
    if table in OTHER_FOLDERS:
        raise InvalidInputError(f"A table cannot be called {table!r}: that folder holds {OTHER_FOLDERS[table]}.")


def _check_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidInputError(f"A {what} consists of ASCII letters, digits, '+', '-' and '_', but {name!r} does not.")


def header_key(uuid: str, header_format: HeaderFormat) -> str:
    """Return the key of the header in this format.

    Examples
    --------
    >>> header_key("flights++seed", "json")
    'flights++seed.by-dataset-metadata.json'
    """
    return uuid + HEADER_SUFFIXES[header_format]


def header_keys(uuid: str) -> tuple[str, str]:
    """Return the keys at which the header may be: JSON, which wins, and msgpack."""
    return header_key(uuid, "json"), header_key(uuid, "msgpack")


def schema_key(uuid: str, table: str) -> str:
    """Return the key of the copy of a table's schema that is kept for other readers."""
    return f"{uuid}/{table}/_common_metadata"


def data_key(uuid: str, table: str, label: str) -> str:
    """Return the key of the data file that a partition has for a table."""
    return f"{uuid}/{table}/{label}.parquet"


def data_suffix(key: str) -> str:
    """Return the ending of a data file's key, which says what kind of file it is.

    Raises
    ------
    CorruptDatasetError
        No data file ends like this.

    Examples
    --------
    >>> data_suffix("flights/table/MONTH=1/part-1.csv.gz")
    '.csv.gz'
    """
    for suffix in DATA_SUFFIXES:
        if key.endswith(suffix):
            return suffix
    raise CorruptDatasetError(
        f"The data file {key!r} is of a kind that cannot be read; files end in {', '.join(DATA_SUFFIXES)}.", key=key
    )


def file_stem(key: str) -> str:
    """Return the name of a file without its folders and endings.

    Examples
    --------
    >>> file_stem("flights/table/MONTH=1/5f2c.parquet")
    '5f2c'
    """
    return key.rpartition("/")[2].partition(".")[0]


def index_key(uuid: str, column: str, when: datetime) -> str:
    """Return the key of an index on ``column`` that is written at ``when`` (UTC where it has no zone).

    Examples
    --------
    >>> index_key("flights", "TAIL NUMBER", datetime(2020, 1, 1, 12))
    'flights/indices/TAIL%20NUMBER/2020-01-01T12%3A00%3A00.000000.by-dataset-index.parquet'
    """
    if not column:
        raise InvalidInputError("A column without a name cannot have an index.")
    utc = when if when.tzinfo is None else when.astimezone(UTC).replace(tzinfo=None)
    folder = column.replace(".", "%2E") if column in (".", "..") else quote(column)
    return f"{uuid}/indices/{folder}/{quote(utc.isoformat(timespec='microseconds'))}{_INDEX_SUFFIX}"


def private_root(uuid: str) -> str:
    """Return the prefix of our own objects of all datasets that have had a name."""
    return f"_kubothek/{uuid}/"


def private_prefix(uuid: str, incarnation: str) -> str:
    """Return the prefix of our own objects of a dataset, outside of what other programs tidy up."""
    return f"{private_root(uuid)}{incarnation}/"


def staged_prefix(uuid: str, incarnation: str, write_id: str) -> str:
    """Return the prefix of the index values that a write has staged for its commit.

    Examples
    --------
    >>> staged_prefix("flights", "1f", "5f2c")
    '_kubothek/flights/1f/staged/5f2c/'
    """
    return f"{private_prefix(uuid, incarnation)}staged/{write_id}/"


def history_prefix(uuid: str, incarnation: str) -> str:
    """Return the prefix of the kept versions of a dataset."""
    return f"{private_prefix(uuid, incarnation)}history/"


def version_key(
    uuid: str, incarnation: str, version: int, time: datetime | None, commit: str, header_format: HeaderFormat
) -> str:
    """Return the key at which the header of a version is kept, so that a listing is sorted by version.

    Parameters
    ----------
    time
        When it was committed, ``None`` where that is not known.

    Examples
    --------
    >>> version_key("flights", "1f", 7, datetime(2020, 1, 1, 12, tzinfo=UTC), "5f2c", "json")
    '_kubothek/flights/1f/history/00000000000000000007-20200101T120000.000000Z-5f2c.json.zst'
    """
    if time is None or time == UNKNOWN_TIME:
        text = _UNKNOWN_TIME
    else:
        utc = time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
        text = utc.replace("-", "").replace(":", "") + "Z"
    return f"{history_prefix(uuid, incarnation)}{version:020d}-{text}-{quote(commit)}.{header_format}.zst"


def parse_version_key(key: str) -> tuple[int, datetime, str] | None:
    """Return version, time (UTC) and commit of a kept version, ``None`` for the key of anything else.

    Examples
    --------
    >>> parse_version_key("_kubothek/d/1f/history/00000000000000000007-20200101T120000.000000Z-5f2c.json.zst")
    (7, datetime.datetime(2020, 1, 1, 12, 0, tzinfo=datetime.timezone.utc), '5f2c')
    """
    found = _VERSION.match(key)
    if found is None or not 0 < int(found["version"]) <= _LARGEST_VERSION:
        return None
    try:
        time = UNKNOWN_TIME if found["time"] == _UNKNOWN_TIME else datetime.fromisoformat(found["time"])
        return int(found["version"]), time, unquote(found["commit"])
    except ValueError:  # no such day, or no UTF-8
        return None


def check_incarnation(incarnation: str, source: str) -> None:
    """Refuse an incarnation that is not one segment of a path, since it decides what is deleted as our own.

    Raises
    ------
    CorruptDatasetError
        It is empty, ``.`` or ``..``, or holds ``/`` or control characters; ``key`` is ``source``, the header's.
    """
    if not _SEGMENT.match(incarnation):
        raise CorruptDatasetError(
            f"{source!r} has the incarnation {incarnation!r}, which cannot be the name of a folder.", key=source
        )


def check_tables(tables: Iterable[str], source: str) -> None:
    """Refuse tables that are not one segment of a path, since they decide where schemas are read and deleted.

    Raises
    ------
    CorruptDatasetError
        One is empty, ``.`` or ``..``, or holds ``/`` or control characters; ``key`` is ``source``, the header's.
    """
    for table in tables:
        if not _SEGMENT.match(table):
            raise CorruptDatasetError(
                f"{source!r} has the table {table!r}, which cannot be the name of a folder.", key=source
            )


def deletion_key(uuid: str, incarnation: str) -> str:
    """Return the key of the record by which a deletion that was cut short is finished."""
    return f"{private_prefix(uuid, incarnation)}{_DELETION}"


def is_deletion_key(key: str) -> bool:
    """Tell whether a key of our own objects is that of such a record."""
    return key.count("/") == 3 and key.endswith(f"/{_DELETION}")


def check_keys(keys: pa.Array | pa.ChunkedArray, uuid: str, source: str | None = None) -> None:
    """Refuse keys that do not lie under the dataset's own prefix.

    Parameters
    ----------
    keys
        Storage keys, nulls allowed.
    uuid
        The dataset they are to belong to.
    source
        Key of the object in which they were found, for the error.

    Raises
    ------
    CorruptDatasetError
        If a key lies outside ``<uuid>/``, has a segment that is empty, ``.`` or ``..``, or holds control characters.
    """
    bad = pc.invert(pc.starts_with(keys, f"{uuid}/"))
    if not all(map(_are_plain, keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys])):
        bad = pc.or_(bad, pc.match_substring_regex(keys, _BAD_SEGMENT))
    if pc.any(bad).as_py():
        first = keys.filter(pc.fill_null(bad, False))[0].as_py()
        raise _outside(first, uuid, source)


def _are_plain(keys: pa.StringArray) -> bool:
    """Tell whether keys surely have no bad segment, in a fifth of the time of the expression.

    Keys of which it does not may still be allowed.
    """
    letters, places = letters_of(keys)
    ends = places[1:][places[1:] > places[:-1]]
    if (letters[ends - 1] == _SLASH).any():
        return False
    for piece in in_steps(letters, int(places[0]), int(places[-1])):
        begins = (piece[1:] == _SLASH) | (piece[1:] == _DOT)
        if piece.min() < _FIRST_PLAIN or (piece == _DELETE).any() or (begins & (piece[:-1] == _SLASH)).any():
            return False
    return True


def check_index_key(key: str, uuid: str, source: str | None = None) -> None:
    """Refuse the key of an index that is not the dataset's own; old indices beside the dataset's folder are allowed."""
    if key.startswith(f"{uuid}.") and key.endswith(_INDEX_SUFFIX) and _SEGMENT.match(key):
        return
    check_keys(pa.array([key], pa.string()), uuid, source)


def _outside(key: str, uuid: str, source: str | None) -> CorruptDatasetError:
    origin = "" if source is None else f"{source!r} refers to {key!r}: "
    return CorruptDatasetError(
        f"{origin}The key {key!r} does not lie within dataset {uuid!r}, or is not a plain path; it was not touched.",
        key=source or key,
        outside=key,
    )
