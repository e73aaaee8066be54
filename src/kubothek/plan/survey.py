"""What is to be known of a dataset before it is moved here from other software, as far as loaded values tell.

Beside what :mod:`kubothek.plan.verify` finds wrong there are things that are right and yet mean something else here
than there: partition values that the other software reads wrongly, or that say less than was written.

=====================  ==========  ===================================================================
kind                   severity    what it is
=====================  ==========  ===================================================================
slash_in_value         suspicious  a partition value was cut at a slash when it was written
boolean_partition      suspicious  Kartothek reads false as true
decimal_partition      suspicious  Kartothek reads decimals as text
null_like_value        suspicious  a text or number that may stand for a null
naive_time_partition   note        times without a zone separate files
several_tables         note        the dataset has more than one table
unreferenced_files     suspicious  nothing refers to files that are older than a day
folder_without_header  suspicious  objects that belong to no dataset
wrong_name             broken      a header whose name no dataset can have
no_readable_seed       broken      a cube whose seed is missing or cannot be read
unsound_datasets       as theirs   datasets of a cube are suspicious or broken
=====================  ==========  ===================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from kubothek.model.problem import Problem
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.model.survey import Finding, Verdict

_SUSPICIOUS = frozenset(
    {
        "second_header",
        "missing_schema_copy",
        "wrong_schema_copy",
        "no_pandas_metadata",
        "wrong_label",
        "missing_table",
        "unknown_index_labels",
        "superfluous_index_entries",
        "overwritten_commit",
        "unreadable_version",
        "incomplete_call",
        "orphaned_files",
    }
)
_WHAT_TO_DO = {
    "unreadable_header": "Have the software that wrote it write it anew, or delete the object if nobody needs it.",
    "unreadable_schema": "Have the software that wrote it write the dataset anew, or bring the schema back.",
    "undecodable_partition": "Delete the file's partition from the header with the software that wrote it.",
    "missing_table": "Read the tables one by one: each has the partitions that it has.",
    "missing_file": "Bring the file back, or delete its partition with update_dataset(…, delete_scope=…).",
    "unreadable_file": "Bring the file back as it was, or delete its partition with update_dataset(…, delete_scope=…).",
    "wrong_columns": "Write the partition anew with the columns of the dataset.",
    "wrong_size": "Bring the file back as it was, or write its partition anew.",
    "wrong_rows": "Bring the file back as it was, or write its partition anew.",
}
_NULL_TEXTS = ("nan", "NaN", "None", "NaT", "<NA>", "null")
_ADVICE = "Write the dataset anew with kubothek, which keeps them whole."


def problem_finding(problem: Problem) -> Finding:
    """Return a problem as a finding: what gives wrong answers or none is broken, what is left over is suspicious."""
    severity = "suspicious" if problem.kind in _SUSPICIOUS else "broken"
    message = f"{problem.message} {_WHAT_TO_DO.get(problem.kind, '')}".rstrip()
    return Finding(severity, problem.kind, problem.key, message)  # type: ignore[arg-type]  # one of the two


def check_cube_members(members: Mapping[str, Verdict], *, has_seed: bool) -> Iterator[Finding]:
    """Find what is wrong with a cube because of its datasets, of which each says for itself what it is.

    Parameters
    ----------
    members
        Verdict by name of the dataset.
    has_seed
        Whether one that can be read says that it is the seed.

    Examples
    --------
    >>> [one.severity for one in check_cube_members({"c++seed": "fine", "c++e": "suspicious"}, has_seed=True)]
    ['suspicious']
    """
    if not has_seed:
        message = (
            "The cube has no readable seed: none of its datasets that can be read says that it is the seed, so that "
            "the cube cannot be opened. Bring the seed's header and schema back, or build the cube anew."
        )
        yield Finding("broken", "no_readable_seed", None, message)
    worst = next((verdict for verdict in ("broken", "suspicious") if verdict in members.values()), None)
    if worst is not None:
        names = ", ".join(sorted(name for name, verdict in members.items() if verdict == worst))
        message = f"Its dataset(s) {names} are {worst}. What was found of them concerns every query that reads them."
        yield Finding(worst, "unsound_datasets", None, message)  # type: ignore[arg-type]  # one of the two


def check_tables_of(tables: Sequence[str]) -> Iterator[Finding]:
    """Note that a dataset has several tables."""
    if len(tables) > 1:
        message = f"The dataset has the tables {', '.join(tables)}: name one when you read. Cubes are made of datasets."
        yield Finding("note", "several_tables", None, message)


def check_partition_values(
    uuid: str, table: str, partition_keys: Sequence[str], schema: pa.Schema, files: pa.Table
) -> Iterator[Finding]:
    """Find partition values that mean something else than other software says.

    Parameters
    ----------
    uuid, table, partition_keys, schema
        The dataset and one of its tables.
    files
        One row per file: its ``key``, and its value of each partition column.

    Examples
    --------
    >>> files = pa.table({"key": ["d/table/P=a/b/f.parquet"], "partition/P": ["a"]})
    >>> [one.kind for one in check_partition_values("d", "table", ["P"], pa.schema([("P", pa.string())]), files)]
    ['slash_in_value']
    """
    yield from _check_slashes(f"{uuid}/{table}/", len(partition_keys), files["key"])
    for name in partition_keys:
        values, t = files[PARTITION_PREFIX + name], schema.field(name).type
        if types.is_boolean(t) and pc.any(pc.invert(values)).as_py():
            message = (
                f"Column {name!r} separates files by true and false. Kartothek reads every false as true; here it is "
                "false, so answers differ from before."
            )
            yield Finding("suspicious", "boolean_partition", None, message)
        elif types.is_decimal(t):
            message = (
                f"Column {name!r} separates files by decimals. Kartothek reads them as text; here they are numbers."
            )
            yield Finding("suspicious", "decimal_partition", None, message)
        elif types.is_timestamp(t):
            message = f"Column {name!r} separates files by times without a zone; they are taken as they stand."
            yield Finding("note", "naive_time_partition", None, message)
        yield from _check_nulls(name, values, files["key"])


def _check_slashes(start: str, columns: int, keys: pa.ChunkedArray) -> Iterator[Finding]:
    usual = start.count("/") + columns
    cut = pc.and_(pc.starts_with(keys, start), pc.greater(pc.count_substring(keys, "/"), usual))
    found = keys.filter(cut)
    if len(found):
        message = (
            f"{len(found):,} file(s) have a partition value with a slash in it, which was not escaped, so that only "
            f"what is before the slash is read, as by Kartothek. What was cut off stands in the key. {_ADVICE}"
        )
        yield Finding("suspicious", "slash_in_value", found[0].as_py(), message)


def _check_nulls(name: str, values: pa.ChunkedArray, keys: pa.ChunkedArray) -> Iterator[Finding]:
    if types.is_floating(values.type):
        alike = pc.is_nan(values)
    elif types.is_string(values.type) or types.is_large_string(values.type):
        alike = pc.is_in(values, value_set=pa.array(_NULL_TEXTS, values.type))
    else:
        return
    found = keys.filter(alike)
    if len(found):
        message = (
            f"{len(found):,} file(s) have the value {values.filter(alike)[0].as_py()!r} of partition column {name!r}, "
            "which may stand for a null. It is taken as it stands: a condition that looks for null does not find it."
        )
        yield Finding("suspicious", "null_like_value", found[0].as_py(), message)
