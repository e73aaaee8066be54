"""Which partitions of each dataset of a cube are to be removed, as one condition on the dataset's partition columns.

A caller names partitions of the cube. A dataset may have fewer of these columns, and others too: of the parts that must
all hold, those count for it whose columns it is partitioned by. Without any such part it is emptied, and so is every
dataset that has no partition columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.errors import InvalidInputError
from kubothek.model.condition import Comparison, Condition, IsIn, all_of, any_of, conjuncts
from kubothek.model.cube import Cube
from kubothek.model.where import parse_where


def removal_condition(where: Any, cube: Cube) -> Condition:
    """Parse what a caller wants to have removed.

    Raises
    ------
    InvalidInputError
        It is no condition, names no column, or names others than partition columns of the cube.

    Examples
    --------
    >>> print(removal_condition("MONTH < 3", Cube("flights", "FLIGHT", "MONTH")))
    MONTH < 3
    """
    condition = parse_where(where)
    known = ", ".join(cube.partition_columns)
    others = sorted(condition.columns - set(cube.partition_columns))
    if others:
        raise InvalidInputError(
            f"Partitions of cube {cube.uuid_prefix!r} are removed by its partition columns ({known}), but "
            f"the condition {condition} looks at {', '.join(others)}. Whole files are removed.",
            columns=tuple(others),
        )
    if not condition.columns:
        raise InvalidInputError(
            f"The condition {where!r} names no column, so it would remove everything from cube {cube.uuid_prefix!r}, "
            f"or nothing; name partition columns ({known}), or delete the cube with delete_cube."
        )
    return condition


def removal_scope(condition: Condition, partition_keys: Collection[str]) -> Condition:
    """Return what a condition on partitions of the cube removes from a dataset with these partition columns.

    Examples
    --------
    >>> condition = parse_where("YEAR == 2013 & MONTH == 1")
    >>> print(removal_scope(condition, ("MONTH",)))
    MONTH == 1
    >>> print(removal_scope(condition, ()))
    true
    """
    return all_of(part for part in conjuncts(condition) if part.columns <= set(partition_keys))


def same_partitions(values: Mapping[str, pa.Array]) -> Condition:
    """Return the condition that selects exactly the partitions with these values, given one per file.

    Partitions that differ in one column only share a list of values: in the column that has the most of them.

    Examples
    --------
    >>> print(same_partitions({"YEAR": pa.array([2013, 2013]), "MONTH": pa.array([1, 2])}))
    (YEAR == 2013) & (MONTH in (1, 2))
    >>> print(same_partitions({}))
    true
    """
    if not values:
        return all_of(())
    listed = max(values, key=lambda name: len(pc.unique(values[name])))
    names = [name for name in values if name != listed]
    rows = zip(*(values[name].to_pylist() for name in (*names, listed)), strict=True)
    groups: dict[tuple[Any, ...], dict[Any, None]] = {}
    for *shared, value in rows:
        groups.setdefault(tuple(shared), {})[value] = None
    return any_of(
        all_of(
            [
                *(Comparison(name, "==", value) for name, value in zip(names, shared, strict=True)),
                IsIn(listed, tuple(of_listed)),
            ]
        )
        for shared, of_listed in groups.items()
    )
