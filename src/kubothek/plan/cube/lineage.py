"""Which physical partitions of a computed dataset are stale, and what it was computed from once they are not.

A *unit* is what is computed at once: all of the dataset that has the same values in the partition columns which it
shares with the cube. Its header records the labels of the files from which it was computed, per source. Labels are
never used twice, so a source is as it was where its labels are. A source may have other partition columns than the
units; it counts for all units that agree with it in those that both have::

    units by p, q          p=1 q=1        p=1 q=2        p=2 q=1
    seed, by p, q          a              b, c           d            b -> e: changes p=1 q=2
    features, by p         f                             g            f -> h: changes p=1 q=1 and p=1 q=2
    calendar, by nothing   i                                          i -> j: changes all
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.cube import Cube
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.keys import first_rows, row_ids

LABEL, REASON = "label", "reason"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One dataset from which another is computed: what was recorded of it, and what it has now.

    ``columns`` are those that tell units apart and by which it is partitioned. Both tables have the column ``label``
    and, with the same types in all sources, ``partition/<name>`` for each of these columns.
    """

    columns: tuple[str, ...]
    recorded: pa.Table
    current: pa.Table


def unit_columns(cube: Cube, partition_keys: Collection[str]) -> tuple[str, ...]:
    """Return the columns that tell the units of a dataset with these partition columns apart.

    Examples
    --------
    >>> unit_columns(Cube("flights", "FLIGHT", ["YEAR", "MONTH"]), ("MODEL", "MONTH"))
    ('MONTH',)
    """
    return tuple(name for name in cube.partition_columns if name in partition_keys)


def find_stale(columns: Sequence[str], seed: str, sources: Mapping[str, Source], own: pa.Table) -> pa.Table:
    """Return the units that are to be computed anew, or removed.

    Parameters
    ----------
    columns
        Those that tell units apart.
    seed
        Which of the sources says which units there are.
    sources
        All of them, those among them that were recorded and are none any more, without current labels.
    own
        What the dataset has itself: ``label``, and ``partition/<name>`` for each of the columns.

    Returns
    -------
    pa.Table
        ``partition/<name>`` for each column, and ``reason``, one of ``kubothek.model.stale.REASONS``.
    """
    first = sources[seed]
    now = _units(first.current, columns)
    missing = ~is_among(now, first.recorded, columns)
    changed = np.any([is_among(now, _difference(one), one.columns) for one in sources.values()], axis=0)
    chosen = missing | changed
    known = _units(pa.concat_tables([first.recorded, own]), columns)
    gone = known.filter(pa.array(~is_among(known, now, columns)))
    reasons = [*np.where(missing, "missing", "changed")[chosen].tolist(), *["vanished"] * gone.num_rows]
    units = pa.concat_tables([now.filter(pa.array(chosen)), gone])
    return units.drop_columns([LABEL]).append_column(REASON, pa.array(reasons, pa.string()))


def count_units(columns: Sequence[str], tables: Iterable[pa.Table]) -> int:
    """Return how many units there are in tables of labels."""
    return int(_units(pa.concat_tables(tables), columns).num_rows)


def next_lineage(stale: pa.Table, sources: Mapping[str, Source]) -> dict[str, pa.Array]:
    """Return the labels from which a dataset is computed once its stale units were computed from what is there now.

    They come in the order of the sources, of which the seed is the first: by it the record is read again
    (``kubothek.plan.lineage``).
    """
    return {name: _next_labels(stale, source) for name, source in sources.items()}


def _next_labels(stale: pa.Table, source: Source) -> pa.Array:
    kept = source.recorded.filter(pa.array(~is_among(source.recorded, stale, source.columns)))
    new = source.current.filter(pa.array(is_among(source.current, stale, source.columns)))
    return pa.chunked_array([*kept[LABEL].chunks, *new[LABEL].chunks], pa.string()).combine_chunks()


def is_among(rows: pa.Table, others: pa.Table, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Tell for each row whether another table has its values in these partition columns; without any, all agree."""
    keys = [PARTITION_PREFIX + name for name in columns]
    ids, wanted = row_ids([rows, others], keys)
    return np.isin(ids, wanted)


def _units(labels: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return one row for each unit."""
    (ids,) = row_ids([labels], [PARTITION_PREFIX + name for name in columns])
    return labels.take(pa.array(first_rows(ids)))


def _difference(source: Source) -> pa.Table:
    """Return the labels that came or went."""
    then, now = (one[LABEL].combine_chunks() for one in (source.recorded, source.current))
    went = source.recorded.filter(pc.invert(pc.is_in(then, value_set=now)))
    came = source.current.filter(pc.invert(pc.is_in(now, value_set=then)))
    return pa.concat_tables([went, came])
