"""A look over a store finds what other software got wrong, and what is left over."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest

from kubothek import Cube, Store, build_cube, write_dataset
from kubothek.codec.keys import header_key
from kubothek.cube.survey import survey_store
from kubothek.errors import DatasetNotFoundError
from kubothek.model.problem import Problem, ProblemKind
from kubothek.plan.survey import check_partition_values, check_tables_of, problem_finding

VALUES = {
    "boolean_partition": ("suspicious", pa.array([True, False])),
    "decimal_partition": ("suspicious", pa.array([Decimal("1.5")])),
    "naive_time_partition": ("note", pa.array([0], pa.timestamp("us"))),
    "null_like_value": ("suspicious", pa.array([1.0, float("nan")])),
}
FINE = {
    "only true": pa.array([True]),
    "numbers": pa.array([1, 2]),
    "text": pa.array(["a", ""]),
    "dates": pa.array([0], pa.date32()),
}


def kinds_of(values: pa.Array) -> list[tuple[str, str]]:
    """Return what is found of these partition values."""
    files = pa.table({"key": [f"d/table/P=1/{n}.parquet" for n in range(len(values))], "partition/P": values})
    schema = pa.schema([("P", values.type)])
    return [(one.severity, one.kind) for one in check_partition_values("d", "table", ["P"], schema, files)]


@pytest.mark.parametrize("kind", VALUES)
def test_values_that_mean_something_else(kind: str) -> None:
    """Values that other software reads otherwise, or that may stand for a null, are found."""
    severity, values = VALUES[kind]
    assert kinds_of(values) == [(severity, kind)]


@pytest.mark.parametrize("name", FINE)
def test_values_that_mean_the_same(name: str) -> None:
    """Nothing is said of values that come back whole everywhere."""
    assert kinds_of(FINE[name]) == []


def test_texts_that_stand_for_null() -> None:
    """A text such as NaT may have been a null."""
    assert kinds_of(pa.array(["a", "NaT"])) == [("suspicious", "null_like_value")]


def test_one_table_is_not_noted() -> None:
    """Several tables are."""
    assert ([*check_tables_of(["table"])], [one.kind for one in check_tables_of(["a", "b"])]) == (
        [],
        ["several_tables"],
    )


@pytest.mark.parametrize("kind", get_args(ProblemKind))
def test_every_problem_has_a_severity(kind: ProblemKind) -> None:
    """What a check finds is suspicious or broken, and says what to do."""
    finding = problem_finding(Problem(kind, "d", "k", "What is wrong."))
    assert finding.severity in ("suspicious", "broken")
    assert (finding.kind, finding.key, finding.message.startswith("What is wrong.")) == (kind, "k", True)


def test_files_that_nothing_refers_to(tmp_path: Path) -> None:
    """Files that are left over for more than a day are found, and so are folders of no dataset."""
    write_dataset(pa.table({"x": [1]}), "d", tmp_path)
    for folder in ("d", "gone"):
        left = tmp_path / folder / "table" / "left.parquet"
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_bytes(b"")
        os.utime(left, (0, 0))
    found = {one.name: [f.kind for f in one.findings] for one in survey_store(Store(tmp_path)).subjects}
    assert found == {"d": ["unreferenced_files"], "gone": ["folder_without_header"]}


def test_cubes_that_do_not_fit_together() -> None:
    """Datasets of a cube are checked as a cube; another dataset is not looked at where the cube was named."""
    url = "memory://survey_cubes"
    cube = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p")
    build_cube(pa.table({"x": [1], "p": [1], "v1": [1]}), cube, url)
    write_dataset(pa.table({"x": [1], "p": [1], "v1": [2]}), "c++other", url, partition_on="p")
    write_dataset(pa.table({"x": [1]}), "d", url)
    survey = survey_store(Store(url), "c")
    assert [(one.name, one.kind) for one in survey.subjects] == [
        ("c++other", "dataset"),
        ("c++seed", "dataset"),
        ("c", "cube"),
    ]
    assert "shared_payload" in {finding.kind for one in survey.subjects for finding in one.findings}


@pytest.mark.parametrize(
    ("uuid", "kinds"),
    [
        ("c++seed", ["no_readable_seed", "unsound_datasets"]),
        ("c++e", ["unsound_datasets"]),
        ("lone++e", ["no_readable_seed", "unsound_datasets"]),
    ],
)
def test_cubes_are_no_better_than_their_datasets(uuid: str, kinds: list[str]) -> None:
    """A cube is as broken as its datasets, and where the seed cannot be read that is said besides."""
    store = Store(f"memory://survey_unreadable_{uuid}")
    cube = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p")
    rows = pa.table({"x": [1], "p": [1]})
    build_cube({"seed": rows, "e": rows}, cube, store)
    store.put(header_key(uuid, "json"), b"{}")
    (found,) = [one for one in survey_store(store, uuid.partition("++")[0]).subjects if one.kind == "cube"]
    assert (found.verdict, [one.kind for one in found.findings]) == ("broken", kinds)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("ds_part_slash", {"slash_in_value"}),
        ("ds_part_bool", {"boolean_partition"}),
        ("ds_part_ts", {"naive_time_partition"}),
        ("ds_seed_multi_table", {"missing_table", "several_tables", "naive_time_partition"}),
        ("ds_fmt_zstd_msgpack", set()),
        ("cube_simple", set()),
    ],
)
def test_stores_that_kartothek_wrote(corpus: Path, name: str, kinds: set[str]) -> None:
    """What Kartothek got wrong is found, and nothing else."""
    survey = survey_store(Store(corpus / name / "store"))
    assert {finding.kind for subject in survey.subjects for finding in subject.findings} == kinds
    assert survey.count("broken") == 0


def test_names_that_nothing_has() -> None:
    """A name that neither a dataset nor a cube has is an error."""
    with pytest.raises(DatasetNotFoundError):
        survey_store(Store("memory://survey_nothing"), "zz")
