"""How a streaming query reads a dataset: what is there first, then the partitions that came since the last offset.

An offset is a version of the dataset (:class:`kubothek.model.position.Position`), as JSON. Between two of them are the
files that the later version has and the earlier has not (:mod:`kubothek.dataset.changes`)::

    offset    everything        version 3             version 5             version 6
    batch              all of 3        in 5, not in 3        in 6, not in 5

Spark asks for the first offset again when a query was killed in its first batch. So it does not say what is there at
that moment, but only what is wanted.

What plans the batches lives in a process beside the driver as long as the query does; what reads them is pickled to
the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from kubothek.codec.keys import header_keys
from kubothek.dataset.changes import Changes, load_changes, newest_position, next_position
from kubothek.dataset.scan import open_scan
from kubothek.errors import InvalidInputError
from kubothek.model.display import plural
from kubothek.model.position import Beginning, Position
from kubothek.plan.tasks import cut_plan
from kubothek.spark.source.offsets import Offset, offset_of, place_of
from kubothek.spark.source.reader import Piece, RowReader, check_schema, plan_tasks
from kubothek.spark.source.stream_options import StreamReadOptions, stream_read_options


def make_stream_reader(schema: StructType, options: Mapping[str, str]) -> DataSourceStreamReader:
    """Return what reads new partitions of a dataset.

    Parameters
    ----------
    schema
        Of the rows, as the stream has had it from its start.
    options
        As the user gave them.

    Raises
    ------
    InvalidInputError
        The options cannot be understood.
    """
    return StreamReader(stream_read_options(options), schema)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads one dataset for one query."""

    def __init__(self, options: StreamReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._target: Position | None = None
        self._seen: tuple[list[str | None], Position] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802  this and what follows are Spark's names
        """Say where the stream begins; always the same."""
        return offset_of(self._options.beginning)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how far a batch may go: so many versions, for which Spark has no word of its own."""
        most = self._options.versions
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return up to where the next batch reads; ``start`` itself where nothing is new."""
        options, place = self._options, place_of(start)
        newest = self._newest() if self._target is None else self._target
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        end = next_position(place, newest, options.dataset, options.store, versions=most)
        return start if end == place else offset_of(end)

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """Return the newest version, for the query's progress."""
        return offset_of(self._newest())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note what is there now: a query that ends reads up to there."""
        self._target = self._newest()

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Plan the tasks that read what came between two offsets."""
        place, options = place_of(end), self._options
        if start == end or isinstance(place, Beginning):
            return []
        changes = load_changes(options.dataset, options.store, place_of(start), place, options.table)
        if options.on_removal == "error" and len(changes.removed):
            raise _removed(changes)
        if not changes.added.partitions.num_rows:
            return []
        names = tuple(self._schema.fieldNames())
        plan = open_scan(changes.added, columns=names, where=options.where, table=options.table).plan
        check_schema(self._schema, plan.schema, f"version {changes.version} of dataset {options.dataset!r}")
        return [Piece(piece) for piece in cut_plan(plan, plan_tasks(plan))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece."""
        return self._row_reader().read(partition)

    def _row_reader(self) -> RowReader:
        return RowReader(self._options.store, tuple(self._schema.fieldNames()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what executors need."""
        return self._row_reader().__reduce__()

    def _newest(self) -> Position:
        """Return the newest version; its header, which may be long, is understood only where it is another one."""
        uuid, store = self._options.dataset, self._options.store
        tags = [None if blob is None else blob.etag for blob in store.get_many(header_keys(uuid))]
        if self._seen is None or self._seen[0] != tags:
            self._seen = tags, newest_position(uuid, store)
        return self._seen[1]


def _removed(changes: Changes) -> InvalidInputError:
    labels = changes.removed.to_pylist()
    return InvalidInputError(
        f"{plural(len(labels), 'partition')} of dataset {changes.added.uuid!r}, which the stream had read, went until "
        f"version {changes.version}, for example {labels[0]!r}: deleted, replaced or overwritten. A stream cannot take "
        "rows back. Go on with what comes by the option onRemoval=ignore, or begin anew, with a new checkpoint.",
        labels=tuple(labels[:1000]),
        version=changes.version,
    )
