"""What must be true of any simulation, whatever went wrong in it: each check returns what it finds, in words.

The rules of history are about every header that was put, whether or not anybody was told; those of calls about what
callers were told; those of reads about what readers saw.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubothek.codec.kept_header import decode_kept
from kubothek.codec.keys import history_prefix, parse_version_key
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CorruptDatasetError,
    InvalidInputError,
    NotFoundError,
)
from kubothek.model.header import CommitState
from kubothek.plan.apply import CREATION_TIME
from kubothek.testing.simulation.cube_operations import (
    ENRICHMENT,
    SEED,
    CleanUpCube,
    CubeOperation,
    Query,
    RemovePartitions,
    WriteCube,
    cube_uuid,
    expected_cells,
)
from kubothek.testing.simulation.dataset_operations import (
    DATASET,
    CollectGarbage,
    CreateEmpty,
    Delete,
    Read,
    ReadVersion,
    Rollback,
    StageAndCommit,
    Write,
)
from kubothek.testing.simulation.foreign import ForeignUpdate
from kubothek.testing.simulation.ledger import Entry, Ledger
from kubothek.testing.simulation.objects import Life
from kubothek.testing.simulation.runs import Fault, Outcome, Rows, Run

_HONEST = (AlreadyExistsError, NotFoundError, CommitConflictError, InvalidInputError)
_RECENT = 64
_TIDYING = (CollectGarbage, CleanUpCube)
"""What may fail after it has committed, since its commit changes nothing that anybody reads."""


def find_violations(ledger: Ledger, runs: list[Run]) -> Iterator[str]:
    """Yield everything that must not be."""
    for entry in ledger.entries:
        for problem in (*_wrong_header(ledger, entry), *_wrong_files(ledger, entry)):
            yield f"{_name(entry)}: {problem}"
    calm = not any(run.faults for run in runs)
    for run in runs:
        for problem in (*_wrong_outcome(run, runs, calm=calm), *_wrong_commits(ledger, run), *_wrong_read(ledger, run)):
            yield f"{run}: {problem}"
    for entry in ledger.entries:
        if entry.child is None:
            yield from _wrong_end(ledger, entry)


def _name(entry: Entry) -> str:
    what = "foreign" if entry.state is None else f"version {entry.state.version} ({entry.state.commit})"
    return f"{entry.life.key} at {entry.life.born}, {what} by {entry.run}"


# Of each header


def _wrong_header(ledger: Ledger, entry: Entry) -> Iterator[str]:
    yield from _wrong_rows(ledger, entry)
    for column in entry.header.indices:
        said, held = entry.index(column), entry.postings(column)
        if said is not None and said != held:
            yield f"the index on {column!r} says {said}, and the files hold {held}"
    if entry.state is None or entry.run is None:
        return
    if entry.state.commit not in entry.run.ids and entry.run.outcome is not Outcome.DIED:
        yield "it has the id of somebody else"
    yield from _wrong_lineage(ledger, entry, entry.state)
    yield from _wrong_base(ledger, entry, entry.run)


def _wrong_rows(ledger: Ledger, entry: Entry) -> Iterator[str]:
    expected = _expected_rows(ledger, entry)
    if expected is not None and entry.rows != expected:
        yield (
            f"its rows are {sorted(entry.rows.elements())}, expected {sorted(expected.elements())}, after "
            f"{'nothing' if entry.parent is None else sorted(entry.parent.rows.elements())}"
        )


def _expected_rows(ledger: Ledger, entry: Entry) -> Rows | None:
    """Return the rows that a header is to have, by the model of what was done; ``None`` where none is known."""
    run = entry.run
    before = Rows() if entry.parent is None else entry.parent.rows
    if run is None:
        return None
    if entry.is_foreign:
        seen = ledger.seen_by(entry)
        return None if seen is None else run.operation.rows_after(entry.uuid, seen.rows)
    if entry.is_request:
        return before
    if entry.is_undo:
        return _undone(ledger, run, entry, before)
    if isinstance(run.operation, Rollback):
        wanted = [e for e in entry.back() if e is not entry and e.version == run.operation.to]
        return wanted[0].rows if wanted else None
    return run.operation.rows_after(entry.uuid, before)


def _undone(ledger: Ledger, run: Run, entry: Entry, before: Rows) -> Rows:
    """Return rows without what a run has added before, and with what it has removed."""
    for done in ledger.of_run(run, entry.uuid):
        was = Rows() if done.parent is None else done.parent.rows
        before = before - (done.rows - was) + (was - done.rows)
    return before


def _wrong_lineage(ledger: Ledger, entry: Entry, state: CommitState) -> Iterator[str]:
    """Check number and ids against those of the header that was replaced."""
    parent = entry.parent
    if parent is None:
        if state.version != 1 or state.recent != (state.commit,):
            yield f"it is the first of its dataset, but has number {state.version} and the ids {state.recent}"
        return
    if parent.state is None:
        ours = next((e for e in parent.back() if e.state is not None and _copies(ledger, e, parent.life.born)), None)
        if ours is not None and ours.state is not None and not _continues(state, ours.state):
            yield f"it follows a foreign commit on version {ours.state.version}, and not as the same dataset"
        return
    last = parent.state
    if (state.version, state.incarnation) != (last.version + 1, last.incarnation):
        yield f"it replaced version {last.version} of {last.incarnation!r} as a version of {state.incarnation!r}"
    if state.recent != (*last.recent, state.commit)[-_RECENT:]:
        yield f"its recent ids are {state.recent}, after {last.recent}"
    if state.oldest < last.oldest:
        yield f"versions from {state.oldest} on are retained, after {last.oldest}"


def _continues(state: CommitState, ours: CommitState) -> bool:
    """Whether a header goes on from one of ours, with that of other software between them."""
    return state.incarnation == ours.incarnation and state.version >= ours.version + 2


def _wrong_base(ledger: Ledger, entry: Entry, run: Run) -> Iterator[str]:
    """Check that a commit was made on what it may be made on."""
    operation, parent = run.operation, entry.parent
    while parent is not None and parent.is_request and parent.run is run:
        parent = parent.parent
    if isinstance(operation, CreateEmpty) or (isinstance(operation, Write) and not operation.overwrite):
        if parent is not None:
            yield "it was to be new, and replaced another"
        return
    if entry.is_undo or entry.is_request or parent is None or isinstance(operation, (Write, StageAndCommit, *_TIDYING)):
        return
    base = ledger.base(run, entry.uuid)
    if base is None:
        return
    if isinstance(operation, Rollback) and base is not parent:
        yield "it was made on another version than the one it was prepared for"
    if isinstance(operation, WriteCube) and operation.mode in ("build", "extend"):
        return
    if base.header.metadata.get(CREATION_TIME) != parent.header.metadata.get(CREATION_TIME):
        yield "it was made on another dataset than the one it was prepared for"


def _wrong_files(ledger: Ledger, entry: Entry) -> Iterator[str]:
    """Check that all files were there as long as anybody may read the header, or its kept copy."""
    lives = ledger.objects.lives
    retained = _retained_until(entry)
    for key in entry.keys:
        if not any(life.spans(entry.life.born, retained) for life in lives.get(key, ())):
            until = "the end" if retained is None else f"moment {retained}"
            yield f"{key} was not there from moment {entry.life.born} until {until}: {_story(lives.get(key, ()))}"
    child = entry.child
    if child is None or entry.is_foreign or child.is_foreign or entry.state is None:
        return
    copies = _copies(ledger, entry, child.life.born)
    if not any(life.spans(child.life.born, retained) for life in copies):
        yield f"its copy was not kept when it was replaced at {child.life.born}, until {retained}: {_story(copies)}"


def _copies(ledger: Ledger, entry: Entry, before: int) -> list[Life]:
    """Return the copies of a header that were put before a moment."""
    if entry.state is None:
        return []
    prefix = history_prefix(entry.uuid, entry.state.incarnation)
    lives = [life for key, lives in ledger.objects.lives.items() if key.startswith(prefix) for life in lives]
    return [life for life in lives if life.born < before and _is_copy(life, entry)]


def _retained_until(entry: Entry) -> int | None:
    """Return the moment from which on a version need not be readable; ``None`` for never."""
    version = entry.version
    for later in entry.after():
        if version is None or (later.state is not None and later.state.oldest > version):
            return later.life.born
    return entry.tip.life.died


def _is_copy(life: Life, entry: Entry) -> bool:
    named = parse_version_key(life.key)
    if named is None or entry.state is None or named[2] != entry.state.commit:
        return False
    return decode_kept(life.data, life.key, entry.uuid).state == entry.state


def _story(lives: object) -> str:
    """Say from when until when something was there."""
    known = [(life.born, life.died) for life in lives]  # type: ignore[attr-defined]
    return f"it was there at {known}" if known else "it never was"


# Of each call


def _wrong_outcome(run: Run, runs: list[Run], *, calm: bool) -> Iterator[str]:
    """Check that errors have a reason."""
    if run.outcome is Outcome.ABSURD:
        yield "no such error is raised on purpose"
    elif calm and run.outcome is not Outcome.DONE and not isinstance(run.error, _HONEST):
        deletions = [one for one in runs if isinstance(one.operation, Delete)]
        if not any(one.started <= run.ended and one.ended >= run.started for one in deletions):
            yield "nothing had gone wrong"


def _wrong_commits(ledger: Ledger, run: Run) -> Iterator[str]:
    """Check that what was acknowledged took place once, what failed never, and the rest once at most."""
    committed = run.operation.committed(run.answer) if run.outcome is Outcome.DONE else ()
    for uuid in run.operation.uuids:
        entries = ledger.of_run(run, uuid)
        lasting = [entry for entry in entries if not _is_gone(ledger, entry, run)]
        if len(lasting) > 1:
            yield f"it has made {len(lasting)} commits to {uuid}"
        if uuid in committed and not entries and not _needs_none(run):
            yield f"it was acknowledged, and there is no commit to {uuid}"
        if run.outcome in (Outcome.FAILED, Outcome.BROKEN) and lasting and not isinstance(run.operation, _TIDYING):
            yield from _not_undone(run, lasting[0])
    yield from _wrong_order(ledger, run)


def _is_gone(ledger: Ledger, entry: Entry, run: Run) -> bool:
    """Whether a commit was gone before its call ended: deleted with its dataset, or overwritten by other software.

    Where the answer to its swap got lost, nobody can tell it from one that never took place.
    """
    if not {Fault.REPEAT, Fault.LOSE_ANSWER, Fault.LATE} & set(run.faults):
        return False
    later = [one for one in entry.after() if one.life.born <= run.ended]
    overwritten = any(one.is_foreign and not _has_seen(ledger, one, entry) for one in later)
    died, by = entry.tip.life.died, entry.tip.life.ended_by
    return overwritten or (
        died is not None and died <= run.ended and by is not None and isinstance(by.operation, Delete)
    )


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


# Of each read


def _wrong_read(ledger: Ledger, run: Run) -> Iterator[str]:
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


# Of each line of headers


def _wrong_end(ledger: Ledger, tip: Entry) -> Iterator[str]:
    """Check that a line ends with the header that counts, or because the dataset was deleted or taken back."""
    ended_by = tip.life.ended_by
    if tip.life.died is None:
        current = ledger.current(tip.uuid)
        why = None if current is None or tip is current else f"it is hidden by {current.life.key}"
    elif ended_by is not None and isinstance(ended_by.operation, Delete):
        why = None
    else:
        why = None if tip.header.is_withdrawn else f"it was deleted by {ended_by}"
    if why is None:
        return
    for entry in () if tip.is_taken_back else tip.back():
        run = entry.run
        done = run is not None and run.outcome is Outcome.DONE
        if (
            run is not None
            and done
            and run.operation.committed(run.answer)
            and not isinstance(run.operation, ForeignUpdate)
        ):
            yield f"{_name(entry)}: it was acknowledged, and is lost: {why}"
