"""How rows are read from CSV files, as Kartothek writes them through pandas.

Such a file is UTF-8 text with ``;`` between the values, a line of names at the top, and no column for pandas' index;
a file ending in ``.csv.gz`` is compressed with gzip. Text has no types, so every value is read as its type of record:

* an empty field, quoted or not, is null, also in a column of text: pandas writes null and the empty text alike;
* all other text is what it says: ``NA`` and ``null`` are texts, and ``nan`` in a column of floats is NaN;
* timestamps are in ISO form, with a zone if the type has one; what is finer than microseconds is cut off;
* bytes, lists, structs and whatever else has no text cannot be read, while the other columns can.

A file is parsed block by block, so that memory stays bounded.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import types

from kubothek.codec.conform import assemble, conform_column, row_mask
from kubothek.codec.data import check_stored, corrupt_file
from kubothek.errors import CorruptDatasetError
from kubothek.model.condition import EVERYTHING, Condition

_DELIMITER = ";"
_BLOCK_BYTES = 4 * 2**20
_HEADER_BYTES = 2**20
"""Of the line of names, and what follows it; a line of zeros that gzip has made small would fill the memory."""
_LONGEST = len("2020-01-01 00:00:00.000000")
_PARSED = (
    types.is_null,
    types.is_boolean,
    types.is_integer,
    types.is_floating,
    types.is_string,
    types.is_date,
    types.is_time,
    types.is_decimal,
    types.is_timestamp,
)


def stream_csv(
    source: Callable[[], pa.NativeFile],
    key: str,
    record: pa.Schema,
    columns: Sequence[str],
    condition: Condition = EVERYTHING,
    constants: Mapping[str, pa.Scalar] | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of a CSV file that a condition matches, with the types of record, block by block.

    Parameters
    ----------
    source
        Opens the file; it is called twice, for the names and for the rows.
    key
        Its storage key; one ending in ``.gz`` is decompressed.
    record
        Types of record of every column named here.
    columns
        Columns of the result, in order.
    condition
        Bound condition on columns of the file and of ``constants``.
    constants
        Columns whose value is the same for the whole file (its partition columns). They win over stored columns.

    Raises
    ------
    CorruptDatasetError
        The text cannot be parsed, lacks a column, or is not what the type of record says; or a column is wanted whose
        type has no text.
    """
    constants = constants or {}
    stored = [n for n in record.names if n in {*columns, *condition.columns} and n not in constants]
    kinds = {name: _value_type(record.field(name).type) for name in stored}
    _refuse_kinds(key, kinds)
    with corrupt_file(key):
        names = _header(source, key)
        check_stored(key, stored, names)
        parsed = {name: _parsed_as(kind) for name, kind in kinds.items()} or {names[0]: pa.string()}
        with _unpacked(source(), key) as text, _open_csv(text, parsed) as batches:
            for batch in batches:
                table = pa.Table.from_batches([batch])
                found = {name: _typed(table.column(name), record.field(name).type) for name in stored}
                mask = row_mask(condition, found, constants, table.num_rows)
                if mask is not None:
                    found = {name: column.filter(mask) for name, column in found.items()}
                rows = table.num_rows if mask is None else mask.true_count
                if rows:
                    yield assemble(found, constants, record, columns, rows)


def _refuse_kinds(key: str, kinds: Mapping[str, pa.DataType]) -> None:
    unfit = {name: kind for name, kind in kinds.items() if not any(belongs(kind) for belongs in _PARSED)}
    if unfit:
        told = ", ".join(f"{name!r} of type {kind}" for name, kind in unfit.items())
        raise CorruptDatasetError(
            f"The data file {key!r} is text, which cannot hold {told}; leave out these columns.",
            key=key,
            columns=tuple(unfit),
        )


def _header(source: Callable[[], pa.NativeFile], key: str) -> list[str]:
    """Return the names in the first line."""
    try:
        with _unpacked(source(), key) as file:
            start = file.read(_HEADER_BYTES)
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(start)
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=_DELIMITER), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptDatasetError(f"Cannot read the data file {key!r}: {error}", key=key) from error
    if not names:
        raise CorruptDatasetError(f"The data file {key!r} has no line with the names of its columns.", key=key)
    return names


def _unpacked(file: pa.NativeFile, key: str) -> pa.NativeFile:
    return pa.CompressedInputStream(file, "gzip") if key.endswith(".gz") else file


def _open_csv(text: pa.NativeFile, kinds: Mapping[str, pa.DataType]) -> arrow_csv.CSVStreamingReader:
    return arrow_csv.open_csv(
        text,
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=arrow_csv.ParseOptions(delimiter=_DELIMITER, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=kinds, include_columns=list(kinds), null_values=[""], strings_can_be_null=True
        ),
    )


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _parsed_as(kind: pa.DataType) -> pa.DataType:
    """Return the type that the parser gives; what it has no exact way to parse remains text."""
    return pa.string() if types.is_timestamp(kind) or types.is_decimal256(kind) else kind


def _typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return parsed values as the type of record."""
    if types.is_timestamp(_value_type(kind)) and (pc.max(pc.binary_length(column)).as_py() or 0) > _LONGEST:
        column = pc.replace_substring_regex(column, r"(\.\d{6})\d+", r"\1")
    return conform_column(column, kind)
