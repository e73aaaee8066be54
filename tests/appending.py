"""Processes that append to one dataset, row after row, and what must be in it afterwards.

Each attempt to append a row has an id of its own, which is in the row, so that the dataset itself tells which attempts
took place. A writer prints each before it begins, and then what came of it::

    tries 5f2c…
    acknowledged 5f2c…     the call returned: the row is there once
    refused 91ab…          an error that says that nothing was committed: it is not there; the row is tried again
    unknown 77c0…          CommitStateUnknownError: it is there once or not; the row is tried again

An attempt without an outcome is that of a process that was killed, and as unknown. Run as a script, this is the writer.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

import kubothek as kb
from kubothek.dataset.snapshot import find_snapshot
from kubothek.dataset.versions import list_kept, load_kept_state
from kubothek.errors import CommitConflictError, CommitStateUnknownError, StoreError
from kubothek.store.interface import Store

UUID = "d"


@dataclass(frozen=True, slots=True)
class Tally:
    """The attempts of writers by what is known of them; ``tried`` are all."""

    tried: frozenset[str] = frozenset()
    acknowledged: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()

    def __add__(self, other: Tally) -> Tally:
        """Return the attempts of both."""
        return Tally(
            self.tried | other.tried,
            self.acknowledged | other.acknowledged,
            self.refused | other.refused,
            self.unknown | other.unknown,
        )


def command(store: Store, writer: str, rows: int) -> list[str]:
    """Return the command line of a writer that goes on until so many rows are acknowledged.

    Each writer has a partition of its own, and all share an index.
    """
    return [sys.executable, "-W", "error", __file__, pickle.dumps(store).hex(), writer, str(rows)]


def appended(store: Store, writers: Iterable[str], rows: int) -> Tally:
    """Let writers append so many rows each, all at the same time; no error that they do not count may end them."""
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command(store, name, rows), stdout=pipe, stderr=pipe, text=True) for name in writers]
    ended = [writer.communicate() for writer in started]
    for writer, (_, errors) in zip(started, ended, strict=True):
        assert writer.returncode == 0, errors
        assert errors == ""
    return sum((told(output) for output, _ in ended), Tally())


def told(output: str) -> Tally:
    """Read what a writer printed; a last line that was cut short says nothing."""
    named: dict[str, set[str]] = defaultdict(set)
    for line in output.splitlines(keepends=True):
        word, _, attempt = line.partition(" ")
        if attempt.endswith("\n"):
            named[word].add(attempt.rstrip("\n"))
    known = {word: frozenset(named[word]) for word in ("acknowledged", "refused")}
    tried = frozenset(named["tries"])
    return Tally(tried, **known, unknown=tried - known["acknowledged"] - known["refused"])


def check(store: Store, tally: Tally) -> None:
    """Compare a dataset that was only appended to with what its writers were told: its rows, and its versions.

    Versions follow each other without a gap; each has the partition of one append, or none where a writer that had lost
    many times asked the others to wait.
    """
    check_rows(store, tally)
    snapshot = find_snapshot(UUID, store)
    assert snapshot is not None
    now = snapshot.header.state
    assert now is not None
    kept = list_kept(UUID, store, now.incarnation)
    states = [load_kept_state(one, UUID, store) for one in kept if one.version < now.version] + [now]
    assert len(kept) in (now.version, now.version - 1)  # who replaces the last one makes sure that it is kept
    assert [state.version for state in states] == list(range(1, now.version + 1))
    added = [state.info.added for state in states if state.info is not None]
    assert (len(added), sum(added), max(added)) == (len(states), snapshot.partitions.num_rows, 1)


def check_rows(store: Store, tally: Tally) -> None:
    """Compare the rows of a dataset and its index with what its writers were told."""
    dataset = kb.open_dataset(UUID, store)
    rows = dataset.scan().to_arrow()
    found = Counter(rows["v1"].to_pylist())
    assert {attempt: times for attempt, times in found.items() if times > 1} == {}, "written twice"
    assert tally.acknowledged - set(found) == frozenset(), "acknowledged and lost"
    assert tally.refused & set(found) == frozenset(), "refused and there"
    assert set(found) <= tally.tried
    assert len(dataset.partitions) == len(found)
    index = dataset.load_index("i1")
    for number, times in Counter(rows["i1"].to_pylist()).items():
        assert len(index.eval_operator("==", number)) == times
    assert kb.verify_dataset(UUID, store) == []


def append(store: Store, writer: str, number: int) -> str:
    """Try once to append a row and return what came of it."""
    attempt = uuid.uuid4().hex
    print(f"tries {attempt}", flush=True)  # noqa: T201  whoever started it reads this
    row = pa.table({"p": [writer], "i1": [number], "v1": [attempt]})
    try:
        kb.update_dataset(row, UUID, store, partition_on="p", secondary_indices="i1")
    except CommitStateUnknownError:
        outcome = "unknown"
    except (StoreError, CommitConflictError):
        outcome = "refused"
    else:
        outcome = "acknowledged"
    print(f"{outcome} {attempt}", flush=True)  # noqa: T201  whoever started it reads this
    return outcome


def main() -> None:
    """Append as the arguments say."""
    store, writer, rows = pickle.loads(bytes.fromhex(sys.argv[1])), sys.argv[2], int(sys.argv[3])
    for number in range(rows):
        while append(store, writer, number) != "acknowledged":
            pass


if __name__ == "__main__":
    main()
