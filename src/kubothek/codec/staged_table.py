"""How a table waits in the store on its way from a write to its commit: as a sealed Parquet file, read part by part.

Parquet, and not Arrow's own format, because that has no checksums, and tells how much memory to take before it has
shown that there is anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.data import corrupt_file, read_groups
from kubothek.codec.footer import load_footer
from kubothek.codec.keys import file_stem
from kubothek.codec.sealed_parquet import SealedWriter

SUFFIX = ".staged"
"""Ending of its key: nobody but us reads these files."""


def staged_writer(sink: Any, key: str, schema: pa.Schema) -> SealedWriter:
    """Return what writes a staged table under a key; each table that it is given is a part, or several."""
    return SealedWriter(sink, schema, file_stem(key), compression="zstd", write_statistics=False, use_dictionary=False)


def read_staged(file: pa.NativeFile, key: str) -> Iterator[pa.Table]:
    """Yield a staged table in the parts in which it was written.

    Raises
    ------
    CorruptDatasetError
        It is no such file, or damaged; ``key`` is the file's.
    """
    with corrupt_file(key):
        metadata = load_footer(file, file_stem(key))
        parquet = pq.ParquetFile(file, metadata=metadata, page_checksum_verification=True)
    for group in range(metadata.num_row_groups):
        with corrupt_file(key):
            part = read_groups(parquet, [group])
            part.validate(full=True)
        yield part
