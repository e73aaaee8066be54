"""Datasets for tests: strategies for columns of every type, their rows, and the steps in which they are written.

:func:`dataset_cases` draws a :class:`DatasetCase`, a plain value from which anything can be written::

    @given(dataset_cases())
    def test_of_mine(case):
        ds = write_case(case, "u", "memory://some-name")  # or: for step in case.steps: ...
        assert ds.schema == case.schema
        rows = case.reference().scan()  # the rows, as plain dictionaries

:func:`questions` draws a condition over such a dataset twice: as plain values, for the reference, and as a user might
write it, with literals of other types. ``kinds`` and ``names`` narrow what is drawn to what a test can take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from kubothek import Dataset, update_dataset, write_dataset
from kubothek.model.condition import Condition
from kubothek.store.open import StoreLike
from kubothek.testing.frames import draw_frames, few_values, some_of
from kubothek.testing.kinds import Kind, Values, flat_kinds, nested_kinds, partition_kinds
from kubothek.testing.questions import Column, draw_condition, spelled
from kubothek.testing.reference_rows import ReferenceRows, Row

PLAIN_NAMES = ("p", "q", "r", "i1", "i2", "v1", "v2", "v3", "x", "y")
NAMES = (*PLAIN_NAMES, "ü ñ", "a.b", ".x", "[0]", "a/b", "=", "%", "in", "`", '"', "'", "rows", "key", "label", "unit")
"""Column names, among them those that paths, queries and the library itself are sensitive to."""


@dataclass(frozen=True, slots=True)
class Step:
    """One write: its frames, what it deletes first, and how the files are laid out."""

    frames: tuple[pa.Table, ...] = ()
    delete_scope: tuple[Row, ...] = ()
    rows: tuple[Row, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatasetCase:
    """A dataset: its columns, its layout, and the steps in which it is written; the first one creates it.

    Each frame of a step is an Arrow table whose types may be narrower than, or encodings of, the types of record, and
    null where a frame has no value in a column. ``Step.rows`` are the same rows as plain values of the types of record.
    """

    kinds: Mapping[str, Kind]
    partition_on: tuple[str, ...]
    secondary_indices: tuple[str, ...]
    steps: tuple[Step, ...]
    header_format: Any = "json"

    @property
    def schema(self) -> pa.Schema:
        """The schema of record: partition columns first, all others by name."""
        typed = {
            name
            for step in self.steps
            for frame in step.frames
            for name in frame.column_names
            if frame.schema.field(name).type != pa.null()
        }
        rest = sorted(set(self.kinds) - set(self.partition_on))
        return pa.schema(
            [(name, self.kinds[name].record if name in typed else pa.null()) for name in (*self.partition_on, *rest)]
        )

    def reference(self) -> ReferenceRows:
        """Return the rows that are left after all steps."""
        found = ReferenceRows()
        for step in self.steps:
            found.update(step.rows, step.delete_scope)
        return found


def write_case(case: DatasetCase, uuid: str, store: StoreLike) -> Dataset:
    """Write a dataset in its steps and return it as the last one left it."""
    ds = None
    for step in case.steps:
        layout: dict[str, Any] = {**step.options, "header_format": case.header_format}
        layout |= {"partition_on": case.partition_on, "secondary_indices": case.secondary_indices}
        if ds is None:
            ds = write_dataset(step.frames, uuid, store, **layout)
        elif step.frames or step.delete_scope:
            ds = update_dataset(step.frames or None, uuid, store, delete_scope=step.delete_scope, **layout)
    if ds is None:
        raise ValueError("a case has at least one step")
    return ds


def tidy(row: Mapping[str, Any], *, zeros: Iterable[str] = ()) -> str:
    """Return a row as a text by which rows can be compared: NaN equals NaN, zeros of either sign and types differ.

    Parameters
    ----------
    row
        Plain values by column.
    zeros
        Columns in which zeros of either sign are the same, as they are where they name a partition.
    """
    positive = {name: value + 0.0 for name in zeros if isinstance(value := row.get(name), float)}
    return repr([(name, _tidy(value)) for name, value in sorted({**row, **positive}.items())])


def _tidy(value: Any) -> Any:
    """Return a value whose text says what it is, such as an instant without the name of its zone."""
    match value:
        case list():
            return [_tidy(one) for one in value]
        case dict():
            return [(name, _tidy(one)) for name, one in sorted(value.items())]
        case datetime() if value.tzinfo is not None:
            return value.isoformat()
    return value


def same_rows(found: pa.Table, expected: Sequence[Mapping[str, Any]], *, zeros: Iterable[str] = ()) -> bool:
    """Tell whether a table holds these rows, in any order, each as often."""
    zeros = tuple(zeros)
    rows = found.to_pylist() if found.column_names else [{}] * found.num_rows
    return Counter(tidy(row, zeros=zeros) for row in rows) == Counter(tidy(row, zeros=zeros) for row in expected)


@cache
def _any_kinds() -> st.SearchStrategy[Kind]:
    return st.one_of(flat_kinds(), flat_kinds(), nested_kinds())


@st.composite
def dataset_cases(
    draw: st.DrawFn,
    *,
    kinds: st.SearchStrategy[Kind] | None = None,
    keys: st.SearchStrategy[Kind] | None = None,
    names: Sequence[str] = NAMES,
    max_rows: int = 8,
    max_steps: int = 3,
) -> DatasetCase:
    """Draw a dataset.

    Parameters
    ----------
    draw
        Given by hypothesis.
    kinds, keys
        Types of its columns (any) and of its partition columns (those that may be).
    names
        Names to choose from, at least seven.
    max_rows, max_steps
        Rows per step, and steps.
    """
    chosen = draw(st.permutations(names))
    partition_on = tuple(chosen[: draw(st.sampled_from([0, 1, 1, 2, 3]))])
    payload = chosen[len(partition_on) : len(partition_on) + draw(st.integers(1, 4))]
    any_kind = kinds if kinds is not None else _any_kinds()
    columns = {name: draw(keys if keys is not None else partition_kinds()) for name in partition_on}
    columns |= {name: draw(any_kind) for name in payload}
    flat = [name for name in payload if columns[name].flat]
    indices = draw(some_of(flat, 3))
    values = {name: few_values(draw, kind, optional=name not in partition_on) for name, kind in columns.items()}
    typed = {*partition_on, *indices}
    steps = [_step(draw, columns, values, typed, flat, max_rows)]
    for _ in range(draw(st.sampled_from([*range(max_steps), max_steps - 1])) if max_steps > 1 else 0):
        before = [row for step in steps for row in step.rows]
        step = _step(draw, columns, values, typed, flat, max_rows)
        steps.append(replace(step, delete_scope=_scope(draw, before, partition_on)))
    return DatasetCase(
        kinds=columns,
        partition_on=partition_on,
        secondary_indices=tuple(indices),
        steps=tuple(steps),
        header_format=draw(st.sampled_from(["json", "json", "msgpack"])),
    )


def _step(
    draw: st.DrawFn,
    columns: Mapping[str, Kind],
    values: Mapping[str, Values],
    typed: Collection[str],
    flat: Sequence[str],
    max_rows: int,
) -> Step:
    """Draw one write; columns that are ``typed`` have their type in each frame."""
    count = draw(st.sampled_from([0, 1, 2, 3, *[max_rows // 2, max_rows] * 3]))
    rows = [{name: draw(some) for name, some in values.items()} for _ in range(count)]
    return Step(draw_frames(draw, rows, columns, typed), rows=tuple(rows), options=_options(draw, flat))


def _options(draw: st.DrawFn, flat: Sequence[str]) -> dict[str, Any]:
    """Draw how the files of a write are laid out."""
    options: dict[str, Any] = {
        "sort_by": draw(some_of(flat, 2)),
        "rows_per_row_group": draw(st.sampled_from([1, 2, 3, None])),
        "compression": draw(st.sampled_from(["zstd", "snappy", "none", "gzip"])),
    }
    if draw(st.booleans()):
        buckets = draw(st.none() | st.integers(1, 3))
        by = draw(some_of(flat, 1)) if buckets else []
        options |= {"shuffle": True, "num_buckets": buckets, "bucket_by": by}
    return options


def _scope(draw: st.DrawFn, rows: Sequence[Row], keys: Sequence[str]) -> tuple[Row, ...]:
    """Draw a delete scope over partition columns, of values that were written."""
    if not rows or not keys or draw(st.sampled_from([True, False, False])):
        return ()
    chosen = draw(st.lists(st.sampled_from(rows), min_size=1, max_size=2))
    return tuple({name: row[name] for name in keys[: draw(st.integers(1, len(keys)))]} for row in chosen)


@dataclass(frozen=True, slots=True)
class Question:
    """A condition: ``meant`` with plain values of the types of record, ``asked`` with whatever spells them.

    ``columns`` are those of the answer, ``None`` for all.
    """

    asked: Condition
    meant: Condition
    columns: tuple[str, ...] | None = None


@st.composite
def questions(draw: st.DrawFn, case: DatasetCase) -> Question:
    """Draw a condition over a dataset, with literals from its rows or near them, and the columns to return."""
    schema = case.schema
    rows = [row for step in case.steps for row in step.rows]
    columns = {
        field.name: Column(
            field.type, case.kinds[field.name].values, [row[field.name] for row in rows if row[field.name] is not None]
        )
        for field in schema
    }
    meant = draw_condition(draw, columns, [*schema.names, *case.secondary_indices])
    everything: bool = draw(st.booleans())
    chosen = None if everything else tuple(draw(st.lists(st.sampled_from(schema.names), unique=True)))
    return Question(spelled(draw, meant, {field.name: field.type for field in schema}), meant, chosen)
