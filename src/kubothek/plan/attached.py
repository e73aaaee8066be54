"""Which value a column has in each file when no table holds the column, only an index does.

Some datasets say something about whole partitions that is not in their rows, such as where the data came from. Their
index lists each partition under one value at most, so the column is read like a partition column::

    index              files             files with the column
    x  partition       label             label  partition/x
    1  [a, c]          a                 a      1
                       b                 b      null
                       c                 c      1
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.errors import InvalidInputError
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.index_merge import listed_files
from kubothek.plan.keys import row_ids


def attach_column(files: pa.Table, column: str, index: pa.Table) -> pa.Table:
    """Return the files with the value that the index has for each, null where it has none.

    Parameters
    ----------
    files
        One row per file, with its ``label``.
    column
        Name of the column; it becomes ``partition/<name>``.
    index
        The whole index: the column, and ``partition`` with the labels of each value.

    Raises
    ------
    InvalidInputError
        A file is listed under several values; ``labels`` names all such files.

    Examples
    --------
    >>> index = pa.table({"ORIGIN": ["EWR"], "partition": [["a"]]})
    >>> attach_column(pa.table({"label": ["a", "b"]}), "ORIGIN", index).to_pydict()
    {'label': ['a', 'b'], 'partition/ORIGIN': ['EWR', None]}
    """
    index = index.filter(pc.is_valid(index.column(column)))
    holders, rows = listed_files(index, files.column("label"))
    [values] = row_ids([index], [column])
    _, first = np.unique(holders * max(index.num_rows, 1) + values[rows], return_index=True)
    holders, rows = holders[first], rows[first]
    again = np.flatnonzero(np.diff(holders) == 0)
    if len(again):
        labels = files.column("label").take(pa.array(np.unique(holders[again]))).to_pylist()
        found = index.column(column).take(pa.array(rows[holders == holders[again[0]]])).to_pylist()
        raise InvalidInputError(
            f"No table has the column {column!r}, and its index lists {labels[0]!r} under several values "
            f"({', '.join(map(repr, found[:3]))}), so the rows there have no value: {len(labels)} file(s) are like "
            "this. Leave the column out.",
            columns=(column,),
            labels=tuple(labels),
        )
    places = np.full(files.num_rows, -1, np.int64)
    places[holders] = rows
    values_of_files = index.column(column).take(pa.array(places, mask=places < 0))
    return files.append_column(PARTITION_PREFIX + column, values_of_files)
