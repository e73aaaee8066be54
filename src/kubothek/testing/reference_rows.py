"""A dataset in plain Python: a list of rows, what an update leaves of it, and which rows a scan finds.

Every row is looked at, one after the other; :func:`kubothek.testing.conditions.matches` says whether it matches:

* ``==``, ``in`` and the ordering operators match null only where null itself was asked for;
* ``!=`` is "is distinct from" and matches null; ``~`` turns every match into a miss and back, for nulls too;
* NaN equals nothing and has no order, so that ``!=`` any number matches it; only asking for NaN finds it, and nulls;
* ``is null`` finds nulls and not NaN; zeros of either sign are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubothek.model.condition import EVERYTHING, Condition
from kubothek.testing.conditions import matches

Row = dict[str, Any]


@dataclass
class ReferenceRows:
    """The rows of a dataset.

    Examples
    --------
    >>> weather = ReferenceRows([{"MONTH": 1, "TEMP": 0.5}, {"MONTH": 2, "TEMP": None}])
    >>> weather.update([{"MONTH": 3, "TEMP": 7.0}], delete_scope=[{"MONTH": 1}])
    >>> weather.scan(["TEMP"])
    [{'TEMP': None}, {'TEMP': 7.0}]
    """

    rows: list[Row] = field(default_factory=list)

    def update(self, rows: Iterable[Mapping[str, Any]] = (), delete_scope: Iterable[Mapping[str, Any]] = ()) -> None:
        """Remove the rows with all values of one of the mappings, then add rows."""
        scope = list(delete_scope)
        self.rows = [
            row for row in self.rows if not any(all(row[name] == one[name] for name in one) for one in scope)
        ] + [dict(row) for row in rows]

    def scan(self, columns: Sequence[str] | None = None, where: Condition = EVERYTHING) -> list[Row]:
        """Return these columns of the rows that match a condition with plain literals."""
        found = [row for row in self.rows if matches(where, row)]
        return [{name: row[name] for name in (row if columns is None else columns)} for row in found]
