"""A dataset that is loaded when it is first asked, and stays that version until it is told to forget it."""

from __future__ import annotations

from typing import Any, Self

import kubothek as kb
from kubothek.compat.core.dataset import DatasetMetadata, DatasetMetadataBase
from kubothek.compat.stores import KeyValueStore, StoreInput, ensure_store, lazy_store
from kubothek.errors import InvalidInputError

__all__ = ["DatasetFactory"]


class DatasetFactory:
    """A dataset by name, loaded once; it has everything that :class:`DatasetMetadata` has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ds = kb.write_dataset(pa.table({"TEMP": [0.5]}), "weather", "memory://compat_factory")
    >>> factory = DatasetFactory("weather", lambda: "memory://compat_factory")
    >>> factory.is_loaded, factory.tables, factory.is_loaded
    (False, ['table'], True)
    """

    def __init__(
        self,
        dataset_uuid: str,
        store_factory: StoreInput,
        load_schema: bool = True,
        load_all_indices: bool = False,
        load_dataset_metadata: bool = True,
    ) -> None:
        self.dataset_uuid = dataset_uuid
        self.store_factory = lazy_store(store_factory)
        self.load_schema = load_schema
        self.load_all_indices_flag = load_all_indices
        self.load_dataset_metadata = load_dataset_metadata
        self._cached: DatasetMetadata | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the dataset is in memory."""
        return self._cached is not None

    @property
    def store(self) -> KeyValueStore:
        """Where the dataset is."""
        return ensure_store(self.store_factory)

    @property
    def dataset_metadata(self) -> DatasetMetadata:
        """The dataset, loaded now if it was not."""
        if self._cached is None:
            self._cached = DatasetMetadata.load_from_store(
                self.dataset_uuid, self.store, load_all_indices=self.load_all_indices_flag
            )
        return self._cached

    def invalidate(self) -> None:
        """Forget the dataset, so that it is loaded anew."""
        self._cached = None

    def load_index(self, column: str, store: StoreInput = None) -> Self:
        """Load an index into memory."""
        self._cached = self.dataset_metadata.load_index(column, store)
        return self

    def load_all_indices(self, store: StoreInput = None, load_partition_indices: bool = True) -> Self:
        """Load all indices into memory."""
        self._cached = self.dataset_metadata.load_all_indices(store, load_partition_indices)
        return self

    def load_partition_indices(self) -> Self:
        """Put the indices of partition columns among ``indices``."""
        self._cached = self.dataset_metadata.load_partition_indices()
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dataset_metadata, name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached": None}

    def __repr__(self) -> str:
        return f"<DatasetFactory: uuid={self.dataset_uuid} is_loaded={self.is_loaded}>"


def located(dataset_uuid: str | None, store: StoreInput, factory: Any) -> tuple[str, kb.Store]:
    """Return name and store of the dataset that is meant: by both, or by a factory.

    Raises
    ------
    InvalidInputError
        Neither or both were given.
    """
    if factory is not None and dataset_uuid is None and store is None:
        return factory.uuid if isinstance(factory, DatasetMetadataBase) else factory.dataset_uuid, _store_of(factory)
    if factory is None and dataset_uuid is not None and store is not None:
        return dataset_uuid, ensure_store(store).store
    raise InvalidInputError("Name the dataset by dataset_uuid and store, or by a factory, and not by both.")


def opened(dataset_uuid: str | None, store: StoreInput, factory: Any) -> kb.Dataset:
    """Return the dataset that is meant: as it is now, or the version that a factory holds."""
    uuid, place = located(dataset_uuid, store, factory)
    if factory is None:
        return kb.open_dataset(uuid, place)
    metadata = factory if isinstance(factory, DatasetMetadataBase) else factory.dataset_metadata
    found: kb.Dataset = metadata.dataset
    return found


def _store_of(factory: Any) -> kb.Store:
    return factory.dataset.store if isinstance(factory, DatasetMetadataBase) else factory.store.store
