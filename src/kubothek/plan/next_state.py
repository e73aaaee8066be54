"""What our own part of a header says after a commit: whose it is, what it did, and what still holds of the content.

Two kinds of entries meet there. Some describe the content (schema, checked writes, conformity, lineage) and come from
the change or from the version that is brought back. The others describe the commit (number, ids, incarnation, streaming
queries, what happened) and go on from the header that is replaced, whatever the content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.errors import SnapshotExpiredError
from kubothek.model.header import STREAMS_AT_MOST, CommitInfo, CommitState, StreamBatch
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.dataset_layout import Base, DatasetLayout
from kubothek.plan.lineage import LabelTexts, remaining_lineage

RECENT_COMMITS = 64


@dataclass(frozen=True, slots=True)
class Committer:
    """Who commits: at which ``time`` (UTC), under which name, with which program.

    ``incarnation`` is the id of a dataset that has none yet.
    """

    time: datetime
    author: str
    library: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class Effect:
    """How many partitions a commit added and removed, and the rows in the added ones, ``None`` where unknown."""

    added: int
    removed: int
    rows: int | None


def effect_of_parts(added: Sequence[StagedPartition], removed: int) -> Effect:
    """Return the effect of adding these partitions and removing so many."""
    rows = [part.rows for part in added]
    return Effect(len(rows), removed, None if None in rows else sum(row for row in rows if row is not None))


def effect_between(before: pa.Table | None, after: pa.Table) -> Effect:
    """Return the effect that makes the partitions of one header those of another (see ``Header.partitions``).

    Examples
    --------
    >>> before = pa.table({"label": ["a", "b"], "rows": [1, 1]})
    >>> effect_between(before, pa.table({"label": ["b", "c", "d"], "rows": [1, 2, 3]}))
    Effect(added=2, removed=1, rows=5)
    """
    if before is None:
        return Effect(after.num_rows, 0, _rows(after))
    new = after.filter(pc.invert(pc.is_in(after["label"], value_set=before["label"].combine_chunks())))
    return Effect(new.num_rows, before.num_rows - (after.num_rows - new.num_rows), _rows(new))


def _rows(partitions: pa.Table) -> int | None:
    rows = partitions["rows"]
    return None if rows.null_count else pc.sum(rows, min_count=0).as_py()


def next_state(
    base: Base | None, content: CommitState, change: ChangeSet, effect: Effect, by: Committer
) -> CommitState:
    """Return the state of some content as that of the next commit on the base."""
    last = None if base is None else base.header.state
    # To give up versions changes nothing, so that a call that was cut short before remains known as such.
    call = last.cube_call if last is not None and change.oldest > 1 else change.cube_call
    return replace(
        content,
        version=1 if last is None else last.version + 1,
        commit=change.write_id,
        recent=(*(() if last is None else last.recent), change.write_id)[-RECENT_COMMITS:],
        incarnation=by.incarnation if last is None else last.incarnation,
        cube_call=call,
        oldest=change.oldest if last is None else max(last.oldest, change.oldest),
        hold=change.hold,
        streams=_next_streams({} if last is None or last.withdrawn else last.streams, change.batch),
        info=CommitInfo(
            time=by.time,
            operation=change.operation,
            author=by.author,
            library=by.library,
            added=effect.added,
            removed=effect.removed,
            rows=effect.rows,
        ),
    )


def _next_streams(streams: Mapping[str, int], batch: StreamBatch | None) -> Mapping[str, int]:
    """Return the last batch of each query, the last one of all at the end; those that came first are forgotten."""
    if batch is None:
        return streams
    others = [(query, number) for query, number in streams.items() if query != batch.query]
    return dict([*others, (batch.query, batch.number)][-STREAMS_AT_MOST:])


def content_state(
    base: Base | None,
    change: ChangeSet,
    layout: DatasetLayout,
    unique_writes: tuple[str, ...],
    lineage: Mapping[str, pa.Array],
) -> CommitState:
    """Return what our own state says about the content that a change makes, the commit itself left open."""
    last = None if base is None else base.header.state
    return CommitState(
        version=0,
        commit="",
        recent=(),
        incarnation="",
        schema=layout.schemas,
        unique_writes=unique_writes,
        conformed=_is_conformed(base, change, layout),
        lineage=lineage,
        extra={} if last is None else last.extra,
    )


def _is_conformed(base: Base | None, change: ChangeSet, layout: DatasetLayout) -> bool:
    """Whether every data file holds exactly the types of record: null columns of old files do not, once typed."""
    if change.revived:
        return False
    if base is not None and base.partitions.num_rows:
        state = base.header.state
        if state is None or not state.conformed or base.schemas != layout.schemas:
            return False
    return all(schema == layout.schemas[table] for part in change.added for table, schema in part.schema.items())


def unique_writes(
    base: Base | None,
    change: ChangeSet,
    partitions: pa.Table,
    removed: pa.Array,
    label_prefixes: Callable[[pa.Array], pa.Array],
) -> tuple[str, ...]:
    """Return the prefixes of all checked writes that still have a partition, the change's own last."""
    state = None if base is None else base.header.state
    unique = () if state is None else state.unique_writes
    if unique and len(removed):
        present = label_prefixes(partitions["label"].combine_chunks())
        known = pa.array(unique, pa.string())
        unique = tuple(known.filter(pc.is_in(known, value_set=present)).to_pylist())
    if change.unique_write is None or not change.added:
        return unique
    return (*(u for u in unique if u != change.unique_write), change.unique_write)


def next_lineage(
    base: Base | None, change: ChangeSet, removed: pa.Array, label_texts: LabelTexts
) -> Mapping[str, pa.Array]:
    """Return what the content was computed from, as the change says it or as far as it is still known."""
    if change.lineage is not None:
        return change.lineage
    state = None if base is None else base.header.state
    return {} if state is None else remaining_lineage(state.lineage, removed, label_texts)


def check_not_expired(base: Base, content: CommitState, change: ChangeSet, uuid: str) -> None:
    """Refuse to bring back a version of this very dataset whose files may be gone.

    Raises
    ------
    SnapshotExpiredError
        Garbage collection has given it up; ``version`` and ``oldest`` are attributes.
    """
    last = base.header.state
    if last is None or content.incarnation != last.incarnation:
        return
    version = content.version if change.restored_version is None else change.restored_version
    if version < last.oldest:
        raise SnapshotExpiredError(
            f"Version {version} of dataset {uuid!r} cannot be brought back: garbage collection has given up all "
            f"versions before {last.oldest}. Choose one that the dataset's history lists.",
            version=version,
            oldest=last.oldest,
        )
