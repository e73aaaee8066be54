"""Datasets, indices, schemas and stores as Kartothek shows them."""

from kubothek.compat.core.common_metadata import (
    SchemaWrapper,
    empty_dataframe_from_schema,
    make_meta,
    normalize_column_order,
    normalize_type,
    validate_compatible,
)
from kubothek.compat.core.dataset import DatasetMetadata, DatasetMetadataBase
from kubothek.compat.core.factory import DatasetFactory
from kubothek.compat.core.index import ExplicitSecondaryIndex, IndexBase, PartitionIndex
from kubothek.compat.core.typing import KeyValueStore, StoreFactory, StoreInput
from kubothek.compat.core.utils import ensure_store, lazy_store

__all__ = [
    "DatasetFactory",
    "DatasetMetadata",
    "DatasetMetadataBase",
    "ExplicitSecondaryIndex",
    "IndexBase",
    "KeyValueStore",
    "PartitionIndex",
    "SchemaWrapper",
    "StoreFactory",
    "StoreInput",
    "empty_dataframe_from_schema",
    "ensure_store",
    "lazy_store",
    "make_meta",
    "normalize_column_order",
    "normalize_type",
    "validate_compatible",
]
