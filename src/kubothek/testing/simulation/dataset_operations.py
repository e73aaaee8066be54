"""What clients do to a single dataset, by the library's public functions, each with its model in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kubothek.dataset.dataset import Dataset, open_dataset
from kubothek.dataset.indices.build import build_dataset_indices, drop_dataset_indices
from kubothek.dataset.partitions import commit_dataset, create_empty_dataset, write_partitions
from kubothek.dataset.rollback import rollback_dataset
from kubothek.dataset.upkeep.delete import delete_dataset
from kubothek.dataset.upkeep.garbage import garbage_collect_dataset
from kubothek.dataset.upkeep.verify import verify_dataset
from kubothek.dataset.write import update_dataset, write_dataset
from kubothek.errors import CommitStateUnknownError, KubothekError
from kubothek.model.header import HeaderFormat
from kubothek.store.interface import Store
from kubothek.testing.simulation.rows import rows_in, table_of
from kubothek.testing.simulation.runs import Operation, Row, Rows

DATASET = "u"
INDEX_VALUES = ("a", "b")
_LAYOUT: dict[str, Any] = {"partition_on": "p", "secondary_indices": "i1"}


class DatasetOperation(Operation):
    """Something that is done to the one dataset."""

    uuids = (DATASET,)


@dataclass(frozen=True, slots=True)
class Write(DatasetOperation):
    """Write it new, or over what is there."""

    rows: tuple[Row, ...]
    overwrite: bool = False
    header_format: HeaderFormat = "json"

    def act(self, store: Store) -> Any:
        """Do it."""
        options = {**_LAYOUT, "overwrite": self.overwrite, "header_format": self.header_format}
        return write_dataset(table_of(self.rows), DATASET, store, **options)

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return its rows alone."""
        return Counter(self.rows)


@dataclass(frozen=True, slots=True)
class CreateEmpty(DatasetOperation):
    """Create it without rows."""

    header_format: HeaderFormat = "json"

    def act(self, store: Store) -> Any:
        """Do it."""
        schema = table_of(()).schema
        return create_empty_dataset(schema, DATASET, store, header_format=self.header_format, **_LAYOUT)

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return none."""
        return Counter()


@dataclass(frozen=True, slots=True)
class Update(DatasetOperation):
    """Add rows, and remove those that have a value; ``scope`` is the column and the value."""

    rows: tuple[Row, ...]
    scope: tuple[str, Any] | None = None
    names_layout: bool = True
    header_format: HeaderFormat = "json"

    def act(self, store: Store) -> Any:
        """Do it."""
        data = table_of(self.rows) if self.rows else None
        scope = () if self.scope is None else [dict([self.scope])]
        layout = _LAYOUT if self.names_layout else {}
        return update_dataset(data, DATASET, store, delete_scope=scope, header_format=self.header_format, **layout)

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return what was not removed, and what was added."""
        return kept_rows(before, self.scope) + Counter(self.rows)


def kept_rows(rows: Rows, scope: tuple[str, Any] | None) -> Rows:
    """Return the rows that do not have the value of a column."""
    if scope is None:
        return rows
    place = 1 if scope[0] == "p" else 2
    return Counter({row: count for row, count in rows.items() if row[place] != scope[1]})


@dataclass(frozen=True, slots=True)
class StageAndCommit(DatasetOperation):
    """Stage rows with one call and commit them with another, which is made again while its outcome is unknown.

    Staged partitions are refused where they are committed already.
    """

    rows: tuple[Row, ...]

    def act(self, store: Store) -> Any:
        """Do it."""
        staged = write_partitions(table_of(self.rows), DATASET, store, **_LAYOUT)
        try:
            return commit_dataset(DATASET, store, new_partitions=staged, **_LAYOUT)
        except CommitStateUnknownError as unknown:
            try:
                return commit_dataset(DATASET, store, new_partitions=staged, **_LAYOUT)
            except KubothekError:
                raise unknown from None

    def rows_after(self, uuid: str, before: Rows) -> Rows:
        """Return what there was, and what was added."""
        return before + Counter(self.rows)


@dataclass(frozen=True, slots=True)
class BuildIndex(DatasetOperation):
    """Build an index on a column."""

    column: str

    def act(self, store: Store) -> Any:
        """Do it."""
        return build_dataset_indices(DATASET, store, self.column)


@dataclass(frozen=True, slots=True)
class DropIndex(DatasetOperation):
    """Forget the index on a column."""

    column: str

    def act(self, store: Store) -> Any:
        """Do it."""
        return drop_dataset_indices(DATASET, store, self.column)


@dataclass(frozen=True, slots=True)
class Rollback(DatasetOperation):
    """Bring back a version."""

    to: int

    def act(self, store: Store) -> Any:
        """Do it."""
        return rollback_dataset(DATASET, store, self.to)


@dataclass(frozen=True, slots=True)
class Delete(DatasetOperation):
    """Delete the dataset."""

    commits = False

    def act(self, store: Store) -> Any:
        """Do it."""
        delete_dataset(DATASET, store)


@dataclass(frozen=True, slots=True)
class CollectGarbage(DatasetOperation):
    """Delete what nobody needs."""

    keep: int | timedelta | None = None
    commits = False
    tidies = True

    def act(self, store: Store) -> Any:
        """Do it."""
        return garbage_collect_dataset(DATASET, store, keep=self.keep)


@dataclass(frozen=True, slots=True)
class Read(DatasetOperation):
    """Open the dataset, and read all of its rows and what its index answers."""

    commits = False

    def act(self, store: Store) -> Any:
        """Do it."""
        return read_rows(open_dataset(DATASET, store))


@dataclass(frozen=True, slots=True)
class ReadVersion(DatasetOperation):
    """Open a version of the dataset and read it as :class:`Read` does."""

    version: int
    commits = False

    def act(self, store: Store) -> Any:
        """Do it."""
        return read_rows(open_dataset(DATASET, store, at=self.version))


@dataclass(frozen=True, slots=True)
class ReadHistory(DatasetOperation):
    """Return the dataset's history."""

    commits = False

    def act(self, store: Store) -> Any:
        """Do it."""
        return open_dataset(DATASET, store).history()


@dataclass(frozen=True, slots=True)
class Verify(DatasetOperation):
    """Return what is wrong with the dataset."""

    commits = False

    def act(self, store: Store) -> Any:
        """Do it."""
        return verify_dataset(DATASET, store)


def read_rows(ds: Dataset) -> tuple[Rows, dict[Any, frozenset[str]]]:
    """Return the rows of a dataset, and what its index on ``i1`` answers for each of some values."""
    values = INDEX_VALUES if "i1" in ds.indices else ()
    labels = {value: frozenset(ds.load_index("i1").eval_operator("==", value)) for value in values}
    return rows_in(ds.scan().to_arrow()), labels
