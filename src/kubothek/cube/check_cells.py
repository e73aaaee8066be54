"""Whether the files of a dataset hold each cell once, and no cell without a value in a dimension column.

Only the dimension columns are read, a few files at a time, and only of files of which nobody knows: what is written
here is checked before its commit, and the header records it. That the same cell is in several files of a physical
partition is no problem, as the last one wins; within a file nothing tells which one would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.labels import label_prefixes
from kubothek.cube.members import describe_member
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.data_files import FileScan
from kubothek.engine.key_codes import key_codes, stable_order
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, NotFoundError
from kubothek.model.cube import Cube
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.problem import Problem


def check_cells(
    dataset_id: str, snapshot: Snapshot, cube: Cube, unreadable: Collection[str | None]
) -> Iterator[Problem]:
    """Check the dimension columns of the files that nobody has checked, but for those that are known to be unreadable.

    A dataset without the table of cubes, or without dimension columns, has no cells.
    """
    member = describe_member(dataset_id, snapshot)
    dimensions = member.dimensions(cube)
    if SINGLE_TABLE not in snapshot.tables or not dimensions:
        return
    stored = tuple(name for name in dimensions if name not in member.partition_keys)
    files = snapshot.file_table(SINGLE_TABLE)
    checked = pc.is_in(label_prefixes(files["label"]), value_set=pa.array(member.unique_writes, pa.string()))
    files = files.filter(pc.invert(checked))
    record = pa.schema([member.schema.field(name) for name in stored])

    def look(file: tuple[str, int | None]) -> list[Problem]:
        key, size = file
        if key in unreadable:
            return []
        try:
            cells = FileScan(snapshot.store, key, size, record, stored).read()
        except (CorruptDatasetError, NotFoundError) as error:
            return [Problem("unreadable_file", snapshot.uuid, key, error.message)]
        return [*cell_problems(snapshot.uuid, key, cells)]

    places = zip(files["key"].to_pylist(), files["bytes"].to_pylist(), strict=True)
    yield from chain.from_iterable(map_in_threads(look, places))


def cell_problems(uuid: str, key: str, cells: pa.Table) -> Iterator[Problem]:
    """Find nulls and repetitions in the dimension columns of one file."""
    empty = [name for name in cells.column_names if cells[name].null_count]
    if empty:
        counts = ", ".join(f"{cells[name].null_count:,} row(s) in {name}" for name in empty)
        message = f"Dimension columns identify cells, but hold nulls: {counts}. Write the file's partition again."
        yield Problem("missing_dimension_values", uuid, key, message, columns=tuple(empty))
    rows = _repeated(cells)
    if len(rows):
        example = ", ".join(f"{name}={value!r}" for name, value in cells.slice(rows[0], 1).to_pylist()[0].items())
        message = (
            f"{len(rows):,} row(s) repeat a cell that the file holds already, such as {example or 'the only one'}: "
            "queries answer with one of them, or with all. Write the file's partition again."
        )
        yield Problem("duplicate_cells", uuid, key, message, columns=tuple(cells.column_names))


def _repeated(cells: pa.Table) -> np.ndarray:
    """Return the numbers of the rows that are equal to one before them."""
    if not cells.num_columns:
        return np.arange(1, cells.num_rows)
    (codes,), size = key_codes([cells.columns])
    order = stable_order(codes, size)
    again: np.ndarray = order[1:][codes[order][1:] == codes[order][:-1]]
    return np.sort(again)
