"""Which values stored files hold in some columns: the body of the tasks that build an index on existing data.

A task reads the columns file by file, a few row groups at a time, and gives pairs of value and label (*postings*), a
pair perhaps several times; making them distinct over all files is the commit's work. Spark's tasks stage many postings
as Arrow files, so that memory stays bounded and little passes through Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from kubothek.codec.data import unique_values
from kubothek.codec.staged_table import SUFFIX, staged_writer
from kubothek.engine.reading import UnitReader
from kubothek.engine.steps import in_order
from kubothek.model.read_plan import ReadPlan
from kubothek.store.interface import Store

VALUE, LABEL = "value", "label"

_HELD_BYTES = 64 * 2**20
"""Of all columns together, up to which a task that stages holds values."""
_INLINE_BYTES = 256 * 2**10


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Pairs of a value of one column and the label of a file that holds it.

    ``content`` has the columns ``value`` and ``label`` (a dictionary), or is the key of a staged Arrow file
    of both.
    """

    column: str
    content: pa.Table | str


@dataclass(frozen=True, slots=True)
class IndexTask:
    """How postings are handed over: all in memory, or many of them staged, under the prefix ``staged``."""

    staged: str | None = None

    def read_postings(self, store: Store, plan: ReadPlan) -> Iterator[Postings]:
        """Read a plan with one file per unit and give the postings of all its columns; the body of a task."""
        reader = UnitReader(store, plan)
        labels = plan.files[0].column("label").combine_chunks()
        held: list[tuple[int, dict[str, pa.Array]]] = []
        size = 0
        for unit in range(plan.units.num_rows):
            for rows in in_order([partial(reader.step, unit)]):
                values = {name: unique_values(rows.column(name)) for name in rows.column_names}
                held.append((unit, values))
                size += sum(array.nbytes for array in values.values())
                if self.staged is not None and size > _HELD_BYTES:
                    yield from self._hand_over(store, plan.schema, labels, held)
                    held, size = [], 0
        yield from self._hand_over(store, plan.schema, labels, held)

    def _hand_over(
        self, store: Store, schema: pa.Schema, labels: pa.Array, held: Sequence[tuple[int, dict[str, pa.Array]]]
    ) -> Iterator[Postings]:
        for field in schema:
            arrays = [values[field.name] for _, values in held]
            files = np.repeat([unit for unit, _ in held], [len(array) for array in arrays]).astype(np.int32)
            content = pa.table(
                {
                    VALUE: pa.chunked_array(arrays, field.type),
                    LABEL: pa.DictionaryArray.from_arrays(pa.array(files), labels),
                }
            )
            if self.staged is None or content.nbytes <= _INLINE_BYTES:
                yield Postings(field.name, content)
            else:
                yield Postings(field.name, _stage(store, self.staged, content))


def _stage(store: Store, prefix: str, content: pa.Table) -> str:
    key = f"{prefix}{store.world.new_id()}{SUFFIX}"
    with store.create_file(key) as sink, staged_writer(sink, key, content.schema) as writer:
        writer.write_table(content.combine_chunks())
    return key
