"""What a write has put into the store before its commit: files that nothing refers to yet.

A write task returns one :class:`StagedPartition` per file it cut. They are small, pickle well, and carry everything
that the commit needs, so that data never travels to the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kubothek.model.condition import Condition
from kubothek.model.header import CubeCall, Header, HeaderFormat, StreamBatch


@dataclass(frozen=True, slots=True)
class StagedPartition:
    """One partition whose files are in the store and not committed.

    ``files`` maps table to storage key, ``schema`` table to schema of record (partition columns included). ``rows`` and
    ``bytes`` are those of its one file, ``None`` where several tables have one each. ``index_values`` maps each column
    to be indexed to the distinct non-null values of this partition, sorted, or, where they are many, to the key of a
    staged Arrow IPC file of one column: batches, each sorted, that hold these values, some perhaps in several batches.
    ``bucket`` numbers the bucket of the write that the rows fell in, where it made some.
    """

    label: str
    files: Mapping[str, str]
    rows: int | None
    bytes: int | None
    schema: Mapping[str, pa.Schema]
    index_values: Mapping[str, pa.Array | str] = field(default_factory=dict)
    bucket: int | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Storage keys of everything that was staged for it: data files and index values."""
        return (*self.files.values(), *(values for values in self.index_values.values() if isinstance(values, str)))


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Everything one commit does to a dataset, as data, so that it can be applied again to another base.

    ``tables`` and ``partition_keys`` are what the writer believes the dataset to be (``None``: as it is).
    ``index_columns`` are the secondary indices the writer wants (``None``: those that exist); ``build_indices`` gives
    the whole content of indices over the partitions of the base, ``drop_indices`` forgets indices. ``delete_scope``
    removes the partitions that any of its conditions selects, ``remove_labels`` removes these. ``create`` allows the
    dataset to be absent, ``must_be_absent`` demands it, ``overwrite`` replaces whatever the dataset holds, its schema
    and layout included; the latter two together replace it only as the writer saw it. ``restore`` makes the content of
    a header the dataset's, whose files are all in the store: that of an earlier version, or of the dataset to which
    this one becomes equal; only metadata may be asked with it. ``revived`` are partitions that an earlier commit
    removed; they come back in front of all others, and nothing is assumed of the types in their files.
    ``drop_metadata`` names entries to forget. ``header_format`` is that of a dataset's first header; later ones keep
    it. ``unique_write`` is the file-name prefix of a write whose cells were checked to be unique, ``cube_call`` the
    call of which this is one of several commits. ``oldest`` gives up all versions before it. ``hold`` asks
    others not to commit for so many seconds. ``restored_version`` says
    which version of this dataset ``restore`` brings back, where that is one. ``batch`` is the batch of a streaming
    query that the change is: where the dataset has it already, nothing is committed. ``lineage`` is what the whole
    content was computed from, once the change is made (``None``: what was known of it, but for the physical partitions
    from which the change removes something; see ``CommitState.lineage``).
    """

    write_id: str
    operation: str
    added: tuple[StagedPartition, ...] = ()
    tables: Mapping[str, pa.Schema] | None = None
    partition_keys: tuple[str, ...] | None = None
    index_columns: tuple[str, ...] | None = None
    build_indices: Mapping[str, pa.Table] = field(default_factory=dict)
    drop_indices: tuple[str, ...] = ()
    delete_scope: tuple[Condition, ...] = ()
    remove_labels: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    create: bool = False
    must_be_absent: bool = False
    overwrite: bool = False
    restore: Header | None = None
    header_format: HeaderFormat = "json"
    unique_write: str | None = None
    revived: tuple[StagedPartition, ...] = ()
    drop_metadata: tuple[str, ...] = ()
    cube_call: CubeCall | None = None
    oldest: int = 1
    hold: float = 0.0
    restored_version: int | None = None
    batch: StreamBatch | None = None
    lineage: Mapping[str, pa.Array] | None = None
