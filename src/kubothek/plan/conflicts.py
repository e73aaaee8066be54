"""Whether a change that lost a race can still be made on what the winners left.

Appends, metadata and delete scopes can: a scope is evaluated again on the new base, as if the change had been asked
for later, and values of indices that others have built are read from the staged files. A change cannot be made where
it was prepared for a dataset that is no longer there: another layout, another incarnation, partitions or indices that
are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.errors import InvalidInputError
from kubothek.model.header import FILE_PREFIX, Header
from kubothek.model.staged import ChangeSet
from kubothek.plan.apply import CREATION_TIME, NO_LABELS, removed_labels
from kubothek.plan.dataset_layout import Base, listed, next_indices, next_layout
from kubothek.plan.foreign import is_adopted


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why two commits cannot both hold. ``ours`` and ``theirs`` say who they are."""

    ours: str
    theirs: str
    reason: str

    def __str__(self) -> str:
        """Say what happened and what to do."""
        return (
            f"{self.ours} lost the race against {self.theirs}, and cannot be made on top of it: {self.reason} "
            "Nothing was committed; look at the dataset as it is now and start again."
        )


def find_conflict(change: ChangeSet, old: Base | None, new: Base | None, uuid: str) -> Conflict | None:
    """Return why a change prepared for ``old`` cannot be made on ``new``, or ``None`` if it can.

    Examples
    --------
    >>> change = ChangeSet("5f2c", "update", create=True)
    >>> find_conflict(change, None, None, "flights") is None
    True
    """
    reason = next(_reasons(change, old, new, uuid), None)
    if reason is None:
        return None
    return Conflict(f"'{change.operation}' (commit {change.write_id}) on dataset {uuid!r}", _author(new), reason)


def _author(new: Base | None) -> str:
    if new is None:
        return "a deletion"
    state = new.header.state
    if state is None:
        return "a commit by other software"
    if is_adopted(state):
        return f"a commit by other software (version {state.version})"
    by = "" if state.info is None else f", '{state.info.operation}' by {state.info.author}"
    return f"commit {state.commit} (version {state.version}{by})"


def _reasons(change: ChangeSet, old: Base | None, new: Base | None, uuid: str) -> Iterator[str]:
    # a restored header counts on files that may have gone meanwhile
    if change.overwrite and change.restore is None and not change.must_be_absent:
        return
    if old is None and new is not None and new.header.is_withdrawn:
        return
    if new is None:
        if old is not None and not change.must_be_absent:
            yield "the dataset was deleted meanwhile."
        return
    if change.must_be_absent or (change.restore is not None and old is None):
        yield "the dataset was created meanwhile."
    if old is not None:
        yield from _replaced(change, old.header, new.header)
        yield from _indices_gone(change, old.header, new.header)
        yield from _partitions_gone(change, old, new)
        yield from _index_outdated(change, old, new)
        yield from _computed_meanwhile(change, old, new)
    try:
        layout = next_layout(new, change, uuid)
        next_indices(new, change, layout, uuid)
        removed_labels(new, change, NO_LABELS, uuid)
    except InvalidInputError as error:
        yield str(error)


def _replaced(change: ChangeSet, old: Header, new: Header) -> Iterator[str]:
    """Creation time tells an overwritten dataset, the incarnation one that was deleted and created again."""
    incarnations = {header.state.incarnation for header in (old, new) if header.state is not None}
    if len(incarnations) == 2 or old.metadata.get(CREATION_TIME) != new.metadata.get(CREATION_TIME):
        yield "the dataset was overwritten, or deleted and created again, meanwhile."
    if change.restore is not None:
        yield "the versions committed meanwhile would be undone too."
    if new.is_withdrawn and not old.is_withdrawn:
        yield "the creation of the dataset was taken back meanwhile."


def _indices_gone(change: ChangeSet, old: Header, new: Header) -> Iterator[str]:
    gone = [c for c in change.index_columns or () if c in old.indices and c not in new.indices]
    if gone:
        yield f"the index on {listed(gone)} was dropped meanwhile."


def _partitions_gone(change: ChangeSet, old: Base, new: Base) -> Iterator[str]:
    if not change.remove_labels:
        return
    labels = pa.array(change.remove_labels, pa.string())
    before, after = _files(old, labels), _files(new, labels)
    wrong = [label for label in change.remove_labels if before.get(label) != after.get(label)]
    if wrong:
        yield f"partition {wrong[0]!r}, which is to be removed, was removed or replaced meanwhile."


def _files(base: Base, labels: pa.Array) -> dict[str, tuple[str, ...]]:
    """Return the keys of the files of some labels."""
    rows = base.partitions.filter(pc.is_in(base.partitions["label"], value_set=labels))
    keys = [rows[name].to_pylist() for name in rows.column_names if name.startswith(FILE_PREFIX)]
    return dict(zip(rows["label"].to_pylist(), zip(*keys, strict=True), strict=True))


def _index_outdated(change: ChangeSet, old: Base, new: Base) -> Iterator[str]:
    before, after = old.partitions["label"], new.partitions["label"]
    same = len(before) == len(after) and pc.all(pc.is_in(before, value_set=after.combine_chunks())).as_py() is not False
    if change.build_indices and not same:
        yield f"the partitions that the index on {listed(change.build_indices)} was built from changed meanwhile."


def _computed_meanwhile(change: ChangeSet, old: Base, new: Base) -> Iterator[str]:
    """What was computed from a dataset's sources says it of the whole content, as it was seen."""
    before, after = ({} if one.header.state is None else one.header.state.lineage for one in (old, new))
    if change.lineage is not None and before != after:
        yield "others computed some of it anew meanwhile, or removed what had been computed."
