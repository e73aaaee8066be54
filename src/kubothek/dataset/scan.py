"""How a scan of one dataset is planned and carried out: ask the indices, choose files, read lazily."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kubothek.dataset.indices.lookup import index_only_columns, load_postings, look_up
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine import local
from kubothek.engine import spark as on_spark
from kubothek.engine.lazy import LazyRows
from kubothek.engine.measure import measure_read
from kubothek.engine.requests import expected_requests
from kubothek.model.display import plural
from kubothek.model.names import column_names
from kubothek.model.read_plan import PARTITION_PREFIX, ReadPlan
from kubothek.model.where import parse_where
from kubothek.plan.attached import attach_column
from kubothek.plan.explain import explain_scan
from kubothek.plan.explanation import Explanation
from kubothek.plan.groups import ask_groups, plan_groups
from kubothek.plan.measured import Expected
from kubothek.plan.native import spark_reads_exactly
from kubothek.plan.scan import ScanPlan, ScanQuestion, ScanSubject, ask_scan, plan_scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Scan(LazyRows):
    """Rows of one dataset, planned and not read; made by :meth:`kubothek.Dataset.scan`."""

    def __init__(self, snapshot: Snapshot, question: ScanQuestion, scan: ScanPlan) -> None:
        super().__init__(snapshot.store, scan.plan)
        self._snapshot = snapshot
        self._question = question
        self._scan = scan

    @property
    def title(self) -> str:
        """What is read, in a few words; Spark's UI shows them."""
        read = self._plan.units.num_rows
        total = read + sum(files.num_rows for files in self._scan.dropped.values())
        return f"read {self._plan.subject}, {read:,} of {plural(total, 'partition')}"

    def groups(self, by: str | Sequence[str] | None = None) -> Generator[tuple[Any, pa.Table], None, None]:
        """Yield the rows in groups, one after the other as they are read, so that memory stays bounded.

        A file that holds several values of an indexed column is read for each of them. Rows with a null or NaN in an
        indexed column of ``by`` are in no group. Which groups there are is known before their rows are read, so a
        table may be empty: no index told that the condition matches none of its rows.

        Parameters
        ----------
        by
            Columns with one group per distinct combination of values; each must be a partition column or have an
            index. ``None``: one group per file; ``[]``: one group of all rows.

        Yields
        ------
        key
            The values of the ``by`` columns as a tuple, ``()`` where there are none; the label of the file where
            ``by`` is ``None``. Groups come in order of their keys, files in the order of the header.
        table
            The rows, with the columns of the scan, whether those of ``by`` are among them or not.

        A consumer that closes the generator, or drops it, leaves no thread and no open file.

        Raises
        ------
        UnknownColumnError, UnindexedColumnError, InvalidInputError
            The columns of ``by`` do not exist, have no index, or are named twice. Raised at once.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kubothek import write_dataset
        >>> rows = pa.table({"MONTH": [1, 1, 2], "STATION": ["B", "A", "A"], "TEMP": [0.5, -1.0, 3.0]})
        >>> ds = write_dataset(rows, "weather", "memory://groups", partition_on="MONTH", secondary_indices="STATION")
        >>> [(key, table["TEMP"].to_pylist()) for key, table in ds.scan("TEMP").groups("STATION")]
        [(('A',), [-1.0, 3.0]), (('B',), [0.5])]
        """
        if by is None:
            return self._read(self._plan.files[0].column("label").to_pylist(), self._plan)
        names = column_names(by, "by")
        if not names:
            return self._whole()
        plan = self._grouped(names)
        keys = [plan.units.column(PARTITION_PREFIX + name) for name in names]
        return self._read(_rows_of(keys), plan)

    def _grouped(self, by: Sequence[str]) -> ReadPlan:
        """Plan the groups: look up in the indices which files hold which values."""
        subject, files = _attach(self._snapshot, self._question.subject, self._plan.files[0], by)
        question = replace(self._question, subject=subject)
        grouping = ask_groups(question, by)
        loaded = local.map_in_threads(
            lambda item: load_postings(self._snapshot, item[0], item[1]), grouping.needed.items()
        )
        postings = dict(zip(grouping.needed, loaded, strict=True))
        return plan_groups(question, grouping, self._plan, files, postings)

    def _whole(self) -> Generator[tuple[Any, pa.Table], None, None]:
        yield (), self.to_arrow()

    def _read(self, keys: Iterable[Any], plan: ReadPlan) -> Generator[tuple[Any, pa.Table], None, None]:
        """Yield each unit of a plan with its key; a consumer may close the iterator early."""
        with closing(local.read_units(self._store, plan)) as tables:
            yield from zip(keys, tables, strict=True)

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a lazy Spark DataFrame.

        Where Spark can reach the files and reads every type exactly, and no row has to be filtered, its own reader
        gets the planned files; otherwise Kubothek's tasks read them.
        """
        base = self._native_base()
        if base:
            keys = self._plan.files[0].column("key").to_pylist()
            paths = [self._store.local_path(key) or "" for key in keys]
            return on_spark.read_files(spark, base, paths, self._plan.schema)
        return super().to_spark(spark)

    def _native_base(self) -> str | None:
        """Return the directory of the files if Spark's own reader can have them."""
        files, source, subject = self._plan.files[0], self._plan.inputs[0], self._question.subject
        base = self._store.local_path(f"{subject.uuid}/{subject.table}")
        state = self._snapshot.header.state
        conformed = state is not None and state.conformed
        in_files = not {*source.partition_keys}.intersection(subject.attached.names)
        reads = base and conformed and in_files and spark_reads_exactly(source, files, subject.record, base)
        return base if reads else None

    def explain(self, *, analyze: bool = False, spark: SparkSession | None = None) -> Explanation:
        """Say which files are read and which rule drops the others.

        Parameters
        ----------
        analyze
            Read everything in this process, throw the rows away, and put what was measured beside what is expected:
            files opened, requests, bytes, row groups that statistics skip, and rows before and after the condition.
        spark
            The session for which to tell the number of tasks; ``None`` stands for as many cores as this machine has.
            There is no number where Spark's own reader takes the files.

        Returns
        -------
        Explanation
            Prints as text, as a tree with ``rich``, and as a table in a notebook; ``to_dict()`` gives JSON values.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kubothek import write_dataset
        >>> rows = pa.table({"MONTH": [1, 1, 2], "TEMP": [0.5, -1.0, 3.0]})
        >>> ds = write_dataset(rows, "weather", "memory://scan_explain", partition_on="MONTH")
        >>> told = ds.scan(where="MONTH == 1 & TEMP < 0").explain(analyze=True)
        >>> told.files, told.sources[0].dropped, told.sources[0].measured.rows_stored, told.measured.rows
        (1, {'partition': 1}, 2, 1)
        """
        subject = self._question.subject
        stored = [name for name in subject.record.names if name not in subject.partition_keys]
        tasks, cores = on_spark.expected_tasks(spark, self._plan)
        requests = expected_requests(self._plan, [stored])
        told = explain_scan(
            self._question, self._scan, Expected(requests, None if self._native_base() else tasks, cores)
        )
        return told.with_measured(measure_read(self._store, self._plan)) if analyze else told

    def __repr__(self) -> str:
        """Show what would be read."""
        return str(self.explain())

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return self.explain()._repr_html_()


def open_scan(
    snapshot: Snapshot,
    *,
    columns: str | Sequence[str] | None = None,
    where: Any = None,
    table: str | None = None,
    categoricals: str | Sequence[str] = (),
) -> Scan:
    """Plan a scan; see :meth:`kubothek.Dataset.scan`."""
    condition = parse_where(where)
    wanted = None if columns is None else column_names(columns, "columns")
    dictionaries = column_names(categoricals, "categoricals")
    subject, files = _subject(snapshot, snapshot.table_name(table))
    subject, files = _attach(snapshot, subject, files, [*(wanted or ()), *sorted(condition.columns), *dictionaries])
    question = ask_scan(subject, wanted, condition, dictionaries)
    return Scan(snapshot, question, plan_scan(question, files, look_up(snapshot, question.lookups)))


def _subject(snapshot: Snapshot, table: str) -> tuple[ScanSubject, pa.Table]:
    record = snapshot.schema(table)
    others = {
        name: other
        for other in reversed(snapshot.tables)
        for name in snapshot.schemas[other].names
        if name not in record.names
    }
    subject = ScanSubject(
        uuid=snapshot.uuid,
        table=table,
        record=record,
        partition_keys=snapshot.partition_keys,
        index_columns=tuple(column for column in snapshot.index_columns if column not in others),
        elsewhere=others,
    )
    return subject, snapshot.file_table(table)


def _attach(
    snapshot: Snapshot, subject: ScanSubject, files: pa.Table, names: Collection[str]
) -> tuple[ScanSubject, pa.Table]:
    """Give each file its value of those of these columns that only an index has."""
    for name in index_only_columns(snapshot):
        if name in names and name not in subject.attached.names:
            index = load_postings(snapshot, name)
            files = attach_column(files, name, index)
            subject = replace(subject, attached=subject.attached.append(index.schema.field(name)))
    return subject, files


def _rows_of(columns: Sequence[pa.ChunkedArray]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of columns as Python values, one by one, because there may be many."""
    for number in range(len(columns[0])):
        yield tuple(column[number].as_py() for column in columns)
