"""How ``spark.read.format("kubothek")`` reads: the schema, the partitions of a query, and the rows of each.

A query asks Python three times, each time in another process. Spark's planner makes a reader, hands it the filters of
the query if their push-down is switched on, and takes the partitions, which are pieces of a read plan of about equal
bytes. Executors then read the pieces. What travels to them knows how to read, and nothing of the plan.

Filters only decide which files and rows are left out early; all of them go back to Spark, which applies them to what
is read. Where the push-down is switched off, Spark refuses a reader that takes filters, so there are two classes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructField, StructType

from kubothek.engine.spark import CORES_OF_A_SMALL_CLUSTER, count_tasks, in_batches, unit_tables
from kubothek.engine.spark.payload import settle_worker
from kubothek.engine.spark.travel import Traveller
from kubothek.engine.spark_types import spark_schema, task_schema, to_wire
from kubothek.errors import SchemaError
from kubothek.model.condition import all_of
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.heavy_units import cut_heavy
from kubothek.plan.tasks import unit_weights
from kubothek.spark.source.filters import as_condition
from kubothek.spark.source.opened import Pinned, open_source
from kubothek.spark.source.options import ReadOptions, read_options
from kubothek.store.interface import Store

_PUSH_DOWN = "pyspark.sql.worker.data_source_pushdown_filters"
"""What Spark runs to plan a query that has filters, while their push-down is switched on."""
_BYTES_WORTH_A_TASK = 16 * 2**20


def read_schema(options: Mapping[str, str]) -> tuple[StructType, Pinned | None]:
    """Return the columns that a read gives, and what was pinned to find them.

    Raises
    ------
    InvalidInputError
        Options are unknown, missing or do not fit what is to be read; all of them are named.
    NotFoundError
        There is no such dataset, cube or version.
    SchemaError
        Spark has no type for some columns.
    """
    asked = read_options(options)
    opened = open_source(asked)
    schema = opened.rows(asked.columns, asked.where).schema
    names = schema.names if asked.columns is None else asked.columns
    return spark_schema(pa.schema([schema.field(name) for name in names])), opened.pinned


def make_reader(schema: StructType, options: Mapping[str, str], pinned: Pinned | None) -> DataSourceReader:
    """Return what plans a read of these columns: one that takes filters where that is possible and safe.

    Spark up to 4.3 keeps the plan that was made with the filters of one query with the DataFrame or view, and uses it
    for other queries of it too, where they have no filters of their own or are planned at the same time. They would
    miss rows, so that there filters are only taken where the user says that each query loads anew. Releases that push
    limits as well keep such a plan with its query.
    """
    asked = read_options(options)
    taken = hasattr(DataSourceReader, "pushLimit") if asked.pushdown is None else asked.pushdown
    kind = FilteredReader if taken and _takes_filters() else PlanReader
    return kind(schema, asked, pinned)


def check_schema(given: StructType, schema: pa.Schema, subject: str) -> None:
    """Refuse columns that do not have the types of record, as a user's own schema may say, or an old DataFrame.

    Raises
    ------
    SchemaError
        Some have not; all of them are named.
    """
    found = spark_schema(pa.schema([schema.field(name) for name in given.fieldNames()]))
    problems = {
        one.name: f"{one.name!r} is {real.dataType.simpleString()} and may be null, not {_told(one)}"
        for one, real in zip(given.fields, found.fields, strict=True)
        if (one.dataType, one.nullable) != (real.dataType, real.nullable)
    }
    if problems:
        raise SchemaError(
            f"The schema does not fit {subject}: {'; '.join(problems.values())}. Leave out .schema(...) to read the "
            "columns as they are, and cast them in the query; or load again, where they have changed since.",
            columns=tuple(problems),
        )


def plan_tasks(plan: ReadPlan) -> int:
    """Return into how many pieces to cut a plan: by its bytes, but at least as many as this machine has cores.

    A planner has no session that could tell how many the cluster has.
    """
    size = int(unit_weights(plan).sum())
    return max(os.cpu_count() or 1, min(size // _BYTES_WORTH_A_TASK, count_tasks(size, CORES_OF_A_SMALL_CLUSTER)))


def _takes_filters() -> bool:
    """Tell whether Spark asks for a reader because it has filters to push; in another case it may refuse that."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PUSH_DOWN in sys.modules or getattr(main, "name", None) == _PUSH_DOWN


def _told(field: StructField) -> str:
    return field.dataType.simpleString() + ("" if field.nullable else " not null")


class Piece(InputPartition):
    """What one task reads."""

    def __init__(self, plan: ReadPlan) -> None:
        self.plan = plan


class RowReader(Traveller, DataSourceReader):
    """Reads pieces in the executors, into columns of this order."""

    def __init__(self, store: Store, names: tuple[str, ...]) -> None:
        self._store = store
        self._names = names

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece; Spark asks for a partition without one where the plan has none."""
        if isinstance(partition, Piece):
            settle_worker()
            tables = (table.select(self._names) for table in unit_tables(self._store, partition.plan))
            wire = task_schema(pa.schema([partition.plan.schema.field(name) for name in self._names]))
            yield from in_batches(to_wire(table, wire) for table in tables)


class PlanReader(DataSourceReader):
    """Plans a read beside the driver; what executors get of it is a :class:`RowReader`."""

    def __init__(self, schema: StructType, asked: ReadOptions, pinned: Pinned | None) -> None:
        self._schema = schema
        self._asked = asked
        self._pinned = pinned
        self._filters: tuple[Filter, ...] = ()

    def partitions(self) -> Sequence[InputPartition]:
        """Return the pieces of the plan; nothing is read yet but headers and index entries."""
        opened = open_source(self._asked, self._pinned)
        pushed = [as_condition(one, opened.record, opened.joined) for one in self._filters]
        where = all_of([self._asked.where, *(one for one in pushed if one is not None)])
        plan = opened.rows(tuple(self._schema.fieldNames()), where).plan
        check_schema(self._schema, plan.schema, self._asked.subject)
        return [Piece(piece) for piece in cut_heavy(plan, plan_tasks(plan))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece."""
        return self._row_reader().read(partition)

    def _row_reader(self) -> RowReader:
        return RowReader(self._asked.store, tuple(self._schema.fieldNames()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what executors need."""
        return self._row_reader().__reduce__()


class FilteredReader(PlanReader):
    """Plans a read that leaves out what the filters of the query exclude."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Note the filters and give all of them back: Spark applies them to the rows."""
        self._filters = tuple(filters)
        return filters
