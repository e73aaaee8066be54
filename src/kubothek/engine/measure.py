"""What a read really does: carried out in this process by the usual reader, with the rows counted and thrown away.

The reader is watched from outside: it reads through a view of the store that counts requests and bytes, its files tell
when their footers are open, and what each input gives to a unit passes by. Nothing of this is in the way of other
reads. After the joins of a unit, those of its inner joins are made again one after the other, on the keys alone, to
see how many rows each of them left.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.keys import data_suffix
from kubothek.codec.possible_groups import possible_groups
from kubothek.engine.data_files import FileScan, Known
from kubothek.engine.join import join_rows
from kubothek.engine.local import read_steps
from kubothek.engine.ranged_parquet import RangedParquet
from kubothek.engine.reading import UnitReader, seed_order
from kubothek.model.condition import Condition
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.measured import Measured, MeasuredRead
from kubothek.store.counted import CountedReads
from kubothek.store.interface import Store

Watch = Callable[[pq.FileMetaData, Sequence[int]], None]


def measure_read(store: Store, plan: ReadPlan) -> MeasuredRead:
    """Read all rows of a plan, throw them away, and return what it took.

    Memory is that of :func:`kubothek.engine.local.read_batches`. A directory is read as an object store would be, so
    that requests can be counted; that is somewhat slower than reading its files by their paths.

    Raises
    ------
    SnapshotExpiredError, CorruptDatasetError
        As any read of the plan does.
    """
    counted = CountedReads(store)
    reader = _WatchedReader(counted, plan)
    started = perf_counter()
    with closing(read_steps(reader, counted, plan)) as tables:
        rows = sum(table.num_rows for table in tables)
    seconds = perf_counter() - started
    joined = bool(plan.joins or plan.order)
    if not joined:
        reader.count(0, "rows", rows)
        reader.seconds[0] = seconds
    return MeasuredRead(
        inputs=tuple(_measured(reader, counted, number, joined) for number in range(len(plan.inputs))),
        rows=rows,
        seconds=seconds,
        units_emptied=plan.units.num_rows - reader.assembled if joined else 0,
    )


def _measured(reader: _WatchedReader, counted: CountedReads, number: int, joined: bool) -> Measured:
    keys: Collection[str] = reader.keys(number) & counted.requests.keys()
    counts = reader.counts[number]
    told = all(data_suffix(key) == ".parquet" for key in keys)  # text has no footer to tell of rows
    return Measured(
        files=len(keys),
        files_skipped=counts["files_skipped"],
        row_groups=counts["row_groups"],
        row_groups_skipped=counts["row_groups_skipped"],
        requests=sum(counted.requests[key] for key in keys),
        bytes=sum(counted.bytes[key] for key in keys),
        rows_stored=counts["rows_stored"] if told else None,
        rows_decoded=counts["rows_decoded"] if told else None,
        rows=counts["rows"],
        rows_joined=counts["rows_joined"] if joined else None,
        seconds=reader.seconds[number],
    )


@dataclass(frozen=True, eq=False)
class _WatchedScan(FileScan):
    """A file that tells, when it is opened first, its footer and the row groups that statistics leave."""

    watch: Watch = lambda footer, groups: None

    @contextmanager
    def _opened(self, known: Known | None = None, **options: Any) -> Iterator[RangedParquet]:
        with super()._opened(known, **options) as file:
            if known is None:
                self.watch(file.metadata, possible_groups(file.metadata, self.condition, self.constants))
            yield file


class _WatchedReader(UnitReader):
    """Reads as its base class does, and counts per input what passes by; ``assembled`` counts units with all inputs."""

    def __init__(self, store: Store, plan: ReadPlan) -> None:
        super().__init__(store, plan)
        self._lock = threading.Lock()
        self.counts: list[Counter[str]] = [Counter() for _ in plan.inputs]
        self.seconds = [0.0 for _ in plan.inputs]
        self.assembled = 0

    def keys(self, number: int) -> set[str]:
        """Return the keys of the files of an input."""
        return set(self._plan.files[number].column("key").to_pylist())

    def count(self, number: int, what: str, amount: int) -> None:
        """Add to one of the counts of an input."""
        with self._lock:
            self.counts[number][what] += amount

    def _file_scan(
        self, number: int, files: pa.Table, row: int, condition: Condition, columns: Sequence[str]
    ) -> FileScan:
        scan = super()._file_scan(number, files, row, condition, columns)
        plain = {field.name: getattr(scan, field.name) for field in fields(scan)}
        return _WatchedScan(**plain, watch=partial(self._opened, number))

    def _opened(self, number: int, footer: pq.FileMetaData, groups: Sequence[int]) -> None:
        skipped = footer.num_row_groups - len(groups)
        self.count(number, "row_groups", footer.num_row_groups)
        self.count(number, "row_groups_skipped", skipped)
        self.count(number, "files_skipped", int(skipped > 0 and not groups))
        self.count(number, "rows_stored", footer.num_rows)
        self.count(number, "rows_decoded", sum(footer.row_group(group).num_rows for group in groups))

    def _read_input(self, number: int, position: int) -> pa.Table:
        started = perf_counter()
        table = super()._read_input(number, position)
        self.count(number, "rows", table.num_rows)
        with self._lock:
            self.seconds[number] += perf_counter() - started
        return table

    def _assemble(self, tables: dict[int, pa.Table], rows: dict[int, np.ndarray | None]) -> pa.Table:
        steps = sorted(self._plan.joins, key=lambda step: step.how)
        order, left = seed_order(self._plan), 0
        for made in range(len(steps) + 1):
            if made == 0 or steps[made - 1].how == "inner":
                chosen = join_rows(steps[:made], order, tables)[0]
                left = tables[0].num_rows if chosen is None else len(chosen)
            self.count(steps[made - 1].input if made else 0, "rows_joined", left)
        with self._lock:
            self.assembled += 1
        return super()._assemble(tables, rows)
