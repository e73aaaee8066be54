"""Footers of Parquet files: those of all writers are read, damaged ones are refused before Arrow sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kubothek.codec.footer import FOOTER_BYTES, load_footer
from kubothek.codec.sealed_parquet import SealedWriter

ROWS = pa.table(
    {
        "x": range(100),
        "s": [None if i % 3 else f"v{i}" for i in range(100)],
        "l": [[[i]] * (i % 3) for i in range(100)],
        "t": [{"a": i, "b": {"c": [i]}} for i in range(100)],
        "m": pa.array([[("k", i)] for i in range(100)], pa.map_(pa.string(), pa.int64())),
    }
)


def stored(**options: object) -> bytes:
    """Return the rows as PyArrow stores them."""
    sink = pa.BufferOutputStream()
    pq.write_table(ROWS, sink, **options)
    return sink.getvalue().to_pybytes()


def sealed(name: str = "a", table: pa.Table = ROWS, **options: object) -> bytes:
    """Return rows as we store them."""
    sink = pa.BufferOutputStream()
    with SealedWriter(sink, table.schema, name, **options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _polars(folder: Path) -> bytes:
    pl.from_arrow(ROWS.drop_columns("m")).write_parquet(folder / "a")
    return (folder / "a").read_bytes()


def _duckdb(folder: Path) -> bytes:
    duckdb.from_arrow(ROWS).write_parquet(str(folder / "a"))
    return (folder / "a").read_bytes()


WRITERS: dict[str, Callable[[Path], bytes]] = {
    "PyArrow": lambda folder: stored(row_group_size=30),
    "format 1.0": lambda folder: stored(version="1.0", data_page_version="1.0"),
    "format 2, pages 2.0": lambda folder: stored(version="2.6", data_page_version="2.0", write_page_index=True),
    "no statistics": lambda folder: stored(write_statistics=False, store_schema=False),
    "no rows": lambda folder: sealed(table=ROWS.slice(0, 0)),
    "Polars": _polars,
    "DuckDB": _duckdb,
    "ours": lambda folder: sealed(),
    "ours under another name": lambda folder: sealed("b"),
    "no columns": lambda folder: sealed(table=pa.table({"x": pa.nulls(3)})),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_footers_of_all_writers(writer: str, tmp_path: Path) -> None:
    """They say the same as when Arrow reads them by itself."""
    data = WRITERS[writer](tmp_path)
    assert load_footer(pa.BufferReader(data), "a").equals(pq.read_metadata(pa.BufferReader(data)))


def test_footers_of_the_corpus(corpus: Path) -> None:
    """Those of all files that Kartothek has written."""
    paths = [*corpus.glob("*/store/**/*.parquet"), *corpus.glob("*/store/**/_common_metadata")]
    assert len(paths) > 100
    for path in paths:
        assert load_footer(pa.BufferReader(path.read_bytes()), path.stem) is not None


def test_a_large_footer() -> None:
    """One that is longer than what is fetched at first."""
    data = sealed(table=pa.table({f"column number {i}": [1] for i in range(2000)}))
    assert int.from_bytes(data[-8:-4], "little") > FOOTER_BYTES
    assert load_footer(pa.BufferReader(data), "a").num_columns == 2000


def test_entries_that_others_copy() -> None:
    """A file that another program has written with the entries of ours is not taken for damaged."""
    entries = pq.read_metadata(pa.BufferReader(sealed())).metadata
    sink = pa.BufferOutputStream()
    pq.write_table(ROWS.slice(50).replace_schema_metadata(entries), sink)
    assert load_footer(pa.BufferReader(sink.getvalue()), "other").num_rows == 50


def with_footer(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a file with another footer."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = change(data[-8 - length : -8])
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


SMALL = pa.table({"x": pa.array([1, 2, 3], pa.int64())})


def small(**options: object) -> bytes:
    """Return a small file of another writer."""
    sink = pa.BufferOutputStream()
    pq.write_table(SMALL, sink, **options)
    return sink.getvalue().to_pybytes()


# A chunk of another type than its column, and one that counts levels that there are not, end the process in PyArrow 26.
CHUNK = b"\x15\x04\x19"  # type: INT64; encodings follow
CONTRADICTIONS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "type of a chunk": (lambda f: f.replace(CHUNK, b"\x15\x0c\x19"), "of type 2 is of type 6 in row group 0"),
    "rows of the file": (
        lambda f: f.replace(b"\x16\x06\x19\x1c", b"\x16\x08\x19\x1c", 1),
        "have 3 rows and the file 4",
    ),
    "type of a column": (lambda f: f.replace(b"\x15\x04\x25", b"\x15\x02\x25", 1), "of type 1 is of type 2"),
    "a list of many": (lambda f: f.replace(CHUNK, b"\x15\x04\xf9\xff\xff\xff\x0f"), "cannot be understood"),
    "levels": (lambda f: f.replace(b"\x19\x26\x00\x06", b"\x19\x36\x00\x06\x00", 1), "counts 3 levels of definition"),
    "cut off": (lambda f: f[:40], "cannot be understood"),
    "nothing but depth": (lambda f: b"\x1c" * 10**5, "cannot be understood"),
    "nothing": (lambda f: b"\x00", "cannot be understood"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_footers_that_contradict_themselves(case: str) -> None:
    """What they say is told instead of believed."""
    change, message = CONTRADICTIONS[case]
    with pytest.raises(pa.ArrowInvalid, match=message):
        load_footer(pa.BufferReader(with_footer(small(), change)), "a")


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"\x01\x00\x00\x00PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"x" * 100], ids=repr
)
def test_what_has_no_footer(data: bytes) -> None:
    """Too short, too long, or none."""
    with pytest.raises(pa.ArrowInvalid, match="no Parquet file"):
        load_footer(pa.BufferReader(data), "a")
