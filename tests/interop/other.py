"""Other software that keeps datasets in this format: how a test lets it work, and what it found.

It runs in an environment of its own, because it wants other versions of what we use, or another Python.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek import Dataset
from kubothek.testing.datasets import DatasetCase

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("with_other.py")

Step = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What a step found: rows, the pairs of value and label per index, and facts; or why it failed."""

    rows: pa.Table
    postings: Mapping[str, pa.Table]
    facts: Mapping[str, Any]
    error: str = ""


NOTHING = pa.table({})


@dataclass(frozen=True)
class Other:
    """One software: its name, the variable that names its Python, where that is otherwise, and how one gets it."""

    name: str
    variable: str
    environment: str
    command: str
    shown_types: Mapping[str, str]
    """How it calls types of ours in a schema."""
    loses_type: Callable[[pa.DataType], bool]
    """Whether an update of its own dataset fails where a column has this type."""
    loses_index: Callable[[pa.DataType], bool]
    """Whether an update fails where an index is on a column of this type."""

    @property
    def python(self) -> Path:
        """The interpreter in whose environment it is."""
        return Path(os.environ.get(self.variable, ROOT / self.environment / "bin" / "python"))

    def tries(self, store: Path, *steps: Step) -> list[Found]:
        """Let it carry out steps in one process and return what came of each."""
        assert self.python.exists(), f"{self.python} is missing: `{self.command}` makes the environment of {self.name}"
        out = Path(tempfile.mkdtemp(prefix=f"{store.name}-", dir=store.parent))
        (out / "steps").write_bytes(pickle.dumps(steps, protocol=4))
        command = [str(self.python), "-W", "ignore", str(SCRIPT), self.name.lower(), str(store)]
        done = subprocess.run([*command, str(out / "steps"), str(out)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [found_in(out / str(number)) for number in range(len(steps))]

    def does(self, store: Path, *steps: Step) -> list[Found]:
        """Let it carry out steps, none of which may fail, and return what each ``read`` among them found."""
        found = self.tries(store, *steps)
        errors = [one.error for one in found if one.error]
        assert not errors, "\n".join(errors)
        return [one for one, step in zip(found, steps, strict=True) if step["do"] == "read"]


def _never(kind: pa.DataType) -> bool:
    return False


def _is_instant_or_struct(kind: pa.DataType) -> bool:
    """Tell what Kartothek gives other types than its schema has: nanoseconds, and fields sorted by name."""
    return pa.types.is_struct(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None)


PLATEAU = Other(
    name="Plateau",
    variable="INTEROP_PYTHON",
    environment=".interop-venv",
    command="make others-test",
    shown_types={"string": "large_string", "timestamp[us]": "timestamp[ns]"},
    loses_type=_never,
    loses_index=pa.types.is_string,  # it wants large_string there, which Kartothek cannot read
)
KARTOTHEK = Other(
    name="Kartothek",
    variable="KARTOTHEK_PYTHON",
    environment=".kartothek-venv",
    command="make kartothek-env",
    shown_types={"timestamp[us]": "timestamp[ns]"},
    loses_type=_is_instant_or_struct,
    loses_index=_never,
)


def found_in(stem: Path) -> Found:
    """Load what one step left."""
    if stem.with_suffix(".error").exists():
        return Found(NOTHING, {}, {}, stem.with_suffix(".error").read_text())
    if not stem.with_suffix(".json").exists():
        return Found(NOTHING, {}, {})
    facts = json.loads(stem.with_suffix(".json").read_text())
    indices = {name: pq.ParquetFile(f"{stem}.{number}.index").read() for number, name in enumerate(facts["indices"])}
    return Found(pq.ParquetFile(f"{stem}.parquet").read(), indices, facts)


def frame(store: Path, rows: pa.Table) -> str:
    """Put rows where the other software finds them."""
    handle, path = tempfile.mkstemp(suffix=".parquet", prefix=f"{store.name}-", dir=store.parent)
    os.close(handle)
    pq.write_table(rows, path)
    return path


def as_pandas_keeps(rows: pa.Table) -> pa.Table:
    """Return rows with naive timestamps in nanoseconds: what Plateau indexes, and all that older pandas has."""
    for at, field in enumerate(rows.schema):
        if field.type == pa.timestamp("us"):
            rows = rows.set_column(at, field.name, rows[field.name].cast(pa.timestamp("ns")))
    return rows


def same_rows(found: pa.Table, dataset: Dataset, expected: pa.Table | Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether a table has these rows once it has the dataset's types, in any order; NaN is null to pandas."""
    if not isinstance(expected, pa.Table):
        expected = pa.Table.from_pylist([dict(row) for row in expected], dataset.schema)
    names = dataset.schema.names
    tables = [table.select(names).cast(dataset.schema).to_pylist() for table in (found, expected)]
    return Counter(map(repr, map(_as_pandas, tables[0]))) == Counter(map(repr, map(_as_pandas, tables[1])))


def _as_pandas(value: Any) -> Any:
    """Return a value such that NaN is null and the zeros, of which a path knows one, are the same, nested ones too."""
    match value:
        case dict():
            return {name: _as_pandas(one) for name, one in value.items()}
        case list():
            return [_as_pandas(one) for one in value]
        case float():
            return None if math.isnan(value) else value + 0.0
    return value


def postings_of_files(dataset: Dataset, column: str, store: Path, table: str = "table") -> set[tuple[Any, str]]:
    """Return the pairs of value and label that the data files themselves hold."""
    kind = dataset.schema.field(column).type
    found: set[tuple[Any, str]] = set()
    for label, partition in dataset.partitions.items():
        values = pq.ParquetFile(store / partition.files[table]).read([column])[column].cast(kind)
        found |= {(value, label) for value in values.unique().to_pylist() if _as_pandas(value) is not None}
    return found


def postings_found(found: Found, dataset: Dataset, column: str) -> set[tuple[Any, str]]:
    """Return the pairs of value and label that the other software has in an index, in the dataset's types."""
    postings = found.postings[column]
    values = postings["value"].cast(dataset.schema.field(column).type).to_pylist()
    return set(zip(values, postings["label"].to_pylist(), strict=True))


def complaints(found: Found, dataset: Dataset, case: DatasetCase, rows: Any, store: Path) -> list[str]:
    """Return what of a dataset another software did not find as it is."""
    return [f"{dataset.uuid}: {one}\n{dataset.schema}" for one in _complaints(found, dataset, case, rows, store)]


def _complaints(found: Found, dataset: Dataset, case: DatasetCase, rows: Any, store: Path) -> Iterator[str]:
    if found.error:
        yield found.error
        return
    if not same_rows(found.rows, dataset, rows):
        yield f"other rows: {found.rows.to_pylist()}, not {rows}"
    if found.facts["labels"] != sorted(dataset.partitions):
        yield f"other labels: {found.facts['labels']}"
    if found.facts["indices"] != sorted((*case.partition_on, *case.secondary_indices)):
        yield f"other indices: {found.facts['indices']}"
        return
    for column in case.secondary_indices:
        there, here = postings_found(found, dataset, column), postings_of_files(dataset, column, store)
        if there != here:
            yield f"index {column!r} has {there - here} too much and lacks {here - there}"
