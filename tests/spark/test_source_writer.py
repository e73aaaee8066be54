"""The data source's writer without Spark: options and checks, tasks that are called here, commit and abort."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import types as sql
from tests.spark.flaky import FlakyStore

import kubothek as kb
from kubothek import Cube
from kubothek.errors import (
    CommitConflictError,
    DuplicateCellsError,
    InvalidInputError,
    KubothekError,
    NullValueError,
    SchemaError,
    StoreError,
    UnindexedColumnError,
)
from kubothek.spark.source import writer as module
from kubothek.spark.source.writer import Writer, make_writer

COLUMNS = sql.StructType().add("p", sql.IntegerType()).add("x", sql.LongType()).add("v1", sql.DoubleType())
CUBE = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])


def rows(*cells: tuple[int | None, int, float]) -> list[pa.RecordBatch]:
    """Return rows as Spark hands them over, a batch for each."""
    schema = pa.schema({"p": pa.int32(), "x": pa.int64(), "v1": pa.float64()})
    return [pa.record_batch([[p], [x], [v]], schema=schema) for p, x, v in cells]


def planned(place: Path, *, overwrite: bool = False, **options: str) -> Writer:
    """Return a writer of dataset ``d``, as another process gets it."""
    asked = {"store": str(place), "dataset": "d", **options}
    writer: Writer = pickle.loads(cloudpickle.dumps(make_writer(COLUMNS, overwrite, asked)))
    return writer


def run(writer: Writer, *tasks: list[pa.RecordBatch]) -> None:
    """Do what Spark does: each step with a writer of its own, messages sent by pickle."""
    packed = cloudpickle.dumps(writer)
    told = [pickle.loads(pickle.dumps(pickle.loads(packed).write(iter(task)))) for task in tasks]
    pickle.loads(packed).commit(told)


def stored(place: Path) -> kb.Dataset:
    """Write dataset ``d``, partitioned by ``p``."""
    data = pa.table({"p": pa.array([1, 2], pa.int32()), "x": [10, 20], "v1": [0.5, 0.25]})
    return kb.write_dataset(data, "d", place, partition_on="p")


def found(place: Path, uuid: str = "d") -> list[tuple[Any, ...]]:
    """Return all rows as tuples of ``p``, ``x`` and ``v1``."""
    table = kb.open_dataset(uuid, place).scan().to_arrow()
    return sorted(zip(*(table[name].to_pylist() for name in ("p", "x", "v1")), strict=True))


def files(place: Path) -> set[Path]:
    """Return all data files."""
    return set(place.rglob("*.parquet"))


def test_append_creates_and_adds(tmp_path: Path) -> None:
    """The first append makes the dataset, as the options say; the second needs no more than its name."""
    run(planned(tmp_path, partition_on="p", secondary_indices="x"), rows((1, 1, 0.5), (2, 2, 1.5)), rows((1, 3, 2.5)))
    run(planned(tmp_path), rows((3, 4, 3.5)))
    assert found(tmp_path) == [(1, 1, 0.5), (1, 3, 2.5), (2, 2, 1.5), (3, 4, 3.5)]
    dataset = kb.open_dataset("d", tmp_path)
    assert (dataset.version, dataset.partition_keys) == (2, ("p",))
    assert len(dataset.load_index("x").eval_operator("==", 4)) == 1


def test_overwrite_replaces_everything(tmp_path: Path) -> None:
    """Partition columns that are not named again are gone, as after ``write_dataset(overwrite=True)``."""
    stored(tmp_path)
    run(planned(tmp_path, overwrite=True, metadata='{"who": "me"}'), rows((7, 7, 7.0)))
    dataset = kb.open_dataset("d", tmp_path)
    assert (found(tmp_path), dataset.partition_keys, dataset.metadata["who"]) == ([(7, 7, 7.0)], (), "me")


@pytest.mark.parametrize("name", ["partitionOverwriteMode", "partition_overwrite_mode", "partitionoverwritemode"])
def test_dynamic_overwrite_replaces_partitions(tmp_path: Path, name: str) -> None:
    """Only the partitions that have new rows are replaced."""
    stored(tmp_path)
    run(planned(tmp_path, overwrite=True, **{name: "dynamic"}), rows((2, 7, 7.0), (3, 8, 8.0)))
    assert found(tmp_path) == [(1, 10, 0.5), (2, 7, 7.0), (3, 8, 8.0)]


SESSIONS: dict[str, tuple[dict[str, str], str | None, list[int]]] = {
    "says dynamic": ({}, "DYNAMIC", [1, 2]),
    "says static": ({}, "static", [2]),
    "says nothing": ({}, None, [2]),
    "is overruled": ({"partitionOverwriteMode": "static"}, "dynamic", [2]),
}


@pytest.mark.parametrize(("options", "mode", "left"), SESSIONS.values(), ids=SESSIONS)
def test_the_session_decides_unless_an_option_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], mode: str | None, left: list[int]
) -> None:
    """What a session says of overwrites only tasks are told; they stage accordingly."""
    stored(tmp_path)
    session(monkeypatch, mode)
    run(planned(tmp_path, overwrite=True, **options), rows((2, 7, 7.0)))
    assert [row[0] for row in found(tmp_path)] == left


def session(monkeypatch: pytest.MonkeyPatch, mode: str | None) -> None:
    """Make tasks run in a session that has this mode."""

    class Context:
        """What is needed of Spark's."""

        def getLocalProperty(self, key: str) -> str | None:  # noqa: N802  Spark's name
            """Return the mode."""
            assert key == module.OVERWRITE_MODE
            return mode

    monkeypatch.setattr(module.TaskContext, "get", staticmethod(Context))


def test_a_dynamic_session_is_told_what_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that could replace a dataset but not partitions of it are an error then, and nothing changes."""
    kb.write_dataset(pa.table({"p": ["a"], "z": [1]}), "d", tmp_path, partition_on="p")
    session(monkeypatch, "dynamic")
    with pytest.raises(SchemaError, match="z"):
        run(planned(tmp_path, overwrite=True, partition_on="p"), rows((2, 7, 7.0)))
    assert kb.open_dataset("d", tmp_path).version == 1
    assert len(files(tmp_path)) == 1


SCOPES = {"text": "p == 1", "mappings": '[{"p": 1}]', "mapping": '{"p": 1}', "list": '[[["p", "==", 1]]]'}


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_a_delete_scope_goes_in_the_same_commit(tmp_path: Path, scope: str) -> None:
    """It is a condition as text, or the JSON of what ``update_dataset`` takes."""
    stored(tmp_path)
    run(planned(tmp_path, delete_scope=scope), rows((1, 7, 7.0)))
    assert found(tmp_path) == [(1, 7, 7.0), (2, 20, 0.25)]
    assert kb.open_dataset("d", tmp_path).version == 2


REFUSED: dict[str, tuple[bool, dict[str, str], type[Exception], str]] = {
    "unknown option": (False, {"partion_on": "p"}, InvalidInputError, "did you mean 'partition_on'"),
    "scope of an overwrite": (True, {"delete_scope": "p == 1"}, InvalidInputError, "mode 'append'"),
    "unindexed scope": (False, {"delete_scope": "v1 > 1"}, UnindexedColumnError, "v1"),
    "other partition columns": (False, {"partition_on": "x"}, SchemaError, "partitioned by p"),
    "unknown column": (True, {"partition_on": "q"}, InvalidInputError, "q"),
    "memory": (False, {"store": "memory://a"}, InvalidInputError, "process"),
    "all at once": (True, {"delete_scope": "p == 1", "compression": "zip", "at": "1"}, InvalidInputError, "'at'"),
    "shuffle": (False, {"shuffle": "true"}, InvalidInputError, "shuffle"),
}


@pytest.mark.parametrize(("overwrite", "options", "error", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_with_a_write_is_said_before_the_job(
    tmp_path: Path, overwrite: bool, options: dict[str, str], error: type[Exception], says: str
) -> None:
    """The plan, which is made beside the driver, refuses it."""
    stored(tmp_path)
    with pytest.raises(error, match=says):
        planned(tmp_path, overwrite=overwrite, **options)


def test_columns_that_the_format_has_no_type_for_are_refused_by_the_plan(tmp_path: Path) -> None:
    """All of them are named, with what to do."""
    columns = (
        sql.StructType().add("m", sql.MapType(sql.StringType(), sql.LongType())).add("i", sql.DayTimeIntervalType())
    )
    with pytest.raises(SchemaError, match=r"(?s)'m'.*map_entries.*'i'"):
        make_writer(columns, False, {"path": str(tmp_path), "dataset": "d"})
    assert not list(tmp_path.iterdir())


def test_secrets_are_in_no_message(tmp_path: Path) -> None:
    """Options of the store are not repeated, neither in errors nor in what the writer shows of itself."""
    asked = {"store": "s3://bucket/x", "store.secret_access_key": "hunter2-xyz", "dataset": "d", "odd": "1"}
    with pytest.raises(InvalidInputError, match="odd") as caught:
        make_writer(COLUMNS, False, asked)
    assert "hunter2" not in str(caught.value)
    assert str(tmp_path) not in repr(planned(tmp_path))


def test_errors_of_rows_are_raised_by_the_commit(tmp_path: Path) -> None:
    """A task tells them, so that Spark does not try again; the commit raises them whole and removes everything."""
    writer = planned(tmp_path, partition_on="p")
    told = [writer.write(iter(rows((1, 1, 1.0)))), writer.write(iter(rows((1, 1, 1.0), (None, 2, 2.0))))]
    assert isinstance(told[1].error, NullValueError)
    with pytest.raises(NullValueError, match=r"'p'.*nothing was committed"):
        writer.commit(told)
    assert not files(tmp_path)
    assert not (tmp_path / "d.by-dataset-metadata.json").exists()


def test_errors_of_the_storage_are_raised_in_the_task(tmp_path: Path) -> None:
    """Another attempt may mend them, so Spark has to know."""
    (tmp_path / "marks").mkdir()
    store = FlakyStore(tmp_path / "s", fails="/", times=1, marker=str(tmp_path / "marks"), error=StoreError)
    job = module.replace_job(pa.schema({"p": pa.int32(), "x": pa.int64(), "v1": pa.float64()}), "d", store)
    with pytest.raises(StoreError, match="refused"):
        Writer(job).write(iter(rows((1, 1, 1.0))))
    Writer(job).commit([Writer(job).write(iter(rows((1, 1, 1.0))))])
    assert found(tmp_path / "s") == [(1, 1, 1.0)]


def test_a_task_without_a_message_keeps_all_from_being_committed(tmp_path: Path) -> None:
    """Rows of a task that are not known to be there are not left out silently."""
    writer = planned(tmp_path)
    with pytest.raises(KubothekError, match="1 of them did not say"):
        writer.commit([writer.write(iter(rows((1, 1, 1.0)))), None])
    assert not files(tmp_path)


def test_abort_removes_what_any_task_has_left(tmp_path: Path) -> None:
    """Files of tasks whose message is lost are found; those of others stay, staged ones too."""
    dataset = stored(tmp_path)
    kb.write_partitions(pa.table({"p": pa.array([1], pa.int32()), "x": [1], "v1": [1.0]}), "d", tmp_path)
    before = files(tmp_path)
    writer = planned(tmp_path, secondary_indices="")
    told = [writer.write(iter(rows((1, n, 1.0), (2, n, 1.0)))) for n in range(3)]
    assert len(files(tmp_path)) == len(before) + 6
    writer.abort([told[0], None, None])
    assert files(tmp_path) == before
    assert len(dataset.partitions) == 2


def test_abort_after_a_commit_touches_nothing(tmp_path: Path) -> None:
    """Where every task has told, there was a commit, which may have taken place although nobody knows."""
    writer = planned(tmp_path)
    told = [writer.write(iter(rows((1, 1, 1.0))))]
    writer.commit(told)
    writer.abort(told)
    assert found(tmp_path) == [(1, 1, 1.0)]


def test_a_commit_that_conflicts_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    """Another layout meanwhile is an error that names both."""
    writer = planned(tmp_path, partition_on="p")
    told = [writer.write(iter(rows((1, 1, 1.0))))]
    kb.write_dataset(pa.table({"z": [1]}), "d", tmp_path)
    with pytest.raises(CommitConflictError, match=r"'update_dataset'.*'write_dataset'"):
        writer.commit(told)
    assert len(files(tmp_path)) == 1


def test_many_tasks_in_many_partitions(tmp_path: Path) -> None:
    """Each task writes one file per partition, whatever order its rows come in, and messages stay small."""
    writer = planned(tmp_path, partition_on="p", sort_by="x")
    told = [writer.write(iter(rows(*((n * 7 % 50, n * t, n / 2) for n in range(200))))) for t in range(1, 4)]
    writer.commit(told)
    assert len(kb.open_dataset("d", tmp_path).partitions) == 150
    assert len(pickle.dumps(told[0])) < 50 * 700
    expected = sorted((n * 7 % 50, n * t, n / 2) for t in range(1, 4) for n in range(200))
    assert found(tmp_path) == expected


def built(place: Path) -> None:
    """Build cube ``c`` with two cells."""
    kb.build_cube(pa.table({"p": pa.array([1, 2], pa.int32()), "x": [10, 20], "v1": [0.5, 0.25]}), CUBE, place)


def in_cube(place: Path, dataset: str, *, overwrite: bool = False, **options: str) -> Writer:
    """Return a writer of a dataset of the cube."""
    return planned(place, overwrite=overwrite, cube="c", dataset=dataset, **options)


def test_rows_are_appended_to_a_cube(tmp_path: Path) -> None:
    """As by ``append_to_cube``: a cell that is there gets a new version."""
    built(tmp_path)
    run(in_cube(tmp_path, "seed"), rows((1, 10, 9.0)), rows((3, 30, 3.0)))
    assert kb.query_cube(CUBE, tmp_path).to_arrow().to_pydict()["v1"] == [9.0, 0.25, 3.0]
    assert not kb.check_cube(CUBE, tmp_path)


def test_partitions_of_a_cube_are_replaced(tmp_path: Path) -> None:
    """As by ``update_cube``: exactly the partitions that have rows."""
    built(tmp_path)
    run(in_cube(tmp_path, "seed", overwrite=True, partitionOverwriteMode="dynamic"), rows((1, 11, 9.0)))
    assert kb.query_cube(CUBE, tmp_path).to_arrow().to_pydict()["x"] == [11, 20]


def test_a_cube_gets_an_enrichment(tmp_path: Path) -> None:
    """As by ``extend_cube``: it is created, and replaced by the next overwrite; the seed is not."""
    kb.build_cube(pa.table({"p": pa.array([1, 2], pa.int32()), "x": [10, 20]}), CUBE, tmp_path)
    for value in (1.0, 2.0):
        run(in_cube(tmp_path, "more", overwrite=True, metadata='{"who": "me"}'), rows((1, 10, value)))
    assert kb.query_cube(CUBE, tmp_path).to_arrow().to_pydict()["v1"] == [2.0, None]
    assert kb.open_dataset("c++more", tmp_path).metadata["who"] == "me"
    with pytest.raises(InvalidInputError, match=r"seed.*build the cube anew"):
        in_cube(tmp_path, "seed", overwrite=True)


def test_cells_of_two_tasks_are_compared(tmp_path: Path) -> None:
    """A cell that two tasks of one write have is an error, and so is one that a task has twice."""
    built(tmp_path)
    for tasks in ([rows((1, 5, 1.0)), rows((1, 5, 2.0))], [rows((1, 5, 1.0), (2, 5, 1.0), (1, 5, 2.0))]):
        with pytest.raises(DuplicateCellsError, match="more than once"):
            run(in_cube(tmp_path, "seed"), *tasks)
    assert kb.query_cube(CUBE, tmp_path).to_arrow().num_rows == 2
    assert len(files(tmp_path / "c++seed" / "table")) == 2


CUBE_REFUSED: dict[str, tuple[bool, dict[str, str], str]] = {
    "no such dataset": (False, {"dataset": "more"}, "no such dataset"),
    "not for cubes": (False, {"sort_by": "x", "delete_scope": "p == 1"}, "'delete_scope', 'sort_by' cannot"),
    "no such cube": (False, {"cube": "e"}, "no cube 'e'"),
    "odd id": (False, {"dataset": "a++b"}, "a\\+\\+b"),
}


@pytest.mark.parametrize(("overwrite", "options", "says"), CUBE_REFUSED.values(), ids=CUBE_REFUSED)
def test_what_does_not_fit_a_cube_is_refused(
    tmp_path: Path, overwrite: bool, options: Mapping[str, str], says: str
) -> None:
    """The plan says so, before any row."""
    built(tmp_path)
    with pytest.raises(KubothekError, match=says):
        planned(tmp_path, overwrite=overwrite, **{"cube": "c", "dataset": "seed", **options})


def test_no_rows_for_a_cube_are_an_error(tmp_path: Path) -> None:
    """As for the functions of the API, it is more likely a mistake than meant."""
    built(tmp_path)
    with pytest.raises(InvalidInputError, match="no rows"):
        run(in_cube(tmp_path, "seed"), [])
    assert kb.query_cube(CUBE, tmp_path).to_arrow().num_rows == 2
