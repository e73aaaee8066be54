"""When all is over: one more client, to which nothing happens, changes, reads and verifies everything, and tidies up.

What a client that died, or a request that failed, may leave behind for good is told in :data:`_EXCUSED`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubothek.codec.header import decode_header
from kubothek.codec.keys import header_keys, history_prefix, parse_version_key, schema_key
from kubothek.model.header import SINGLE_TABLE
from kubothek.testing.simulation.client import ClientStore, Simulation
from kubothek.testing.simulation.cube_operations import (
    ENRICHMENT,
    SEED,
    CheckCube,
    CleanUpCube,
    Query,
    WriteCube,
)
from kubothek.testing.simulation.dataset_operations import (
    DATASET,
    CollectGarbage,
    Read,
    ReadHistory,
    ReadVersion,
    Update,
    Verify,
)
from kubothek.testing.simulation.ledger import Entry, Ledger
from kubothek.testing.simulation.runs import Operation, Outcome, Run

_DAYS = 3 * 86400.0
_VERIFIED, _TIDIED = 4, 2
"""Every how many schedules that is done at the end, since it takes as long as all the rest."""
_EXCUSED = {"missing_schema_copy", "wrong_schema_copy"}
"""Copies beside the data are no part of a commit: whoever was to put them may have died."""
_FOREIGN = {"overwritten_commit"}
"""What other software has overwritten is reported for good."""


def dataset_leftovers(simulation: Simulation, seed: int) -> Iterator[str]:
    """Yield what does not work with the dataset, or lies about."""
    last = ClientStore("last client", simulation, f"{seed}")
    found = [(key, simulation.objects.now.get(key)) for key in header_keys(DATASET)]
    exists = any(life is not None and not decode_header(life.data, key).is_withdrawn for key, life in found)
    change = Update(((9001, 1, "a"),), names_layout=not exists)
    did = _do(simulation, last, [change])
    if not _are_done(did):  # of two datasets that were created at once, it had seen the one that then gave way
        did = _do(simulation, last, [change])
    did += _do(simulation, last, [Read()])
    yield from _failures(did)
    if _are_done(did) and seed % _VERIFIED == 0:
        yield from _wrong_versions(simulation, last)
    if _are_done(did) and seed % _TIDIED == 0:
        yield from _tidied(simulation, last, CollectGarbage(1))


def cube_leftovers(simulation: Simulation, seed: int) -> Iterator[str]:
    """Yield what does not work with the cube, or lies about."""
    last = ClientStore("last client", simulation, f"{seed}")
    both = ((SEED, ((9001, 1, 9001),)), (ENRICHMENT, ((9002, 1, 9001),)))
    did = _do(simulation, last, [WriteCube("append", both)])
    if not _are_done(did):  # it was never complete
        did = _do(simulation, last, [WriteCube("build", both, overwrite=True)])
    did += _do(simulation, last, [Query()])
    yield from _failures(did)
    if _are_done(did) and seed % _VERIFIED == 0:
        [check] = _do(simulation, last, [CheckCube()])
        yield from _wrong_problems(simulation, check)
    if _are_done(did) and seed % _TIDIED == 0:
        yield from _tidied(simulation, last, CleanUpCube(1))


def _wrong_versions(simulation: Simulation, client: ClientStore) -> Iterator[str]:
    """Verify the dataset, and read the oldest version that it has."""
    history, check = _do(simulation, client, [ReadHistory(), Verify()])
    yield from _failures([history])
    yield from _wrong_problems(simulation, check)
    if history.outcome is Outcome.DONE:
        versions = [entry.version for entry in history.answer]
        if versions != list(range(versions[0], versions[-1] - 1, -1)):
            yield f"the history has gaps: {versions}"
        current = Ledger(simulation.objects).current(DATASET)
        absent = {entry.version for entry in (current.back() if current else ()) if entry.header.is_withdrawn}
        own = [entry.version for entry in history.answer if not entry.is_foreign and entry.version not in absent]
        yield from _failures(_do(simulation, client, [ReadVersion(min(own))]))


def _do(simulation: Simulation, client: ClientStore, plan: Sequence[Operation]) -> list[Run]:
    begun = len(simulation.runs)
    simulation.run_alone(client, plan)
    return simulation.runs[begun:]


def _are_done(runs: Sequence[Run]) -> bool:
    return all(run.outcome is Outcome.DONE for run in runs)


def _failures(runs: Sequence[Run]) -> Iterator[str]:
    return (f"nothing is wrong any more, and yet: {run}" for run in runs if run.outcome is not Outcome.DONE)


def _wrong_problems(simulation: Simulation, check: Run) -> Iterator[str]:
    yield from _failures([check])
    if check.outcome is Outcome.DONE:
        faulty = any(run.faults for run in simulation.runs)
        excused = _FOREIGN | (_EXCUSED if faulty else set())
        yield from (f"at the end there is {problem}" for problem in check.answer if problem.kind not in excused)


def _tidied(simulation: Simulation, client: ClientStore, collect: Operation) -> Iterator[str]:
    """Collect garbage twice, since what the first gave up is young then; yield what does not belong to a dataset."""
    for _ in range(2):
        simulation.objects.clock.advance(_DAYS)
        yield from _failures(_do(simulation, client, [collect]))
    ledger = Ledger(simulation.objects)
    live = [entry for uuid in collect.uuids if (entry := ledger.current(uuid)) is not None]
    needed = {key for entry in live for key in _needed(entry)}
    there = {key for key in simulation.objects.now if not _is_retained(key, live)}
    if there - needed:
        yield f"the collection of garbage has left {sorted(there - needed)}"
    if needed - there - _schema_copies(live):
        yield f"the collection of garbage has deleted {sorted(needed - there)}"


def _needed(entry: Entry) -> Iterator[str]:
    yield entry.life.key
    yield from entry.keys
    yield schema_key(entry.uuid, SINGLE_TABLE)


def _schema_copies(live: Sequence[Entry]) -> set[str]:
    return {schema_key(entry.uuid, SINGLE_TABLE) for entry in live}


def _is_retained(key: str, live: Sequence[Entry]) -> bool:
    """Whether an object is the copy of a header that stays."""
    named = parse_version_key(key)
    return named is not None and any(
        entry.state is not None
        and key.startswith(history_prefix(entry.uuid, entry.state.incarnation))
        and named[0] >= entry.state.oldest
        for entry in live
    )
