"""A dataset as Kartothek shows it: its partitions, schemas, metadata and indices as dictionaries and lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa
from pyarrow import types

import kubothek as kb
from kubothek.codec.keys import header_keys
from kubothek.compat.core.common_metadata import SchemaWrapper
from kubothek.compat.core.index import ExplicitSecondaryIndex, IndexBase, PartitionIndex
from kubothek.compat.reading import to_pandas
from kubothek.compat.serialization import filter_df_from_predicates
from kubothek.compat.stores import StoreInput, as_store
from kubothek.dataset.snapshot import find_dataset
from kubothek.errors import InvalidInputError

__all__ = ["DatasetMetadata", "DatasetMetadataBase"]

_VERSION = 4


class DatasetMetadataBase:
    """One version of a dataset; later commits do not change it.

    Kartothek makes these of their parts; here they come from :meth:`load_from_store` and from all that commits.

    Attributes
    ----------
    dataset
        The same as :class:`kubothek.Dataset`, which has more to offer.
    uuid, metadata, partition_keys
        Name, user metadata, and columns by which files are separated.
    partitions
        A mapping by label of what has ``label`` and ``files`` (key by table).
    indices
        Secondary indices by column, and those of partition columns once they were asked for. Each is loaded when it is
        asked something.
    """

    def __init__(self, dataset: kb.Dataset, indices: Mapping[str, IndexBase] | None = None) -> None:
        if not isinstance(dataset, kb.Dataset):
            raise InvalidInputError("Dataset metadata is made by load_from_store and by what commits, not by hand.")
        self.dataset = dataset
        self.uuid = dataset.uuid
        self.metadata = dict(dataset.metadata)
        self.metadata_version = _VERSION
        self.partition_keys = list(dataset.partition_keys)
        self.partitions = dataset.partitions  # a mapping that makes its values when they are looked at
        self.explicit_partitions = True
        self.indices: dict[str, IndexBase] = dict(indices or self._stored_indices())

    def _stored_indices(self) -> dict[str, IndexBase]:
        return {column: ExplicitSecondaryIndex.of(self.dataset, column) for column in self.dataset.index_columns}

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(self.dataset.tables)

    @property
    def table_meta(self) -> dict[str, SchemaWrapper]:
        """Schema of each table."""
        return {table: SchemaWrapper(schema, f"{self.uuid}/{table}") for table, schema in self.dataset.schemas.items()}

    @property
    def schema(self) -> SchemaWrapper:
        """Schema of the only table; ``AttributeError`` where there are several."""
        if len(self.tables) > 1:
            raise AttributeError(f"Dataset {self.uuid!r} has several tables; use table_meta.")
        return self.table_meta[self.tables[0]]

    @property
    def index_columns(self) -> set[str]:
        """Columns that have an index, partition columns among them."""
        return {*self.indices, *self.partition_keys}

    @property
    def secondary_indices(self) -> dict[str, ExplicitSecondaryIndex]:
        """Secondary indices by column."""
        return {c: index for c, index in self.indices.items() if isinstance(index, ExplicitSecondaryIndex)}

    @property
    def primary_indices_loaded(self) -> bool:
        """Whether the indices of partition columns are among ``indices``."""
        return bool(self.partition_keys) and set(self.partition_keys) <= set(self.indices)

    def load_index(self, column: str, store: StoreInput = None) -> Self:
        """Return the dataset with an index in memory; ``KeyError`` where there is none on the column."""
        del store
        if column in self.partition_keys:
            return self.load_partition_indices()
        if column not in self.indices:
            raise KeyError(f"There is no index on {column!r}; dataset {self.uuid!r} has {sorted(self.index_columns)}.")
        self.indices[column].load()
        return self

    def load_all_indices(self, store: StoreInput = None, load_partition_indices: bool = True) -> Self:
        """Return the dataset with all its indices in memory."""
        del store
        for index in self.indices.values():
            index.load()
        return self.load_partition_indices() if load_partition_indices else self

    def load_partition_indices(self) -> Self:
        """Return the dataset with the indices of its partition columns among ``indices``."""
        if self.primary_indices_loaded or not self.partition_keys:
            return self
        primary = {column: PartitionIndex.of(self.dataset, column).load() for column in self.partition_keys}
        return type(self)(self.dataset, {**self.indices, **primary})

    def query(self, indices: Iterable[IndexBase] | None = None, **kwargs: Any) -> list[str]:
        """Return the labels of partitions that hold all these values, sorted.

        Raises
        ------
        KeyError
            A column has no index, which Kartothek overlooks and returns too much.
        """
        found = {**self.load_partition_indices().indices, **{index.column: index for index in indices or ()}}
        unknown = sorted(set(kwargs) - set(found))
        if unknown:
            raise KeyError(f"There is no index on {', '.join(unknown)}; dataset {self.uuid!r} has {sorted(found)}.")
        labels = set(self.partitions)
        for column, value in kwargs.items():
            labels &= found[column].eval_operator("==", value)
        return sorted(labels)

    def get_indices_as_dataframe(
        self, columns: Sequence[str] | None = None, date_as_object: bool = True, predicates: Any = None
    ) -> Any:
        """Return the indices as a pandas frame: a row for each label and combination of values, labels as index.

        Integers of a column without a value for some label are pandas' ``Int64``, where Kartothek has floats.
        """
        import pandas as pd

        known = self.load_partition_indices().indices
        wanted = sorted(known) if columns is None else list(columns)
        asked = {column for parts in predicates or () for column, _, _ in parts} & set(known)
        frame = pd.DataFrame({"partition": list(self.partitions)})
        for column in dict.fromkeys([*wanted, *sorted(asked)]):
            frame = _with_values(frame, known[column].index.table, column, date_as_object)
        if predicates:
            usable = [[part for part in parts if part[0] in asked] for parts in predicates]
            frame = filter_df_from_predicates(frame, usable) if all(usable) else frame
        return frame[["partition", *wanted]].drop_duplicates().set_index("partition")

    def to_dict(self) -> dict[str, Any]:
        """Return what a header says, as Kartothek writes it."""
        stored = self.dataset.index_columns
        indices = {column: {str(v): ls for v, ls in self.indices[column].index_dct.items()} for column in stored}
        return {
            "dataset_metadata_version": _VERSION,
            "dataset_uuid": self.uuid,
            **({"indices": indices} if indices else {}),
            "metadata": self.metadata,
            "partitions": {label: {"files": dict(part.files)} for label, part in self.partitions.items()},
            "partition_keys": self.partition_keys,
        }

    def to_json(self) -> bytes:
        """Return :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict()).encode()

    @staticmethod
    def exists(uuid: str, store: StoreInput) -> bool:
        """Tell whether there is such a dataset."""
        return find_dataset(uuid, as_store(store)) is not None

    @staticmethod
    def storage_keys(uuid: str, store: StoreInput) -> list[str]:
        """Return the keys of all objects of a dataset that Kartothek knows of."""
        opened = as_store(store)
        listed = (info.key for info in opened.list(f"{uuid}/"))
        return sorted([*(key for key in header_keys(uuid) if opened.get_many([key])[0] is not None), *listed])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetMetadataBase) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # compared by content, which may be large

    def __repr__(self) -> str:
        return f"DatasetMetadata(uuid={self.uuid!r}, tables={self.tables}, partitions={len(self.partitions):,})"


class DatasetMetadata(DatasetMetadataBase):
    """One version of a dataset, loaded from its store.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"MONTH": [1, 2], "TEMP": [0.5, 3.0]})
    >>> ds = kb.write_dataset(rows, "weather", "memory://compat_metadata", partition_on="MONTH")
    >>> dm = DatasetMetadata.load_from_store("weather", "memory://compat_metadata")
    >>> dm.tables, dm.partition_keys, len(dm.query(MONTH=2))
    (['table'], ['MONTH'], 1)
    """

    @classmethod
    def load_from_store(
        cls, uuid: str, store: StoreInput, load_schema: bool = True, load_all_indices: bool = False
    ) -> Self:
        """Load a dataset as it is now; ``KeyError`` where there is none. The schema is loaded in any case."""
        del load_schema
        found = cls(kb.open_dataset(uuid, as_store(store)))
        return found.load_all_indices() if load_all_indices else found


def _with_values(frame: Any, index: pa.Table, column: str, date_as_object: bool) -> Any:
    """Return a frame of labels with the values that each has; integers stay whole where a label has none."""
    values = to_pandas(index, date_as_object)
    is_complete = frame["partition"].isin(values["partition"].explode()).all() and not index[column].null_count
    if types.is_integer(index[column].type) and not is_complete:
        name = "UInt64" if types.is_unsigned_integer(index[column].type) else "Int64"
        values[column] = index[column].to_pandas(integer_object_nulls=True).astype(name)
    return frame.merge(values.explode("partition"), on="partition", how="left")
