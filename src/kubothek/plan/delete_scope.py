"""Which partitions a delete scope removes.

A commit removes whole files, so a scope is only carried out where it is certain that each file it touches matches as
a whole. Values of partition columns hold for a whole file. A secondary index says which files hold a value, but not
whether they hold others or nulls; that is known only for files whose statistics prove one value throughout::

    index says no match        keep
    constant, and it matches   delete
    constant, no match         keep
    anything else              ambiguous
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from kubothek.errors import AmbiguousDeleteScopeError, UnindexedColumnError
from kubothek.model.condition import Condition, Leaf, any_of
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.bind import bind
from kubothek.plan.match import match_column
from kubothek.plan.possible import Mask, Possible, as_mask, possible


def bind_scope(
    scope: Sequence[Condition], schema: pa.Schema, partition_keys: Collection[str], indexed: Collection[str], uuid: str
) -> Condition:
    """Return the one condition that a delete scope means: any of its parts.

    Raises
    ------
    UnindexedColumnError
        It looks at a column that is neither a partition column nor indexed.
    UnknownColumnError, PredicateTypeError
        It does not fit the schema.
    """
    condition = bind(any_of(scope), schema, subject=f"the delete scope on dataset {uuid!r}")
    unindexed = sorted(condition.columns - {*partition_keys, *indexed})
    if unindexed:
        raise UnindexedColumnError(
            f"The delete scope on dataset {uuid!r} looks at {', '.join(map(repr, unindexed))}, which are neither "
            f"partition columns ({', '.join(partition_keys) or 'none'}) nor indexed ({', '.join(indexed) or 'none'}): "
            "whole files are removed, so it must be known which rows they hold.",
            columns=tuple(unindexed),
        )
    return condition


def deleted_labels(
    condition: Condition, files: pa.Table, constants: Mapping[str, tuple[pa.Array, Mask]], uuid: str
) -> pa.Array:
    """Return the labels of the files that are removed.

    Parameters
    ----------
    condition
        The bound scope.
    files
        The files that it may touch, with their labels and partition values.
    constants
        For each indexed column one value per file, and for which files it is known to hold for every row.
    uuid
        The dataset's name, for the message.

    Raises
    ------
    AmbiguousDeleteScopeError
        A file may hold rows of both kinds.
    """

    def judge(leaf: Leaf) -> Possible:
        if leaf.column not in constants:
            return Possible.exact(as_mask(match_column(leaf, files[PARTITION_PREFIX + leaf.column])))
        values, known = constants[leaf.column]
        matches = as_mask(match_column(leaf, values))
        return Possible(matches | ~known, ~matches | ~known)

    verdict = possible(condition, files.num_rows, judge)
    ambiguous = files["label"].filter(pa.array(verdict.can_match & verdict.can_fail))
    if len(ambiguous):
        raise AmbiguousDeleteScopeError(
            f"The delete scope {condition} on dataset {uuid!r} selects {len(ambiguous)} file(s) that hold, or "
            f"may hold, other rows too, such as {ambiguous[0].as_py()!r}. Whole files are removed: delete by partition "
            "columns, or rewrite these partitions.",
            labels=tuple(ambiguous.to_pylist()),
        )
    labels = files["label"].filter(pa.array(verdict.can_match))
    return labels.combine_chunks() if isinstance(labels, pa.ChunkedArray) else labels
