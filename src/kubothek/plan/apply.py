"""What a dataset becomes when a change is applied to it: the candidate for its next header.

The steps are: may the change be made at all, what layout and which indices hold afterwards
(``kubothek.plan.dataset_layout``), which partitions, which metadata, and what our own state says
(``kubothek.plan.next_state``). All of it follows
from the base, the change and the arguments, so a commit that lost a race applies the same change again to what the
winner left.

The content of an index is in the store, so the candidate only says what has to be merged (:class:`IndexMerge`); the
commit does it and enters the keys of the new index files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.errors import AlreadyExistsError, DatasetNotFoundError, InvalidInputError, SchemaError
from kubothek.model.header import Header, partitions_schema
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.dataset_layout import (
    Base,
    DatasetLayout,
    check_values,
    column_type,
    listed,
    next_indices,
    next_layout,
)
from kubothek.plan.lineage import LabelTexts
from kubothek.plan.next_state import (
    Committer,
    check_not_expired,
    content_state,
    effect_between,
    effect_of_parts,
    next_lineage,
    next_state,
    unique_writes,
)

NO_LABELS: pa.Array = pa.nulls(0, pa.string())  # pa.array would import pandas
CREATION_TIME = "creation_time"
"""Entry of the user metadata in which Kartothek keeps when a dataset was created (UTC, without zone)."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexMerge:
    """How the next content of one index comes about.

    What there was is in the index file ``base_key``, in ``embedded`` (old headers) or in ``built``, else the index is
    new. ``added`` pairs labels with their values, or with the key of a staged file of them. ``type`` is ``None``
    for a column that is in no table; the base index knows it then.
    """

    column: str
    type: pa.DataType | None
    base_key: str | None
    embedded: Mapping[str, tuple[str, ...]]
    built: pa.Table | None
    added: tuple[tuple[str, pa.Array | str], ...]
    removed_labels: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """The next header, but for the keys of the indices in ``merges``, which are yet to be written.

    ``indices`` lists all indices in order. ``changed_tables`` are those whose schema is new or different.
    """

    header: Header
    schemas: Mapping[str, pa.Schema]
    indices: tuple[str, ...]
    merges: tuple[IndexMerge, ...]
    changed_tables: tuple[str, ...]


def apply_change(
    base: Base | None,
    change: ChangeSet,
    *,
    uuid: str,
    by: Committer,
    label_prefixes: Callable[[pa.Array], pa.Array],
    label_texts: LabelTexts,
    deleted: pa.Array = NO_LABELS,
) -> Candidate:
    """Return what a dataset becomes by a change.

    Parameters
    ----------
    base
        The dataset as it is, or ``None`` where there is none.
    change
        What to do to it.
    uuid
        The dataset's name.
    by
        Who commits, and when: that is the time of creation of a new or overwritten dataset.
    label_prefixes
        Gives the write prefixes of labels (``kubothek.codec.labels.label_prefixes``).
    label_texts
        Gives the texts of partition values in labels (``kubothek.codec.labels.label_texts``).
    deleted
        Labels that the change's delete scope selects in this base.

    Raises
    ------
    AlreadyExistsError, DatasetNotFoundError
        The change demands that the dataset is absent, or that it exists.
    SnapshotExpiredError
        The change brings back a version that garbage collection has given up.
    InvalidInputError
        The change does not fit the base, or is not complete in itself.
    """
    there = None if base is not None and base.header.is_withdrawn else base
    _check_existence(there, change, uuid)
    if change.restore is not None:
        return _restored(base, change.restore, change, uuid, by)
    kept = None if change.overwrite else there
    layout = next_layout(kept, change, uuid)
    indices = next_indices(kept, change, layout, uuid)
    check_values(indices, change, layout, uuid)
    removed = removed_labels(kept, change, deleted, uuid)
    partitions = _next_partitions(kept, change, removed, tuple(layout.schemas), uuid)
    unique = unique_writes(kept, change, partitions, removed, label_prefixes)
    content = content_state(kept, change, layout, unique, next_lineage(kept, change, removed, label_texts))
    gone = base.partitions.num_rows if base is not None and change.overwrite else len(removed)
    effect = effect_of_parts((*change.revived, *change.added), gone)
    merges = tuple(_merge(column, kept, change, layout, removed) for column in indices)
    header = Header(
        uuid=uuid,
        partition_keys=layout.partition_keys,
        partitions=partitions,
        indices={m.column: m.base_key for m in merges if m.base_key is not None and not _is_change(m)},
        metadata=_next_metadata(kept, change, by.time),
        format=change.header_format if base is None else base.header.format,
        state=next_state(base, content, change, effect, by),
        extra={} if kept is None else kept.header.extra,
    )
    before = {} if base is None else base.schemas
    return Candidate(
        header=header,
        schemas=layout.schemas,
        indices=indices,
        merges=tuple(m for m in merges if m.column not in header.indices),
        changed_tables=tuple(t for t, schema in layout.schemas.items() if before.get(t) != schema),
    )


def _check_existence(base: Base | None, change: ChangeSet, uuid: str) -> None:
    if base is None and not (change.create or change.must_be_absent or change.overwrite):
        raise DatasetNotFoundError(
            f"There is no dataset {uuid!r} to which '{change.operation}' could be done. Check the name and the store, "
            "or give data, which creates it.",
            uuid=uuid,
        )
    if base is not None and change.must_be_absent and not change.overwrite:
        raise AlreadyExistsError(
            f"Dataset {uuid!r} exists already. Choose another name, pass overwrite=True to replace it, "
            "or update it to add to it.",
            uuid=uuid,
        )


def removed_labels(base: Base | None, change: ChangeSet, deleted: pa.Array, uuid: str) -> pa.Array:
    """Return the labels of the base that are gone after a change, each once.

    Raises
    ------
    InvalidInputError
        The change removes a label that the base does not have.
    """
    asked = pa.array(change.remove_labels, pa.string())
    known = NO_LABELS if base is None else base.partitions["label"].combine_chunks()
    unknown = asked.filter(pc.invert(pc.is_in(asked, value_set=known)))
    if len(unknown):
        raise InvalidInputError(
            f"Dataset {uuid!r} has no partition {unknown[0].as_py()!r} ({len(unknown)} such label(s)), so "
            f"'{change.operation}' cannot remove it.",
            labels=tuple(unknown.to_pylist()),
        )
    if base is None:
        return NO_LABELS
    return pc.unique(pa.concat_arrays([asked, deleted.cast(pa.string())]))


def _next_partitions(
    base: Base | None, change: ChangeSet, removed: pa.Array, tables: tuple[str, ...], uuid: str
) -> pa.Table:
    """Return what comes back, what is kept, and what is new, in this order: the last version of a cell counts."""
    schema = partitions_schema(tables)
    back, new = header_rows(change.revived, tables, uuid), header_rows(change.added, tables, uuid)
    if base is None or base.partitions.num_rows == 0:
        merged = pa.concat_tables([back, new])
    else:
        kept = base.partitions
        if len(removed):
            kept = kept.filter(pc.invert(pc.is_in(kept["label"], value_set=removed)))
        merged = pa.concat_tables([back, kept.select(schema.names).cast(schema), new])
    if change.added or change.revived:
        _check_distinct(pa.concat_tables([back, new])["label"], merged["label"], uuid)
    return merged


def header_rows(parts: tuple[StagedPartition, ...], tables: tuple[str, ...], uuid: str) -> pa.Table:
    """Return partitions as rows of a header (see ``Header.partitions``).

    Raises
    ------
    SchemaError
        A partition does not have exactly these tables.
    """
    for part in parts:
        if set(part.files) != set(tables):
            raise SchemaError(
                f"Partition {part.label!r} has files for {listed(part.files)}, but dataset {uuid!r} has the table(s) "
                f"{listed(tables)}. Each partition has every table."
            )
    return pa.table(
        [
            pa.array([part.label for part in parts], pa.string()),
            pa.array([part.rows for part in parts], pa.int64()),
            pa.array([part.bytes for part in parts], pa.int64()),
            *(pa.array([part.files[table] for part in parts], pa.string()) for table in tables),
        ],
        schema=partitions_schema(tables),
    )


def _check_distinct(new: pa.ChunkedArray, merged: pa.ChunkedArray, uuid: str) -> None:
    counts = pc.value_counts(merged.filter(pc.is_in(merged, value_set=new.combine_chunks())))
    doubled = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(doubled):
        raise InvalidInputError(
            f"Partition {doubled[0].as_py()!r} of dataset {uuid!r} would exist twice ({len(doubled)} such label(s)). "
            "A label names one partition.",
            labels=tuple(doubled.to_pylist()),
        )


def _next_metadata(base: Base | None, change: ChangeSet, now: datetime) -> dict[str, object]:
    """Return the user metadata; Kartothek puts the time of creation where there is none."""
    stored = {CREATION_TIME: now.replace(tzinfo=None).isoformat()} if base is None else base.header.metadata
    kept = {name: value for name, value in stored.items() if name not in change.drop_metadata}
    return {**kept, **change.metadata}


def _merge(column: str, base: Base | None, change: ChangeSet, layout: DatasetLayout, removed: pa.Array) -> IndexMerge:
    built = change.build_indices.get(column)
    stored = base is not None and built is None
    return IndexMerge(
        column=column,
        type=column_type(layout, column),
        base_key=base.header.indices.get(column) if stored and base else None,
        embedded=base.header.embedded_indices.get(column, {}) if stored and base else {},
        built=built,
        # New partitions say nothing about a column that no table has: its value is null in them.
        added=tuple(
            (p.label, p.index_values[column]) for p in (*change.revived, *change.added) if column in p.index_values
        ),
        removed_labels=removed,
    )


def _is_change(merge: IndexMerge) -> bool:
    """Whether an index that has a file needs a new one."""
    return len(merge.removed_labels) > 0 or any(isinstance(v, str) or len(v) for _, v in merge.added)


def _restored(base: Base | None, content: Header, change: ChangeSet, uuid: str, by: Committer) -> Candidate:
    """Return the content of a header as the next commit on the base, or as the first of a dataset."""
    if content.state is None:
        raise InvalidInputError(
            f"The version of dataset {uuid!r} to go back to was committed by other software and does not record its "
            "schema."
        )
    if base is not None:
        check_not_expired(base, content.state, change, uuid)
    listed_there = partitions_schema(()).empty_table() if content.partitions is None else content.partitions
    effect = effect_between(None if base is None else base.partitions, listed_there)
    state = next_state(base, content.state, change, effect, by)
    header_format = change.header_format if base is None else base.header.format
    header = replace(content, format=header_format, metadata={**content.metadata, **change.metadata}, state=state)
    before = {} if base is None else base.schemas
    changed = tuple(t for t, schema in state.schema.items() if before.get(t) != schema)
    return Candidate(header, state.schema, tuple(content.indices), (), changed)
