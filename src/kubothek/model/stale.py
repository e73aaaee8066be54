"""Which physical partitions of a computed dataset do not hold what its sources hold now: a value to count and print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import pyarrow as pa

from kubothek.model.display import plural, printable
from kubothek.model.markup import notebook_table

Reason = Literal["changed", "missing", "vanished"]
REASONS: tuple[Reason, ...] = ("changed", "missing", "vanished")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class StalePartition:
    """One physical partition that is to be computed anew, or removed.

    Attributes
    ----------
    values
        What it has in the partition columns that the dataset shares with its cube; empty where it shares none, since
        all of the dataset is one unit then.
    reason
        ``"changed"``: it was computed from partitions of its sources that are no longer there, or there are new ones.
        ``"missing"``: nobody knows that it was computed. ``"vanished"``: the seed does not have it any more.

    Examples
    --------
    >>> print(StalePartition({"YEAR": 2013, "MONTH": 1}, "changed"))
    YEAR=2013 MONTH=1: changed
    """

    values: Mapping[str, Any]
    reason: Reason

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{partition_name(self.values)}: {self.reason}"


def partition_name(values: Mapping[str, Any]) -> str:
    """Return what people call the physical partition with these values.

    Examples
    --------
    >>> partition_name({"MONTH": 1}), partition_name({})
    ('MONTH=1', 'everything')
    """
    return printable(" ".join(f"{name}={value}" for name, value in values.items())) or "everything"


@dataclass(frozen=True, slots=True, eq=False)
class StalePartitions(Sequence[StalePartition]):
    """Which physical partitions of a computed dataset are stale, sorted by their values.

    Attributes
    ----------
    dataset
        Name of the dataset, as it is stored.
    values
        One column per partition column that the dataset shares with its cube, one row per partition.
    reasons
        Why each is stale, as :data:`Reason`.
    total
        How many physical partitions there are, those that vanished among them.
    """

    dataset: str
    values: pa.Table
    reasons: pa.Array
    total: int

    def __len__(self) -> int:
        """Count them."""
        return len(self.reasons)

    @overload
    def __getitem__(self, index: int) -> StalePartition: ...
    @overload
    def __getitem__(self, index: slice) -> StalePartitions: ...
    def __getitem__(self, index: int | slice) -> StalePartition | StalePartitions:
        """Return one of them, or some."""
        if isinstance(index, slice):
            rows = pa.array(range(*index.indices(len(self))), pa.int64())
            return StalePartitions(self.dataset, self.values.take(rows), self.reasons.take(rows), self.total)
        number = range(len(self))[index]
        values = {name: self.values[name][number].as_py() for name in self.values.column_names}
        return StalePartition(values, self.reasons[number].as_py())

    def __str__(self) -> str:
        """Say how many there are and why, and list the first of them."""
        counts = {reason: self.reasons.to_pylist().count(reason) for reason in REASONS}
        told = ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)
        head = f"{self.dataset}: {len(self):,} of {plural(self.total, 'physical partition')} stale"
        more = len(self) - _SHOWN
        lines = [f"{head} ({told})" if told else head, *(f"  {one}" for one in self[:_SHOWN])]
        return "\n".join([*lines, f"  … and {more:,} more"] if more > 0 else lines)

    def __repr__(self) -> str:
        """Show them as they print."""
        return str(self)

    def _repr_html_(self) -> str:
        """Show the first of them as a table in a notebook."""
        head, *_ = str(self).splitlines()
        rows = ((partition_name(one.values), one.reason) for one in self[:_SHOWN])
        more = len(self) - _SHOWN
        return notebook_table(head, ("partition", "reason"), rows, more=f"… and {more:,} more" if more > 0 else "")
