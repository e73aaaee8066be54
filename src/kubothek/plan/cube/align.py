"""Which files are read together: the units of a cube query, and the files of each dataset that each unit reads.

Steps: each dataset's files are spread over the values to group by that they hold; the distinct values of the seed's
files, joined with those of datasets that restrict the query, are the units; every dataset's files are joined to the
units on the columns that both have. With partition columns P, Q, a seed grouped by its index column I, and a
restrictive dataset that is partitioned by Q alone::

    seed's files    its files    units
    I P Q           Q            unit I P Q   files
    1 0 0  (a)      0  (f)       0    1 0 0   (a) (f)
    1 0 1  (b)                   1    2 0 0   (a) (f)
    2 0 0  (a)

A file that serves several units is listed for each of them. Files that must be read together (see
``kubothek.plan.cube.prune``) are spread over all values that any of them holds, because the last version of a cell may
have another value than the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import all_of, conjuncts
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.cube.prune import KeptFiles
from kubothek.plan.cube.resolve import MemberRead, ResolvedQuery
from kubothek.plan.index_merge import listed_files
from kubothek.plan.keys import Numbers, first_rows, matching_pairs, row_ids, sorted_distinct
from kubothek.plan.match import match_rows

_FILE = "file"
"""Column of a spread table with the row number of the file; all other columns carry :data:`PARTITION_PREFIX`."""

Postings = Mapping[tuple[str, str], pa.Table]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Units in the order of the result, and per dataset the pairs (unit, row of its kept files) that are read.

    ``pairs`` are sorted by unit, then by row. ``dropped`` maps, per dataset, a rule to the rows it drops:
    ``partition_by`` (the file holds no value to group by), ``no seed`` (the seed has no files that it could join),
    ``alignment`` (some dataset that restricts the query has nothing for its units).
    """

    units: pa.Table
    pairs: tuple[tuple[Numbers, Numbers], ...]
    dropped: tuple[Mapping[str, Numbers], ...]


def align(query: ResolvedQuery, kept: Sequence[KeptFiles], postings: Postings) -> Alignment:
    """Put the files of all datasets together by the values they share.

    Parameters
    ----------
    query, kept
        The query and, for each of its reads, the files that its conditions leave.
    postings
        For each of ``query.needed_postings`` the index: the column and ``partition: list<string>``.
    """
    spreads = [_spread(query, read, files, postings) for read, files in zip(query.reads, kept, strict=True)]
    seed = spreads[0].select(_values(query, query.reads[0]))
    seed = seed.take(first_rows(row_ids([seed], seed.column_names)[0]))
    units = seed
    for read, spread in zip(query.reads, spreads, strict=True):
        if read.restrictive:
            units = _restricted(units, spread, [PARTITION_PREFIX + name for name in read.groups])
    units = _ordered(query, _matching(query, units))
    pairs = tuple(_pairs(units, spread) for spread in spreads)
    dropped = tuple(
        _dropped(files.files.num_rows, spread, seed, used)
        for files, spread, (_, used) in zip(kept, spreads, pairs, strict=True)
    )
    numbers = pa.array(np.arange(units.num_rows), pa.int32())
    return Alignment(units.add_column(0, "unit", numbers), pairs, dropped)


def _values(query: ResolvedQuery, seed: MemberRead) -> list[str]:
    """Names, in a spread of the seed, of the columns whose values make its units."""
    return [PARTITION_PREFIX + name for name in dict.fromkeys([*seed.groups, *query.cube.partition_columns])]


def _spread(query: ResolvedQuery, read: MemberRead, kept: KeptFiles, postings: Postings) -> pa.Table:
    """Return one row per file and combination of values to group by, in the order of files.

    Its columns are the partition's values, the values to group by, and the row number of the file.
    """
    count = kept.files.num_rows
    columns = [PARTITION_PREFIX + key for key in read.member.partition_keys]
    table = kept.files.select(columns).append_column(_FILE, pa.array(np.arange(count)))
    for name in read.groups:
        if name in read.member.apart(query.cube):
            continue
        # All versions of a cell agree in its dimensions, so for these each file speaks for itself.
        sets = np.arange(count) if name in query.cube.dimension_columns else kept.together
        column = PARTITION_PREFIX + name
        if name in read.member.partition_keys:
            files, numbers = np.arange(count), row_ids([kept.files], [column])[0]
            values = kept.files.column(column).take(pa.array(first_rows(numbers)))
            table = table.drop_columns(column)
        else:
            index = postings[read.member.dataset_id, name]
            files, numbers = listed_files(index, kept.files.column("label"))
            values = index.column(name)
        holders, held = _held_values(sets[files], numbers, len(values))
        rows, found = matching_pairs(sets[table.column(_FILE).to_numpy()], holders)
        table = table.take(pa.array(rows)).append_column(column, values.take(pa.array(held[found])))
    return table


def _held_values(sets: Numbers, values: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Return the distinct pairs of a set of files and the number, below ``count``, of a value that a file of it has."""
    distinct = sorted_distinct(sets * max(count, 1) + values)
    return distinct // max(count, 1), distinct % max(count, 1)


def _shared(units: pa.Table, spread: pa.Table) -> list[str]:
    return [name for name in units.column_names if name in spread.column_names]


def _restricted(units: pa.Table, spread: pa.Table, groups: Sequence[str]) -> pa.Table:
    """Keep the units for which a dataset has files, once per value of its columns to group by."""
    on = _shared(units, spread)
    distinct = spread.take(first_rows(row_ids([spread], [*on, *groups])[0]))
    lefts, rights = matching_pairs(*row_ids([units, distinct], on))
    units = units.take(pa.array(lefts))
    for name in groups:
        if name not in on:
            units = units.append_column(name, distinct.column(name).take(pa.array(rights)))
    return units


def _matching(query: ResolvedQuery, units: pa.Table) -> pa.Table:
    """Leave out units whose values alone rule out every row: these values are the same in all of them."""
    plain = units.rename_columns([name.removeprefix(PARTITION_PREFIX) for name in units.column_names])
    known = {*plain.column_names}
    parts = [part for part in conjuncts(query.condition) if part.columns <= known]
    return units.filter(match_rows(all_of(parts), plain)) if parts else units


def _ordered(query: ResolvedQuery, units: pa.Table) -> pa.Table:
    names = [PARTITION_PREFIX + n for n in dict.fromkeys([*query.partition_by, *query.cube.partition_columns])]
    units = units.select(names)
    return units.take(pc.sort_indices(units, sort_keys=[(name, "ascending") for name in names]))


def _pairs(units: pa.Table, spread: pa.Table) -> tuple[Numbers, Numbers]:
    """Return the pairs (unit, file) with equal values, by unit, then by file; no pair occurs twice."""
    units_ids, spread_ids = row_ids([units, spread], _shared(units, spread))
    numbers, rows = matching_pairs(units_ids, spread_ids)
    return numbers, spread.column(_FILE).to_numpy()[rows]


def _dropped(count: int, spread: pa.Table, seed: pa.Table, used: Numbers) -> Mapping[str, Numbers]:
    """Return the rows of files that no unit reads, by the rule that drops them."""
    valued, seeded, read = (np.zeros(count, np.bool_) for _ in range(3))
    files = spread.column(_FILE).to_numpy()
    valued[files] = True
    _, rows = matching_pairs(*row_ids([seed, spread], _shared(seed, spread)))
    seeded[files[rows]] = True
    read[used] = True
    rules = {"partition_by": ~valued, "no seed": valued & ~seeded, "alignment": seeded & ~read}
    return {rule: np.flatnonzero(mask) for rule, mask in rules.items() if mask.any()}
