"""What can be told about a set of rows without reading them: may some match, may some fail.

A set of rows is a row group or a file. For each, two questions have answers that may err in one direction only::

    can_match   False: it is proven that no row matches       True: some may
    can_fail    False: it is proven that every row matches    True: some may not

Both are needed because ``~`` swaps them: a set without a match of ``x == 1`` is one that ``~(x == 1)`` matches
completely. With the two of them every combination of ``&``, ``|`` and ``~`` stays sound, whatever proves the leaves
(exact partition values, an index, statistics). "Unknown" is ``True`` twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kubothek.model.condition import And, Comparison, Condition, Leaf, Not, Or

Mask = npt.NDArray[np.bool_]


def as_mask(matches: pa.Array | pa.ChunkedArray) -> Mask:
    """Return Arrow's booleans, none of them null, as a mask."""
    mask: Mask = np.asarray(matches)
    return mask


@dataclass(frozen=True, slots=True, eq=False)
class Possible:
    """Whether a row of each of ``n`` sets of rows may match, and whether one may fail.

    Examples
    --------
    >>> some = Possible.exact(np.array([True, False])) & Possible.unknown(2)
    >>> some.can_match.tolist(), some.can_fail.tolist()
    ([True, False], [True, True])
    """

    can_match: Mask
    can_fail: Mask

    @classmethod
    def unknown(cls, n: int) -> Possible:
        """Nothing is known about any of ``n`` sets."""
        return cls(np.ones(n, dtype=np.bool_), np.ones(n, dtype=np.bool_))

    @classmethod
    def exact(cls, matches: Mask) -> Possible:
        """All rows of a set match, or none."""
        return cls(matches, ~matches)

    def __and__(self, other: Possible) -> Possible:
        """Both conditions hold."""
        return Possible(self.can_match & other.can_match, self.can_fail | other.can_fail)

    def __or__(self, other: Possible) -> Possible:
        """At least one condition holds."""
        return Possible(self.can_match | other.can_match, self.can_fail & other.can_fail)

    def __invert__(self) -> Possible:
        """The condition does not hold."""
        return Possible(self.can_fail, self.can_match)


def possible(
    condition: Condition,
    n: int,
    leaf: Callable[[Leaf], Possible],
    whole: Mapping[Condition, Possible] = MappingProxyType({}),
) -> Possible:
    """Combine what is known about the leaves of a condition to what is known about the condition.

    Parameters
    ----------
    condition
        A bound condition.
    n
        Number of sets of rows.
    leaf
        Says what is known about one leaf. It is never asked about ``!=``, which is the opposite of ``==``.
    whole
        What is known about larger parts of the condition, each taken as it is.
    """
    if condition in whole:
        return whole[condition]
    match condition:
        case And(parts):
            everything = Possible.exact(np.ones(n, dtype=np.bool_))
            return reduce(and_, (possible(part, n, leaf, whole) for part in parts), everything)
        case Or(parts):
            nothing = Possible.exact(np.zeros(n, dtype=np.bool_))
            return reduce(or_, (possible(part, n, leaf, whole) for part in parts), nothing)
        case Not(part):
            return ~possible(part, n, leaf, whole)
        case Comparison(column, "!=", value):
            return ~leaf(Comparison(column, "==", value))
        case _:
            return leaf(condition)  # type: ignore[arg-type]  # what is left is a leaf
