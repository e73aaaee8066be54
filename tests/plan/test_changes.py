"""Which files came between two versions, and which went."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kubothek.plan.changes import compare_files


def version(**files: str | None) -> pa.Table:
    """Return the partitions of a version: label to file of table ``t``."""
    columns = {"label": pa.array(list(files), pa.string()), "file/t": pa.array(list(files.values()), pa.string())}
    return pa.table(columns)


NONE = version()
CASES = {
    "nothing happened": (version(a="1"), version(a="1"), [], []),
    "one came": (version(a="1"), version(a="1", b="2"), ["b"], []),
    "one went": (version(a="1", b="2"), version(b="2"), [], ["a"]),
    "a file was replaced": (version(a="1"), version(a="2"), ["a"], ["a"]),
    "all at first": (NONE, version(b="2", a="1"), ["b", "a"], []),
    "all went": (version(a="1"), NONE, [], ["a"]),
    "partitions without the table": (version(a=None), version(a=None, b=None, c="1"), ["c"], []),
    "none before": (None, version(a="1"), ["a"], []),
}


@pytest.mark.parametrize(("before", "after", "added", "removed"), CASES.values(), ids=CASES)
def test_files_are_compared(before: pa.Table | None, after: pa.Table, added: list[str], removed: list[str]) -> None:
    """A file is told by its key, so that one under an old label is new; the order is that of the header."""
    found = compare_files(before, after, "t")
    assert (found.added["label"].to_pylist(), found.removed["label"].to_pylist()) == (added, removed)


def test_another_table_does_not_count() -> None:
    """What changes in one table alone is no change of another, and a table that is not there has no files."""
    before = pa.table({"label": ["a"], "file/t": ["1"], "file/u": ["1"]})
    after = pa.table({"label": ["a"], "file/t": ["1"], "file/u": ["2"]})
    counts = {name: compare_files(before, after, name).added.num_rows for name in ("t", "u", "w")}
    assert counts == {"t": 0, "u": 1, "w": 0}
