"""What is wrong with stored data, or would be: one finding of a check, a value to be counted, compared and printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kubothek.model.display import plural
from kubothek.model.markup import notebook_facts, notebook_table

_SHOWN = 50

ProblemKind = Literal[
    "unreadable_header",
    "unreadable_schema",
    "second_header",
    "missing_schema_copy",
    "wrong_schema_copy",
    "no_pandas_metadata",
    "missing_table",
    "wrong_label",
    "undecodable_partition",
    "missing_file",
    "wrong_size",
    "unreadable_file",
    "wrong_rows",
    "wrong_columns",
    "unreadable_index",
    "unknown_index_labels",
    "missing_index_entries",
    "superfluous_index_entries",
    "overwritten_commit",
    "unreadable_version",
    # of cubes
    "missing_seed",
    "several_seeds",
    "wrong_metadata",
    "wrong_tables",
    "missing_dimensions",
    "wrong_partitioning",
    "shared_payload",
    "different_types",
    "missing_index",
    "duplicate_cells",
    "missing_dimension_values",
    "incomplete_call",
    "orphaned_files",
    # of what is to be written to a cube
    "existing_dataset",
    "unwritable_dataset",
    "wrong_schema",
]
"""Names of all kinds of problems; they do not change, so that programs may ask for them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes
    ----------
    kind
        What it is, as one of :data:`ProblemKind`.
    subject
        The dataset or cube that has the problem.
    key
        The object in the store that has it, where it is one.
    message
        What was expected, what was found, what follows from it and what to do.
    repaired
        Whether it has been repaired by the check that found it.
    columns
        The columns that it is about, if any.

    Examples
    --------
    >>> print(Problem("missing_file", "flights", "flights/table/a.parquet", "The file is not in the store."))
    flights: missing_file in 'flights/table/a.parquet': The file is not in the store.
    """

    kind: ProblemKind
    subject: str
    key: str | None
    message: str
    repaired: bool = False
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in one line."""
        place = "" if self.key is None else f" in {self.key!r}"
        done = " (repaired)" if self.repaired else ""
        return f"{self.subject}: {self.kind}{place}: {self.message}{done}"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return Problems([self])._repr_html_()


class Problems(list[Problem]):
    """What a check has found: a list that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        """Show the first of them, or that there are none."""
        if not self:
            return notebook_facts("no problems", {})
        rows = ((one.subject, _kind_text(one), one.key or "", one.message) for one in self[:_SHOWN])
        more = len(self) - _SHOWN
        left = f"… and {more:,} more" if more > 0 else ""
        return notebook_table(plural(len(self), "problem"), ("of", "what", "where", ""), rows, more=left)


def _kind_text(problem: Problem) -> str:
    return problem.kind.replace("_", " ") + (" (repaired)" if problem.repaired else "")
