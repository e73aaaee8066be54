"""Whether Spark's own Parquet reader would give exactly the rows that a planned scan promises.

It is the fastest reader where it is exact: files with the types of record, no rows to filter, and partition values
that Spark reads from the path as they are. Each condition below names a case in which it would not be.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.read_plan import PARTITION_PREFIX, ReadInput

_GLOB = r"[*?\[\]{}\\,]"
_PLAIN_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_SPARKS_NULL = "__HIVE_DEFAULT_PARTITION__"


def spark_reads_exactly(source: ReadInput, files: pa.Table, record: pa.Schema, root: str) -> bool:
    """Tell whether Spark can read these files itself; ``record`` is the whole schema of the dataset.

    Spark looks at every part of a path, so partition columns count whether they are wanted or not.
    """
    in_paths = [name.removeprefix(PARTITION_PREFIX) for name in files.column_names if name.startswith(PARTITION_PREFIX)]
    lowered = [name.lower() for name in record.names]
    data = [field for field in source.schema if field.name not in source.partition_keys]
    return bool(
        all(part.columns <= set(source.partition_keys) for part in (source.early, source.late))
        and len(set(lowered)) == len(lowered)  # Spark resolves names without case
        and data  # without a data column Spark would count rows of partition columns only
        and all(_is_exact(field.type) for field in data)
        and not pc.match_substring_regex(pa.array([root]), _GLOB)[0].as_py()
        and all(_PLAIN_NAME.fullmatch(name) for name in in_paths)  # Spark decodes names byte by byte
        and all(_is_plain(files.column(PARTITION_PREFIX + name)) for name in in_paths)
        and pc.all(pc.ends_with(files.column("key"), ".parquet")).as_py() is not False
    )


def _is_exact(kind: pa.DataType) -> bool:
    """Types that Spark reads from our files as :mod:`kubothek.engine.spark_types` says."""
    if pa.types.is_dictionary(kind):  # wanted as such in-process; the files and Spark have plain values
        return _is_exact(kind.value_type)
    if pa.types.is_list(kind):
        return _is_exact(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_exact(field.type) for field in kind)
    exact = (pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.date32())
    return kind in (*exact, pa.timestamp("us"), pa.timestamp("us", "UTC")) or bool(pa.types.is_decimal128(kind))


def _is_plain(values: pa.ChunkedArray) -> bool:
    """Partition values whose text in the path Spark reads as the same value."""
    kind = values.type
    if pa.types.is_int64(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind):
        return True
    if not pa.types.is_string(kind):
        return False
    texts = pc.unique(values)
    plain = pc.match_substring_regex(texts, r"^[A-Za-z0-9._-]+$")
    return bool(pc.all(plain).as_py() is not False and not pc.is_in(pa.scalar(_SPARKS_NULL), texts).as_py())
