"""What users hold when they have opened a dataset: one version of it, to look at and to read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.dataset.at import load_snapshot_at
from kubothek.dataset.history import read_history
from kubothek.dataset.indices.lookup import load_postings
from kubothek.dataset.scan import Scan, open_scan
from kubothek.dataset.snapshot import Snapshot
from kubothek.model.display import human_bytes, plural
from kubothek.model.header import FILE_PREFIX
from kubothek.model.history import History
from kubothek.model.markup import notebook_facts
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.model.schema import joint_schema
from kubothek.model.where import parse_where
from kubothek.plan.bind import bind
from kubothek.plan.index_merge import LABELS, index_from_postings
from kubothek.plan.match import match_rows
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition of a dataset: its label, and the key of its file per table.

    ``rows`` and ``bytes`` are sums over its files, ``None`` where they are not recorded.
    """

    label: str
    files: Mapping[str, str]
    rows: int | None
    bytes: int | None


class Partitions(Mapping[str, Partition]):
    """The partitions of a dataset by label, in the order of its header."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._rows: dict[str, int] | None = None

    def __getitem__(self, label: str) -> Partition:
        """Return one partition; ``KeyError`` where there is none of this label."""
        if self._rows is None:
            self._rows = {name: row for row, name in enumerate(self)}
        found = self._table.slice(self._rows[label], 1).to_pylist()[0]
        keys = {name: key for name, key in found.items() if name.startswith(FILE_PREFIX) and key is not None}
        files = {name.removeprefix(FILE_PREFIX): key for name, key in keys.items()}
        return Partition(label, files, found["rows"], found["bytes"])

    def __iter__(self) -> Iterator[str]:
        """Yield the labels."""
        return iter(self._table.column("label").to_pylist())

    def __len__(self) -> int:
        """Count the partitions."""
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        """Show how many there are."""
        return f"<{len(self)} partitions>"


class Index:
    """Which files of a dataset hold which values of one column.

    Nulls and NaN are in no index: a file that is not listed may hold them.

    Attributes
    ----------
    column
        The column.
    table
        One row per value: the column, and ``partition`` with the labels of the files that hold it.
    """

    def __init__(self, column: str, table: pa.Table) -> None:
        self.column = column
        self.table = table

    def eval_operator(self, op: str, value: Any) -> frozenset[str]:
        """Return the labels of files with a value for which ``column op value`` holds.

        Parameters
        ----------
        op
            ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in`` or ``not in``.
        value
            What to compare with; for ``in`` and ``not in`` a sequence. A null is found by no operator.

        Raises
        ------
        InvalidInputError
            The operator is another one, or does not go with the value.
        PredicateTypeError
            The column's type cannot hold the value.

        Examples
        --------
        >>> index = Index("ORIGIN", pa.table({"ORIGIN": ["EWR", "JFK"], "partition": [["a", "b"], ["b"]]}))
        >>> sorted(index.eval_operator("in", ["EWR", "LGA"])), sorted(index.eval_operator(">", "EWR"))
        (['a', 'b'], ['b'])
        """
        condition = parse_where([[(self.column, op, value)]])
        bound = bind(condition, self.table.schema, subject=f"index on {self.column!r}")
        found = self.table.filter(match_rows(bound, self.table))
        return frozenset(pc.list_flatten(found.column(LABELS)).to_pylist())

    def __len__(self) -> int:
        """Count the values."""
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        """Show the column and how many values it has."""
        return f"<Index on {self.column}: {len(self)} values>"


class Dataset:
    """One version of a dataset, immutable: later commits do not change it.

    Made by :func:`kubothek.open_dataset` and returned by everything that commits.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def uuid(self) -> str:
        """Name of the dataset."""
        return self._snapshot.uuid

    @property
    def store(self) -> Store:
        """Where it is."""
        return self._snapshot.store

    @property
    def schema(self) -> pa.Schema:
        """Schema of record: partition columns first, then all others by name.

        Of a dataset with several tables it has the columns of all; :attr:`schemas` tells which table has which.
        """
        return joint_schema(tuple(self.schemas.values()), self.partition_keys)

    @property
    def schemas(self) -> Mapping[str, pa.Schema]:
        """Schema of record of each table."""
        return MappingProxyType(dict(self._snapshot.schemas))

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables; nearly always one."""
        return self._snapshot.tables

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """Columns by which files are separated."""
        return self._snapshot.partition_keys

    @property
    def partitions(self) -> Partitions:
        """Files by label."""
        return Partitions(self._snapshot.partitions)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """User metadata."""
        return MappingProxyType(dict(self._snapshot.header.metadata))

    @property
    def version(self) -> int | None:
        """Number of the commit, from 1; ``None`` where other software made it."""
        return self._snapshot.version

    @property
    def index_columns(self) -> tuple[str, ...]:
        """Columns that have a secondary index."""
        return self._snapshot.index_columns

    def load_index(self, column: str) -> Index:
        """Load which files hold which values of a column with a secondary index, or of a partition column.

        Raises
        ------
        IndexNotFoundError
            The column is neither.
        """
        if column not in self.partition_keys:
            return Index(column, load_postings(self._snapshot, column))
        files = self._snapshot.file_table(self.tables[0])
        values = files.column(PARTITION_PREFIX + column).combine_chunks()
        return Index(column, index_from_postings(column, values, files.column("label").combine_chunks()))

    def load_all_indices(self) -> dict[str, Index]:
        """Load all secondary indices and those of the partition columns."""
        return {column: self.load_index(column) for column in (*self.partition_keys, *self.index_columns)}

    @property
    def indices(self) -> Mapping[str, Index]:
        """Indices by column, each loaded when it is looked at."""
        return _Indices(self)

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        where: Any = None,
        table: str | None = None,
        *,
        categoricals: str | Sequence[str] = (),
    ) -> Scan:
        """Plan a read; nothing is read yet but the index entries that the condition needs.

        A column that is in no table but has an index (it says something about whole partitions) can be named like any
        other; it is null in partitions that its index does not list.

        Parameters
        ----------
        columns
            Columns of the result, in order; ``None`` for all of the table.
        where
            A condition (``C("TEMP") < 0``), a text (``"TEMP < 0"``) or a list of lists of ``(column, op, value)``.
        table
            Name of the table; ``None`` for the only one, or the one called ``"table"``.
        categoricals
            Columns to give as Arrow dictionaries, which take little memory where values come again often: pandas has
            them as ``category``, Polars where they are text; Spark, which has no such type, gets plain values.

        Raises
        ------
        UnknownColumnError, PredicateTypeError
            Columns or values do not fit the schema; all problems are named.
        InvalidInputError
            There is no such table, a column is wanted twice, or a list or struct as a dictionary.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kubothek import write_dataset
        >>> rows = pa.table({"MONTH": [1, 2, 2], "TEMP": [0.5, -1.0, 3.0]})
        >>> ds = write_dataset(rows, "weather", "memory://scan", partition_on="MONTH")
        >>> ds.scan("TEMP", where="MONTH == 2 & TEMP > 0").to_arrow().to_pydict()
        {'TEMP': [3.0]}
        """
        return open_scan(self._snapshot, columns=columns, where=where, table=table, categoricals=categoricals)

    def history(self) -> History:
        """List the commits that led to this version, newest first: a tuple that prints as a table.

        Versions that were given up when garbage was collected are not among them. One request lists the versions, and
        one for each reads who made it.

        Raises
        ------
        CorruptDatasetError
            What is kept of a version is damaged; ``key`` names it.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kubothek import update_dataset, write_dataset
        >>> ds = write_dataset(pa.table({"TEMP": [1.5]}), "weather", "memory://history")
        >>> ds = update_dataset(pa.table({"TEMP": [-3.5, 4.0]}), "weather", "memory://history")
        >>> [(entry.version, entry.operation, entry.added, entry.rows) for entry in ds.history()]
        [(2, 'update_dataset', 1, 2), (1, 'write_dataset', 1, 1)]
        """
        return read_history(self._snapshot)

    def __repr__(self) -> str:
        """Show the facts one asks for first."""
        sizes = self._snapshot.partitions.column("bytes")
        size = "" if sizes.null_count else f", {human_bytes(pc.sum(sizes).as_py() or 0)}"
        keys = f", partitioned by {', '.join(self.partition_keys)}" if self.partition_keys else ""
        indices = f", indices on {', '.join(self.index_columns)}" if self.index_columns else ""
        return f"<Dataset {self.uuid}: {plural(len(self.partitions), 'partition')}{size}{keys}{indices}>"

    def _repr_html_(self) -> str:
        """Show the same in a notebook, with the columns."""
        told = self._snapshot.partitions
        sums = {name: None if told[name].null_count else pc.sum(told[name]).as_py() or 0 for name in ("rows", "bytes")}
        facts = {
            "store": self.store.url,
            "version": self.version,
            "partitions": f"{told.num_rows:,}",
            "rows": None if sums["rows"] is None else f"{sums['rows']:,}",
            "size": None if sums["bytes"] is None else human_bytes(sums["bytes"]),
            "partitioned by": ", ".join(self.partition_keys) or None,
            "indices on": ", ".join(self.index_columns) or None,
            "columns": ", ".join(f"{field.name} {field.type}" for field in self.schema),
            "metadata": ", ".join(f"{key}={value}" for key, value in self.metadata.items()) or None,
        }
        return notebook_facts(f"dataset {self.uuid}", {name: fact for name, fact in facts.items() if fact is not None})


class _Indices(Mapping[str, Index]):
    """Indices of a dataset by column, loaded on demand."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __getitem__(self, column: str) -> Index:
        return self._dataset.load_index(column)

    def __contains__(self, column: object) -> bool:
        return column in tuple(self)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._dataset.partition_keys, *self._dataset.index_columns))

    def __len__(self) -> int:
        return len(self._dataset.partition_keys) + len(self._dataset.index_columns)


def open_dataset(uuid: str, store: StoreLike, *, at: int | datetime | None = None) -> Dataset:
    """Open a dataset as it is now, or as it was.

    Parameters
    ----------
    uuid
        Its name.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    at
        The number of a version, such as :attr:`Dataset.version` gives and :meth:`Dataset.history` lists, or a time (UTC
        where it has no zone), which stands for the newest version that was committed by then, as far as the clocks of
        those who committed agree. ``None`` stands for now.

    Raises
    ------
    DatasetNotFoundError
        There is none of this name.
    NotFoundError
        There never was such a version, or the dataset was not there then.
    SnapshotExpiredError
        The version was given up when garbage was collected (:func:`~kubothek.garbage_collect_dataset` says which are).
    CorruptDatasetError
        Its header or schema cannot be understood.
    InvalidInputError
        ``at`` is neither a number nor a time.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import open_dataset, write_dataset
    >>> ds = write_dataset(pa.table({"TEMP": [1.5]}), "weather", "memory://open_dataset")
    >>> open_dataset("weather", "memory://open_dataset").schema.names
    ['TEMP']
    >>> ds = write_dataset(pa.table({"TEMP": [-3.5]}), "weather", "memory://open_dataset", overwrite=True)
    >>> open_dataset("weather", "memory://open_dataset", at=1).scan().to_arrow().to_pydict()
    {'TEMP': [1.5]}
    """
    return Dataset(load_snapshot_at(uuid, open_store(store), at))
