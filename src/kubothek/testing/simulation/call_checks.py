"""What must be true of every call: what callers were told took place once or not at all, and readers saw a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CorruptDatasetError,
    InvalidInputError,
    NotFoundError,
)
from kubothek.testing.simulation.cube_operations import (
    ENRICHMENT,
    SEED,
    CubeOperation,
    Query,
    RemovePartitions,
    WriteCube,
    cube_uuid,
    expected_cells,
)
from kubothek.testing.simulation.dataset_operations import (
    DATASET,
    Delete,
    Read,
    ReadVersion,
    Rollback,
    StageAndCommit,
)
from kubothek.testing.simulation.ledger import Entry, Ledger
from kubothek.testing.simulation.runs import Fault, Outcome, Rows, Run

_HONEST = (AlreadyExistsError, NotFoundError, CommitConflictError, InvalidInputError)


def wrong_outcome(run: Run, runs: list[Run], *, calm: bool) -> Iterator[str]:
    """Check that errors have a reason."""
    if run.outcome is Outcome.ABSURD:
        yield "no such error is raised on purpose"
    elif calm and run.outcome is not Outcome.DONE and not isinstance(run.error, _HONEST):
        others = [one for one in runs if one.started <= run.ended and one.ended >= run.started and one is not run]
        if not any(isinstance(one.operation, Delete) or _may_build_on(one, run) for one in others):
            yield "nothing had gone wrong"


def _may_build_on(other: Run, run: Run) -> bool:
    """Whether a call may have built on what another one wanted to take back: a cube that two build at once."""
    return all(isinstance(one.operation, CubeOperation) and one.operation.commits for one in (other, run))


def wrong_commits(ledger: Ledger, run: Run) -> Iterator[str]:
    """Check that what was acknowledged took place once, what failed never, and the rest once at most."""
    committed = run.operation.committed(run.answer) if run.outcome is Outcome.DONE else ()
    for uuid in run.operation.uuids:
        entries = ledger.of_run(run, uuid)
        lasting = [
            entry for entry in entries if not (_is_gone(ledger, entry, run) or _is_repeated(run, entry, entries))
        ]
        if len(lasting) > 1:
            yield f"it has made {len(lasting)} commits to {uuid}"
        if uuid in committed and not entries and not _needs_none(run):
            yield f"it was acknowledged, and there is no commit to {uuid}"
        if run.outcome in (Outcome.FAILED, Outcome.BROKEN) and lasting and not run.operation.tidies:
            yield from _not_undone(run, lasting[0])
    yield from _wrong_order(ledger, run)


def _is_gone(ledger: Ledger, entry: Entry, run: Run) -> bool:
    """Whether a commit was gone before its call ended: deleted with its dataset, or overwritten by other software.

    Where the answer to its swap got lost, nobody can tell it from one that never took place.
    """
    if not {Fault.REPEAT, Fault.LOSE_ANSWER, Fault.LATE, Fault.BUSY} & set(run.faults):
        return False
    later = [one for one in entry.after() if one.life.born <= run.ended]
    overwritten = any(one.is_foreign and not _has_seen(ledger, one, entry) for one in later)
    died, by = entry.tip.life.died, entry.tip.life.ended_by
    return overwritten or (
        died is not None and died <= run.ended and by is not None and isinstance(by.operation, Delete)
    )


def _is_repeated(run: Run, entry: Entry, entries: Sequence[Entry]) -> bool:
    """Whether a commit was made again when nothing was left that told of it.

    That is so where a caller repeats the commit of staged partitions that others have removed, and where other software
    has replaced a header that removed partitions and added none. To remove them once more changes nothing.
    """
    before = set() if entry.parent is None else entry.parent.files.keys()
    later = [one for one in entries if one.life.born > entry.life.born]
    if later and entry.files.keys() <= before and entry.child is not None and entry.child.is_foreign:
        return True
    if not isinstance(run.operation, StageAndCommit):
        return False
    bases = [one.parent for one in later]
    return any(base is None or base.files.keys().isdisjoint(entry.files.keys() - before) for base in bases)


def _has_seen(ledger: Ledger, foreign: Entry, entry: Entry) -> bool:
    seen = ledger.seen_by(foreign)
    return seen is not None and any(one is entry for one in seen.back())


def _needs_none(run: Run) -> bool:
    """Whether a call may return without a commit: going back to where one is."""
    return isinstance(run.operation, Rollback)


def _not_undone(run: Run, entry: Entry) -> Iterator[str]:
    """Check that a commit of a call that failed was taken back, or that nothing is left of it."""
    if not isinstance(run.operation, CubeOperation):
        yield f"it failed, and was committed at {entry.life.born}"
        return
    was = Rows() if entry.parent is None else entry.parent.rows
    later = [one for one in entry.after() if one.life.born <= run.ended]
    gone = any(_is_made_anew(one) or (one.is_undo and one.run is run) for one in later)
    ended = entry.tip.life.died is not None and entry.tip.life.died <= run.ended
    if not gone and not ended and entry.rows != was:
        yield f"it failed, and what it committed to {entry.uuid} at {entry.life.born} was not taken back"


def _is_made_anew(entry: Entry) -> bool:
    operation = None if entry.run is None else entry.run.operation
    return isinstance(operation, WriteCube) and operation.mode in ("build", "extend") and not entry.is_undo


def _wrong_order(ledger: Ledger, run: Run) -> Iterator[str]:
    """Check that the seed is committed last, and that what it loses it loses first."""
    if not isinstance(run.operation, CubeOperation):
        return
    seed, other = (ledger.of_run(run, cube_uuid(name)) for name in (SEED, ENRICHMENT))
    if seed and other:
        seed_is_first = seed[0].life.born < other[0].life.born
        if seed_is_first != isinstance(run.operation, RemovePartitions):
            yield f"the seed was committed {'before' if seed_is_first else 'after'} the enrichment"


def wrong_read(ledger: Ledger, run: Run) -> Iterator[str]:
    """Check that readers saw a state that was there while they opened it."""
    if run.outcome is Outcome.DONE and isinstance(run.operation, Read):
        rows, labels = run.answer
        seen = [entry for entry in ledger.between(DATASET, run.started, run.ended) if entry is not None]
        if not any(_is_answer(entry, rows, labels) for entry in seen):
            states = [sorted(entry.rows.elements()) for entry in seen]
            yield f"it found {sorted(rows.elements())} and {labels}; the dataset was {states}"
    if run.outcome is Outcome.DONE and isinstance(run.operation, ReadVersion):
        rows, labels = run.answer
        # A commit of other software gets its number from whoever looks first.
        versions = [e for e in ledger.entries if e.is_foreign or e.version == run.operation.version]
        if not any(_is_answer(entry, rows, labels) for entry in versions):
            yield f"it found {sorted(rows.elements())} and {labels}, which no such version was"
    if run.outcome is Outcome.DONE and isinstance(run.operation, Query):
        seeds, others = (ledger.between(cube_uuid(name), run.started, run.ended) for name in (SEED, ENRICHMENT))
        others = [*others, None] if Fault.STALE in run.faults else others  # which datasets there are is listed
        possible = [
            expected_cells(Rows() if seed is None else seed.rows, Rows() if other is None else other.rows)
            for seed in seeds
            for other in others
        ]
        if run.answer not in possible:
            yield f"it found {sorted(run.answer)}; possible was {[sorted(one) for one in possible]}"
    absent = isinstance(run.error, CorruptDatasetError | NotFoundError) and Fault.STALE not in run.faults
    if isinstance(run.operation, Read | Query) and absent:
        yield from _wrong_absence(ledger, run)


def _is_answer(entry: Entry, rows: Rows, labels: dict[object, frozenset[str]]) -> bool:
    held = entry.postings("i1")
    return entry.rows == rows and all(held.get(value, set()) == found for value, found in labels.items())


def _wrong_absence(ledger: Ledger, run: Run) -> Iterator[str]:
    """Check that who found nothing, or not all, looked while the dataset was being created or deleted."""
    uuid = cube_uuid(SEED) if isinstance(run.operation, Query) else DATASET
    seen = ledger.between(uuid, run.started, run.ended)
    if not any(entry is None or entry.header.is_withdrawn or entry.tip.life.died is not None for entry in seen):
        yield "the dataset was there all the time"
