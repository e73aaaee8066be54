"""What must be true of any simulation, whatever went wrong in it: each check yields what it finds, in words.

Those of :mod:`kubothek.testing.simulation.header_checks` are about every header, those of
:mod:`kubothek.testing.simulation.call_checks` about every call. Here is what both mean together: no line of headers in
which something was acknowledged ends but with the dataset.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubothek.testing.simulation.call_checks import wrong_commits, wrong_outcome, wrong_read
from kubothek.testing.simulation.dataset_operations import Delete
from kubothek.testing.simulation.foreign import ForeignUpdate
from kubothek.testing.simulation.header_checks import wrong_files, wrong_header
from kubothek.testing.simulation.ledger import Entry, Ledger
from kubothek.testing.simulation.runs import Outcome, Run


def find_violations(ledger: Ledger, runs: list[Run]) -> Iterator[str]:
    """Yield everything that must not be."""
    for entry in ledger.entries:
        for problem in (*wrong_header(ledger, entry), *wrong_files(ledger, entry)):
            yield f"{_name(entry)}: {problem}"
    calm = not any(run.faults for run in runs)
    for run in runs:
        for problem in (*wrong_outcome(run, runs, calm=calm), *wrong_commits(ledger, run), *wrong_read(ledger, run)):
            yield f"{run}: {problem}"
    for entry in ledger.entries:
        if entry.child is None:
            yield from _wrong_end(ledger, entry)


def _name(entry: Entry) -> str:
    what = "foreign" if entry.state is None else f"version {entry.state.version} ({entry.state.commit})"
    return f"{entry.life.key} at {entry.life.born}, {what} by {entry.run}"


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
    for entry in () if tip.is_taken_back or tip.gives_way else tip.back():
        run = entry.run
        if run is None or run.outcome is not Outcome.DONE or isinstance(run.operation, ForeignUpdate):
            continue
        if run.operation.committed(run.answer):
            yield f"{_name(entry)}: it was acknowledged, and is lost: {why}"
