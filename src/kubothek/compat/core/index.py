"""Indices as Kartothek shows them: which partitions hold which values of a column, loaded when they are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import pyarrow as pa

import kubothek as kb
from kubothek.model.schema import normalise_type

__all__ = ["ExplicitSecondaryIndex", "IndexBase", "PartitionIndex"]

_LABELS = "partition"


class IndexBase:
    """An index on one column.

    Parameters
    ----------
    column
        The column.
    index_dct
        Labels of partitions by value, where the index is made by hand.
    dtype
        Arrow type of the values; ``None`` to take what they are.
    normalize_dtype
        Take the type that columns of record have in its place (``int64`` for all signed integers, and so on).

    Examples
    --------
    >>> index = IndexBase("STATION", {"A": ["p1"], "B": ["p1", "p2"]})
    >>> sorted(index.eval_operator("in", ["A", "B"])), index.query("A")
    (['p1', 'p2'], ['p1'])
    """

    def __init__(
        self,
        column: str,
        index_dct: Mapping[Any, Sequence[str]] | None = None,
        dtype: pa.DataType | None = None,
        normalize_dtype: bool = True,
    ) -> None:
        self.column = column
        self._dataset: kb.Dataset | None = None
        self._loaded: kb.Index | None = None
        if index_dct is not None:
            wanted = normalise_type(dtype) if dtype is not None and normalize_dtype else dtype
            labels = pa.array(list(index_dct.values()), pa.list_(pa.string()))
            self._loaded = kb.Index(column, pa.table({column: pa.array(list(index_dct), wanted), _LABELS: labels}))

    @classmethod
    def of(cls, dataset: kb.Dataset, column: str) -> Self:
        """Return the index that a dataset has on a column; it is loaded when it is asked."""
        index = cls(column)
        index._dataset = dataset
        return index

    @property
    def index(self) -> kb.Index:
        """The index itself, loaded now if it was not.

        Raises
        ------
        RuntimeError
            It was made by hand without values.
        """
        if self._loaded is None:
            if self._dataset is None:
                raise RuntimeError(f"The index on {self.column!r} has no values: make it with index_dct.")
            self._loaded = self._dataset.load_index(self.column)
        return self._loaded

    @property
    def loaded(self) -> bool:
        """Whether it is in memory."""
        return self._loaded is not None

    @property
    def dtype(self) -> pa.DataType:
        """Arrow type of the values."""
        return self.index.table.schema.field(self.column).type

    @property
    def index_dct(self) -> dict[Any, list[str]]:
        """Labels by value."""
        table = self.index.table
        return dict(zip(table[self.column].to_pylist(), table[_LABELS].to_pylist(), strict=True))

    def load(self, store: Any = None) -> Self:
        """Load it into memory; it knows the store that it comes from."""
        del store
        _ = self.index
        return self

    def eval_operator(self, op: str, value: Any) -> set[str]:
        """Return the labels of partitions with a value for which ``column op value`` holds."""
        return set(self.index.eval_operator(op, value))

    def query(self, value: Any) -> list[str]:
        """Return the labels of partitions that hold a value."""
        return sorted(self.eval_operator("==", value))

    def observed_values(self, date_as_object: bool = True) -> Any:
        """Return the values as a NumPy array."""
        return self.index.table[self.column].to_pandas(date_as_object=date_as_object).to_numpy()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexBase) or self.column != other.column:
            return False
        return {v: set(ls) for v, ls in self.index_dct.items()} == {v: set(ls) for v, ls in other.index_dct.items()}

    __hash__ = None  # type: ignore[assignment]  # compared by content, which may be large

    def __repr__(self) -> str:
        return f"{type(self).__name__}(column={self.column!r}, loaded={self.loaded})"


class PartitionIndex(IndexBase):
    """What the labels of partitions say of a partition column."""


class ExplicitSecondaryIndex(IndexBase):
    """A stored index; ``index_storage_key`` is the key of its file."""

    def __init__(
        self,
        column: str,
        index_dct: Mapping[Any, Sequence[str]] | None = None,
        index_storage_key: str | None = None,
        dtype: pa.DataType | None = None,
        normalize_dtype: bool = True,
    ) -> None:
        super().__init__(column, index_dct, dtype, normalize_dtype)
        self.index_storage_key = index_storage_key
