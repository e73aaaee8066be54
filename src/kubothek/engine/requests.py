"""How many requests reading a plan's files takes, foreseen from what headers record: sizes and numbers of rows.

A file costs one request for its footer, one more where its size is not known, and one per range of neighbouring column
chunks; Arrow fetches chunks together that are no further apart than a few kilobytes. A file that is no longer than what
is fetched with a footer costs one request in all. Columns of the condition are fetched before the others. What is
taken for granted: row groups as this library cuts them, chunks of about equal size, rows that match, and no row group
that statistics rule out; so the number is one to plan by, and more than is needed where statistics skip anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.data import SMALL_FILE_ROWS
from kubothek.engine.data_files import FOOTER_BYTES
from kubothek.engine.reading import SHARED_FILE, row_condition, wanted_columns
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.layout import ROWS_PER_ROW_GROUP

_HOLE = 8 * 2**10
"""Bytes between two column chunks up to which Arrow fetches both, and what is between them, with one request."""

_RANGE = 32 * 2**20
"""Bytes up to which Arrow puts neighbouring column chunks together."""

_BLOCK = 4 * 2**20
"""Bytes of a text file that are parsed at a time."""

Counts = npt.NDArray[np.int64]


def expected_requests(plan: ReadPlan, stored: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Return per input of a plan how many requests an object store gets when one process reads it.

    Parameters
    ----------
    plan
        What will be read.
    stored
        Per input all columns that its files have, in the order in which they are stored.
    """
    return tuple(_of_input(plan, number, names) for number, names in enumerate(stored))


def _of_input(plan: ReadPlan, number: int, stored: Sequence[str]) -> int:
    files, source = _distinct(plan.files[number]), plan.inputs[number]
    if files.num_rows == 0:
        return 0
    known = pc.is_valid(files.column("bytes")).to_numpy()
    sizes: Counts = files.column("bytes").fill_null(FOOTER_BYTES + 1).to_numpy()
    rows: Counts = files.column("rows").fill_null(1).to_numpy()
    uses: Counts = files.column("uses").to_numpy()
    tested = row_condition(source).columns | {column for at, column in plan.pinned if at == number}
    tested, wanted = tested & {*stored}, {*wanted_columns(plan, number)} & {*stored}
    merges = bool(plan.joins or plan.order)
    one, two = (_ranges(stored, names, sizes, rows, merges=merges) for names in (tested, wanted - tested))
    both = _ranges(stored, tested | wanted, sizes, rows, merges=merges)
    whole = _ranges(stored, {*source.record.names} & {*stored}, sizes, rows, merges=merges)
    shared = (uses > 1) & (~known | (sizes <= SHARED_FILE))
    ranges = np.where(shared, whole, np.where(rows <= SMALL_FILE_ROWS, both, one + two))
    each = np.where(known & (sizes <= FOOTER_BYTES), 1, 1 + ~known + ranges)
    text = ~pc.ends_with(files.column("key"), ".parquet").to_numpy()
    each[text] = (2 * ~known + 1 + -(-sizes // _BLOCK))[text]
    return int((each * np.where(shared, 1, uses)).sum())


def _distinct(files: pa.Table) -> pa.Table:
    """Return each file once, with the number of units that read it as ``uses``."""
    wanted = files.select(["key", "rows", "bytes"])
    found = wanted.group_by("key", use_threads=False).aggregate([("key", "count"), ("rows", "min"), ("bytes", "min")])
    return found.rename_columns({"key_count": "uses", "rows_min": "rows", "bytes_min": "bytes"}).combine_chunks()


def _ranges(stored: Sequence[str], columns: Collection[str], sizes: Counts, rows: Counts, *, merges: bool) -> Counts:
    """Return for each file of how many ranges these columns are; ``merges`` says whether row groups are read at once.

    The chunks of ``b`` and ``d`` are two ranges in each row group, if ``c`` is larger than a hole, and so are those
    of ``d`` and of the next row group's ``b``::

        a  b  c  d  |  a  b  c  d
           -     -        -     -
    """
    places = [place for place, name in enumerate(stored) if name in columns]
    if not places:
        return np.zeros(len(sizes), np.int64)
    groups = np.maximum(-(-rows // ROWS_PER_ROW_GROUP), 1)
    chunk = sizes // (len(stored) * groups)
    holes = np.diff(places) - 1
    apart = (holes[:, None] * chunk > _HOLE).sum(axis=0)
    largest = len(places) * chunk
    found: Counts = groups * (1 + apart + largest // _RANGE)
    if merges:
        between = (places[0] + len(stored) - 1 - places[-1]) * chunk > _HOLE
        found = groups * (1 + apart) - (groups - 1) * ~between + groups * largest // _RANGE
    return found
