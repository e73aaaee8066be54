"""Names that a cube has in the metadata of its datasets, and how its files are written."""

from __future__ import annotations

from kubothek.compat.serialization import ParquetSerializer
from kubothek.model.cube import SEPARATOR

__all__ = [
    "KTK_CUBE_DF_SERIALIZER",
    "KTK_CUBE_METADATA_DIMENSION_COLUMNS",
    "KTK_CUBE_METADATA_KEY_IS_SEED",
    "KTK_CUBE_METADATA_PARTITION_COLUMNS",
    "KTK_CUBE_METADATA_STORAGE_FORMAT",
    "KTK_CUBE_METADATA_SUPPRESS_INDEX_ON",
    "KTK_CUBE_METADATA_VERSION",
    "KTK_CUBE_UUID_SEPERATOR",
]

KTK_CUBE_DF_SERIALIZER = ParquetSerializer(compression="ZSTD")
KTK_CUBE_METADATA_DIMENSION_COLUMNS = "ktk_cube_dimension_columns"
KTK_CUBE_METADATA_KEY_IS_SEED = "ktk_cube_is_seed"
KTK_CUBE_METADATA_PARTITION_COLUMNS = "ktk_cube_partition_columns"
KTK_CUBE_METADATA_STORAGE_FORMAT = "json"
KTK_CUBE_METADATA_SUPPRESS_INDEX_ON = "ktk_cube_suppress_index_on"
KTK_CUBE_METADATA_VERSION = 4
KTK_CUBE_UUID_SEPERATOR = SEPARATOR
