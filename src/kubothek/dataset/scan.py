"""How a scan of one dataset is planned and carried out: ask the indices, choose files, read lazily."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kubothek.dataset.lookup import look_up
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine import spark as on_spark
from kubothek.engine.lazy import LazyRows
from kubothek.model.where import parse_where
from kubothek.plan.explain import Explanation, explain_scan
from kubothek.plan.native import spark_reads_exactly
from kubothek.plan.scan import ScanPlan, ask_scan, plan_scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Scan(LazyRows):
    """Rows of one dataset, planned and not read; made by :meth:`kubothek.Dataset.scan`."""

    def __init__(self, snapshot: Snapshot, table: str, scan: ScanPlan) -> None:
        super().__init__(snapshot.store, scan.plan)
        self._snapshot = snapshot
        self._table = table
        self._scan = scan

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a lazy Spark DataFrame.

        Where Spark can reach the files and reads every type exactly, and no row has to be filtered, its own reader
        gets the planned files; otherwise Kubothek's tasks read them.
        """
        files, source = self._plan.files[0], self._plan.inputs[0]
        base = self._store.local_path(f"{self._snapshot.uuid}/{self._table}")
        state = self._snapshot.header.state
        conformed = state is not None and state.conformed
        if base and conformed and spark_reads_exactly(source, files, self._snapshot.schema(self._table), base):
            paths = [self._store.local_path(key) or "" for key in files.column("key").to_pylist()]
            return on_spark.read_files(spark, base, paths, self._plan.schema)
        return super().to_spark(spark)

    def explain(self) -> Explanation:
        """Say which files are read and which rule drops the others; prints as text."""
        return explain_scan(self._scan)

    def __repr__(self) -> str:
        """Show what would be read."""
        return str(self.explain())


def open_scan(
    snapshot: Snapshot, *, columns: str | Sequence[str] | None = None, where: Any = None, table: str | None = None
) -> Scan:
    """Plan a scan; see :meth:`kubothek.Dataset.scan`."""
    name = snapshot.table_name(table)
    question = ask_scan(
        snapshot.schema(name),
        uuid=snapshot.uuid,
        table=name,
        partition_keys=snapshot.partition_keys,
        index_columns=snapshot.index_columns,
        columns=(columns,) if isinstance(columns, str) else columns,
        condition=parse_where(where),
    )
    files = snapshot.file_table(name)
    return Scan(snapshot, name, plan_scan(question, files, look_up(snapshot, question.leaves)))
