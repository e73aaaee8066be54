"""Conditions as DuckDB's SQL: a second witness of what they mean, made by others."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from kubothek.model.condition import And, Comparison, Condition, IsIn, Not, Or


def quoted(name: str) -> str:
    """Return the name of a column as SQL."""
    return '"' + name.replace('"', '""') + '"'


def to_sql(condition: Condition, types: Mapping[str, pa.DataType], literals: list[pa.Array]) -> str:
    """Return a condition with plain literals as SQL that is never null.

    Literals are columns ``c0``, ``c1``, … of a table with one row, which :func:`as_row` makes of what was added.
    """
    match condition:
        case And(parts):
            return "(" + " AND ".join(["true", *(to_sql(part, types, literals) for part in parts)]) + ")"
        case Or(parts):
            return "(" + " OR ".join(["false", *(to_sql(part, types, literals) for part in parts)]) + ")"
        case Not(part):
            return f"(NOT {to_sql(part, types, literals)})"
        case IsIn(column, values):
            return to_sql(Or(tuple(Comparison(column, "==", value) for value in values)), types, literals)
    name, kind = quoted(condition.column), types[condition.column]
    value = condition.value if isinstance(condition, Comparison) else None
    op = condition.op if isinstance(condition, Comparison) else "=="
    nan = f"coalesce(isnan({name}), false)" if pa.types.is_floating(kind) else "false"
    if value is None or value != value:
        equal = f"({name} IS NULL" + (f" OR {nan})" if value is not None else ")")
        return equal if op == "==" else f"(NOT {equal})"
    literals.append(pa.array([value], kind))
    literal = f"c{len(literals) - 1}"
    if op in ("==", "!="):
        return f"({name} IS {'NOT ' if op == '==' else ''}DISTINCT FROM {literal})"
    return f"(coalesce({name} {op} {literal}, false) AND NOT {nan})"


def as_row(literals: list[pa.Array]) -> pa.Table:
    """Return literals as a table with one row."""
    return pa.table(literals, [f"c{n}" for n in range(len(literals))]) if literals else pa.table({"c": [0]})
