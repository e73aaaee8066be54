"""How many requests reading a plan's files takes, foreseen from what headers record: sizes and numbers of rows.

A file that is fetched whole costs one request; another one for its footer, and one per range of neighbouring column
chunks (:mod:`kubothek.plan.ranges` has the rule). Columns of the condition are fetched before the others unless these
are not worth a round trip. What is taken for granted: row groups as this library cuts them, chunks of about equal size,
rows that match, and no row group that statistics rule out; so the number is one to plan by, and more than is needed
where statistics skip anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.possible_groups import SMALL_FILE_ROWS
from kubothek.engine.reading import row_condition, wanted_columns
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.keys import ends_differ
from kubothek.plan.layout import ROWS_PER_ROW_GROUP
from kubothek.plan.ranges import (
    FOOTER_BYTES,
    HOLE_BYTES,
    REQUEST_BYTES,
    ROUND_TRIP_BYTES,
    fits_request,
    vain_bytes,
)
from kubothek.plan.tasks import SHARED_FILE

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


@dataclass(frozen=True, slots=True, eq=False)
class _Files:
    """Facts of files that are read alike: one entry per file.

    ``known`` says whether the size is; ``merges`` whether all row groups of a file are fetched at once.
    """

    stored: Sequence[str]
    sizes: Counts
    rows: Counts
    known: npt.NDArray[np.bool_]
    merges: bool

    @property
    def groups(self) -> Counts:
        """Row groups of each file."""
        return np.maximum(-(-self.rows // ROWS_PER_ROW_GROUP), 1)

    def chunks(self, rows: Counts) -> Counts:
        """Return the bytes of each column chunk in a row group of so many rows."""
        return self.sizes * rows // np.maximum(self.rows, 1) // max(len(self.stored), 1)


def _of_input(plan: ReadPlan, number: int, stored: Sequence[str]) -> int:
    distinct, source = _distinct(plan.files[number]), plan.inputs[number]
    if distinct.num_rows == 0:
        return 0
    files = _Files(
        stored,
        sizes=distinct.column("bytes").fill_null(FOOTER_BYTES + 1).to_numpy(),
        rows=distinct.column("rows").fill_null(1).to_numpy(),
        known=pc.is_valid(distinct.column("bytes")).to_numpy(),
        merges=bool(plan.joins or plan.order),
    )
    tested = row_condition(source).columns | {column for at, column in plan.pinned if at == number}
    uses: Counts = distinct.column("uses").to_numpy()
    shared = (uses > 1) & (~files.known | (files.sizes <= SHARED_FILE))
    each = _of_files(files, tested & {*stored}, {*wanted_columns(plan, number)} & {*stored})
    each = np.where(shared, _of_files(files, set(), {*source.record.names} & {*stored}), each * uses)
    text = ~pc.ends_with(distinct.column("key"), ".parquet").to_numpy()
    blocks = np.where(files.sizes <= REQUEST_BYTES, 0, -(-files.sizes // _BLOCK))
    each[text] = ((1 + ~files.known + blocks) * np.where(shared, 1, uses))[text]
    return int(each.sum())


def _of_files(files: _Files, tested: Collection[str], wanted: Collection[str]) -> Counts:
    """Return for each Parquet file how many requests it takes to test some columns and read those that are wanted."""
    first = tested or wanted
    whole = (
        files.known & bool(first) & fits_request(files.sizes, vain_bytes(files.sizes, len(first), len(files.stored)))
    )
    then = {*wanted} - {*tested}
    at_once = files.rows if files.merges else np.minimum(files.rows, ROWS_PER_ROW_GROUP)
    later = files.chunks(at_once) * len(then)
    together = (later <= ROUND_TRIP_BYTES) | (files.rows <= SMALL_FILE_ROWS)
    ranges = np.where(together, _ranges(files, {*tested, *then}), _ranges(files, tested) + _ranges(files, then))
    return np.where(whole, 1, 1 + ranges)


def _distinct(files: pa.Table) -> pa.Table:
    """Return each file once, with the number of units that read it as ``uses``."""
    wanted = files.select(["key", "rows", "bytes"])
    if ends_differ(files.column("key").combine_chunks()):  # as nearly always; to group a million keys takes long
        return wanted.append_column("uses", pa.array(np.ones(files.num_rows, np.int64))).combine_chunks()
    found = wanted.group_by("key", use_threads=False).aggregate([("key", "count"), ("rows", "min"), ("bytes", "min")])
    return found.rename_columns({"key_count": "uses", "rows_min": "rows", "bytes_min": "bytes"}).combine_chunks()


def _ranges(files: _Files, columns: Collection[str]) -> Counts:
    """Return for each file of how many ranges these columns are.

    The chunks of ``b`` and ``d`` are two ranges in each row group, if ``c`` is larger than a hole, and so are those
    of ``d`` and of the next row group's ``b``, if both are fetched at once::

        a  b  c  d  |  a  b  c  d
           -     -        -     -
    """
    places = [place for place, name in enumerate(files.stored) if name in columns]
    if not places:
        return np.zeros(len(files.sizes), np.int64)
    last = files.rows - (files.groups - 1) * ROWS_PER_ROW_GROUP
    full, rest = files.chunks(np.minimum(files.rows, ROWS_PER_ROW_GROUP)), files.chunks(last)
    found: Counts = (files.groups - 1) * _ranges_in_group(places, full) + _ranges_in_group(places, rest)
    if files.merges:
        between = (places[0] + len(files.stored) - 1 - places[-1]) * full <= HOLE_BYTES
        least = -(-files.sizes * len(places) // (len(files.stored) * REQUEST_BYTES))
        found = np.maximum(found - (files.groups - 1) * between, least)
    return found


def _ranges_in_group(places: Sequence[int], chunks: Counts) -> Counts:
    """Return for each file of how many ranges the chunks at these places of one row group are, when joined."""
    found = np.zeros(len(chunks), np.int64)
    start = stop = np.full(len(chunks), -(2**62))
    for place in places:
        end = (place + 1) * chunks
        joins = (end - chunks - stop <= HOLE_BYTES) & (end - start <= REQUEST_BYTES)
        found += np.where(joins, 0, np.maximum(-(-chunks // REQUEST_BYTES), 1))
        start, stop = np.where(joins, start, end - chunks), end
    return found
