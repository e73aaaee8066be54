"""What must be true of every header that was put, whether or not anybody was told: its rows, its number, its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubothek.codec.kept_header import encode_kept
from kubothek.codec.keys import history_prefix, parse_version_key
from kubothek.model.header import CommitState
from kubothek.testing.simulation.cube_operations import (
    WriteCube,
)
from kubothek.testing.simulation.dataset_operations import (
    CreateEmpty,
    Rollback,
    StageAndCommit,
    Write,
)
from kubothek.testing.simulation.ledger import Entry, Ledger
from kubothek.testing.simulation.objects import Life
from kubothek.testing.simulation.runs import Fault, Outcome, Rows, Run

_RECENT = 64


def wrong_header(ledger: Ledger, entry: Entry) -> Iterator[str]:
    """Check rows, indices and number of a header, and what it was made on."""
    if entry.gives_way:
        return
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
        if Fault.STALE in run.faults and any(one.is_foreign for one in entry.back()):
            return None  # the number of what other software has put is what a listing told
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
        # Other software keeps the time of creation, and by that it is known what it goes on from.
        same = (e for e in parent.back() if e.created == parent.created)
        ours = next((e for e in same if e.state is not None and _copies(ledger, e, parent.life.born)), None)
        known = None if ours is None else ours.state
        if known is not None and not _continues(state, known) and _is_well_numbered(ledger, entry, state):
            yield f"it follows a foreign commit on version {known.version}, and not as the same dataset"
        yield from _wrong_report(ledger, entry, parent)
        return
    last = parent.state
    if (state.version, state.incarnation) != (last.version + 1, last.incarnation):
        yield f"it replaced version {last.version} of {last.incarnation!r} as a version of {state.incarnation!r}"
    if state.recent != (*last.recent, state.commit)[-_RECENT:]:
        yield f"its recent ids are {state.recent}, after {last.recent}"
    if state.oldest < last.oldest:
        yield f"versions from {state.oldest} on are retained, after {last.oldest}"


def _is_well_numbered(ledger: Ledger, entry: Entry, state: CommitState) -> bool:
    """Whether all listings were up to date by which the header of other software below one got its number."""
    keepers = ledger.keepers(entry.uuid, state.incarnation, state.version - 1, entry.life.born)
    return not any(run is not None and Fault.STALE in run.faults for run in (entry.run, *keepers))


def _continues(state: CommitState, ours: CommitState) -> bool:
    """Whether a header goes on from one of ours, with that of other software between them."""
    return state.incarnation == ours.incarnation and state.version >= ours.version + 2


def _wrong_base(ledger: Ledger, entry: Entry, run: Run) -> Iterator[str]:
    """Check that a commit was made on what it may be made on."""
    operation, parent = run.operation, entry.parent
    while parent is not None and parent.is_request and parent.run is run:
        parent = parent.parent
    if isinstance(operation, CreateEmpty) or (isinstance(operation, Write) and not operation.overwrite):
        if parent is not None and not parent.header.is_withdrawn:
            yield "it was to be new, and replaced another"
        return
    if entry.is_undo or entry.is_request or parent is None or operation.tidies:
        return
    if isinstance(operation, Write | StageAndCommit):
        return
    base = ledger.base(run, entry.uuid)
    if base is None or base.header.is_withdrawn:
        return
    if isinstance(operation, Rollback) and base is not parent:
        yield "it was made on another version than the one it was prepared for"
    if isinstance(operation, WriteCube) and operation.mode in ("build", "extend"):
        return
    if base.created != parent.created:
        yield "it was made on another dataset than the one it was prepared for"


def wrong_files(ledger: Ledger, entry: Entry) -> Iterator[str]:
    """Check that all files were there as long as anybody may read the header, or its kept copy."""
    lives = ledger.objects.lives
    retained = _retained_until(ledger, entry)
    for key in entry.keys:
        if not any(life.spans(entry.life.born, retained) for life in lives.get(key, ())):
            until = "the end" if retained is None else f"moment {retained}"
            yield f"{key} was not there from moment {entry.life.born} until {until}: {_story(lives.get(key, ()))}"
    child = entry.child
    if child is None or entry.state is None or (child.is_foreign and not _was_told(entry, child.life.born)):
        return
    copies = _copies(ledger, entry, child.life.born)
    if not any(life.spans(child.life.born, retained) for life in copies):
        yield f"its copy was not kept when it was replaced at {child.life.born}, until {retained}: {_story(copies)}"


def _was_told(entry: Entry, before: int) -> bool:
    """Whether the caller knew before a moment that it was committed, and nothing had kept it from being kept."""
    run = entry.run
    return run is not None and run.outcome is Outcome.DONE and run.ended < before and not run.faults


def _wrong_report(ledger: Ledger, entry: Entry, foreign: Entry) -> Iterator[str]:
    """Check that who goes on from a foreign header notes the commits that were overwritten, where these only added."""
    seen, run = ledger.seen_by(foreign), entry.run
    if seen is None or entry.state is None or run is None or foreign.parent is None:
        return
    if not _is_well_numbered(ledger, entry, entry.state):
        return
    lost = [one for one in foreign.parent.back() if one.life.born > seen.life.born]
    if not all(one.adds_only and one.state is not None and _copies(ledger, one, foreign.life.born) for one in lost):
        return
    expected = {one.state.commit for one in lost if one.state is not None}
    adopted = ledger.kept(entry.uuid, entry.state.incarnation, entry.state.version - 1)
    reports = [set(state.info.overwrote) for state in adopted if state.info is not None]
    if not any(expected <= report for report in reports):
        yield f"other software has overwritten {sorted(expected)}, and the history says {reports}"


def _copies(ledger: Ledger, entry: Entry, before: int) -> list[Life]:
    """Return the copies of a header that were put before a moment."""
    if entry.state is None:
        return []
    prefix = history_prefix(entry.uuid, entry.state.incarnation)
    lives = [life for key, lives in ledger.objects.lives.items() if key.startswith(prefix) for life in lives]
    return [life for life in lives if life.born < before and _is_copy(life, entry)]


def _retained_until(ledger: Ledger, entry: Entry) -> int | None:
    """Return the moment from which on a version need not be readable; ``None`` for never."""
    version, child = entry.version, entry.child
    adopted = (later.life.born for later in entry.after() if not later.is_foreign)
    if child is not None and child.is_foreign and not _copies(ledger, entry, next(adopted, ledger.objects.moment + 1)):
        return child.life.born  # nobody had kept it when the foreign header got its number
    for later in entry.after():
        if version is None or _gives_up(later, entry, version):
            return later.life.born
    return entry.tip.life.died


def _gives_up(later: Entry, entry: Entry, version: int) -> bool:
    """Whether from a header on a version is not retained, or not known any more."""
    if later.state is None:
        return False
    is_other = entry.state is not None and later.state.incarnation != entry.state.incarnation
    return later.state.oldest > version or is_other


def _is_copy(life: Life, entry: Entry) -> bool:
    """Whether an object is a copy of a header, byte by byte."""
    named = parse_version_key(life.key)
    ours = named is not None and entry.state is not None and named[2] == entry.state.commit
    return ours and encode_kept(entry.life.data, entry.header.format) == life.data


def _story(lives: Sequence[Life]) -> str:
    """Say from when until when something was there."""
    known = [(life.born, life.died) for life in lives]
    return f"it was there at {known}" if known else "it never was"
