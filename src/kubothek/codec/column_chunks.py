"""Where the column chunks of a Parquet file lie in it, as its footer says."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow.parquet as pq


def chunk_ranges(
    metadata: pq.FileMetaData, groups: Sequence[int], columns: Collection[str], size: int
) -> list[tuple[int, int]]:
    """Return where column chunks begin in their file, and how many bytes they have.

    Parameters
    ----------
    metadata
        The file's footer.
    groups
        Numbers of the row groups.
    columns
        Names of the columns. Of a nested column all leaves count.
    size
        Bytes of the file. Chunks that are said to lie outside are left out, and whoever reads them finds the error.
    """
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    wanted = [i for i, path in enumerate(paths) if path in columns or path.partition(".")[0] in columns]
    chunks = [_chunk_range(metadata.row_group(group).column(i)) for group in groups for i in wanted]
    return [(start, length) for start, length in chunks if start >= 0 < length and start + length <= size]


def _chunk_range(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """Return the range of a chunk, which begins with its dictionary where it has one."""
    start = chunk.data_page_offset
    # Some writers say that a dictionary begins at 0 where there is none.
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, chunk.total_compressed_size
