"""A streaming query reads a dataset: all of it, then what comes, whatever others do to it."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType
from tests.spark.streams import followed, forget_commit, rows, run, sent, written

import kubothek as kb
from kubothek.errors import CorruptDatasetError, InvalidInputError, NotFoundError, SchemaError, SnapshotExpiredError
from kubothek.spark.source.data_source import KubothekSource
from kubothek.spark.source.offsets import place_of
from kubothek.spark.source.stream_source import StreamReader, make_stream_reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPENDER = """
import sys, time
from datetime import timedelta
from pathlib import Path
from tests.spark.streams import rows, written
import kubothek as kb
from kubothek.errors import DatasetNotFoundError
def copied():
    try:
        return len(written(sink, "e"))
    except DatasetNotFoundError:
        return 0
store, sink, first, last = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
for number in range(first, last):
    while number > 10 and copied() < 10 * (number - 10):
        time.sleep(0.2)  # a stream that lags behind would miss versions that are given up
    kb.update_dataset(rows(range(10 * number, 10 * number + 10)), "d", store, sort_by="x")
    if number % 5 == 0:
        kb.build_dataset_indices("d", store, "i1") if number % 10 else kb.drop_dataset_indices("d", store, "i1")
        kb.garbage_collect_dataset("d", store, older_than=timedelta(0), keep=25)
"""


def append(store: Path, *values: int, **settings: Any) -> None:
    """Commit rows to the dataset, which is partitioned by ``p``."""
    kb.update_dataset(rows(values), "d", store, partition_on="p", **settings)


def reader(store: Path, columns: StructType | None = None, **options: Any) -> StreamReader:
    """Return what Spark makes beside the driver for a query."""
    given = {"store": str(store), "dataset": "d"} | {name: str(value) for name, value in options.items()}
    made = make_stream_reader(KubothekSource(given).schema() if columns is None else columns, given)
    assert isinstance(made, StreamReader)
    return made


def step(made: StreamReader, offset: dict[str, Any], *, everything: bool = False) -> dict[str, Any]:
    """Return the next offset, as Spark notes it."""
    limit = ReadAllAvailable() if everything else made.getDefaultReadLimit()
    noted: dict[str, Any] = json.loads(json.dumps(made.latestOffset(offset, limit)))
    return noted


def read(made: StreamReader, before: dict[str, Any], after: dict[str, Any]) -> list[int]:
    """Read what is between two offsets as tasks do, as the values of ``x``."""
    task = sent(made)
    batches = [batch for piece in made.partitions(before, after) for batch in task.read(piece)]
    return sorted(x for batch in batches for x in batch.column("x").to_pylist())


def test_a_query_reads_what_comes(spark: SparkSession, tmp_path: Path) -> None:
    """All rows first, then new ones, each once, also after restarts and where a batch comes again."""
    source, checkpoint, sink = tmp_path / "s", tmp_path / "c", tmp_path / "t"
    append(source, 1, 2, 3)
    append(source, 4)
    run(followed(spark, source), checkpoint, sink, "e")
    assert written(sink, "e") == [1, 2, 3, 4]
    for number in (5, 6, 7):
        append(source, number)
    query = run(followed(spark, source, maxVersionsPerTrigger=2), checkpoint, sink, "e")
    assert [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]] == [2, 1]
    forget_commit(checkpoint)
    append(source, 8)
    run(followed(spark, source), checkpoint, sink, "e")
    assert written(sink, "e") == [*range(1, 9)]


def test_columns_and_conditions(spark: SparkSession, tmp_path: Path) -> None:
    """Of the rows that come only those are read that are asked for, with their columns as asked for."""
    source, sink = tmp_path / "s", tmp_path / "t"
    append(source, *range(10))
    frame = followed(spark, source, columns="x, p", where="p == 1 & x > 4")
    assert frame.columns == ["x", "p"]
    run(frame, tmp_path / "c", sink, "e")
    assert kb.open_dataset("e", sink).scan().to_arrow().to_pydict() == {"p": [1, 1, 1], "x": [5, 7, 9]}


def test_removed_partitions_fail_the_query_or_not(spark: SparkSession, tmp_path: Path) -> None:
    """The query says what went and what can be done; with the option it goes on."""
    source, sink = tmp_path / "s", tmp_path / "t"
    append(source, 1, 2)
    run(followed(spark, source), tmp_path / "c", sink, "e")
    append(source, 3, delete_scope=[{"p": 0}])
    with pytest.raises(StreamingQueryException, match=r"1 partition of dataset 'd'.*onRemoval=ignore"):
        run(followed(spark, source), tmp_path / "c", sink, "e")
    run(followed(spark, source, onRemoval="ignore"), tmp_path / "c", sink, "e")
    assert written(sink, "e") == [1, 2, 3]


def test_a_pipeline_loses_nothing_while_others_work(spark: SparkSession, tmp_path: Path) -> None:
    """Another process appends, builds indices and collects garbage, while one query after the other copies all."""
    source, checkpoint, sink = tmp_path / "s", tmp_path / "c", tmp_path / "t"
    kb.write_dataset(rows(range(10)), "d", source, partition_on="p")
    queries = 0
    with subprocess.Popen([sys.executable, "-c", APPENDER, str(source), str(sink), "1", "31"]) as appender:
        while queries < 2 or appender.poll() is None:
            run(followed(spark, source, maxVersionsPerTrigger=10), checkpoint, sink, "e", partition_on="p")
            queries += 1
        assert appender.returncode == 0
    run(followed(spark, source), checkpoint, sink, "e")
    assert written(sink, "e") == written(source) == [*range(310)]
    assert kb.verify_dataset("e", sink) == []


def test_offsets_are_versions(tmp_path: Path) -> None:
    """What is noted tells the version, and the same rows are read between two offsets whenever that is."""
    append(tmp_path, 1)
    made = reader(tmp_path)
    first = step(made, made.initialOffset())
    append(tmp_path, 2)
    second = step(made, first)
    append(tmp_path, 3)
    assert (made.initialOffset(), first["version"], second["version"]) == ({"after": 0}, 1, 2)
    assert made.reportLatestOffset()["version"] == 3
    for again in (made, reader(tmp_path)):
        assert [read(again, made.initialOffset(), first), read(again, first, second)] == [[1], [2]]
    assert (made.partitions(second, second), made.partitions({"after": None}, {"after": None})) == ([], [])


@pytest.mark.parametrize(("word", "expected"), [("1", [1, 2, 3]), ("3", [3]), ("4", []), ("latest", [])])
def test_the_beginning_is_chosen(tmp_path: Path, word: str, expected: list[int]) -> None:
    """With the rows of a version, or with what comes; a query that is killed in its first batch begins there again."""
    for number in (1, 2, 3):
        append(tmp_path, number)
    made = reader(tmp_path, startingVersion=word)
    first = step(made, made.initialOffset())
    append(tmp_path, 4)
    again = reader(tmp_path, startingVersion=word)
    assert read(again, again.initialOffset(), first) == expected
    assert read(again, first, step(again, first)) == [4]


def test_a_query_that_ends_reads_what_was_there_when_it_began(tmp_path: Path) -> None:
    """With trigger ``availableNow`` it does not run after those who append; nor does it with a limit."""
    append(tmp_path, 1)
    append(tmp_path, 2)
    made = reader(tmp_path, startingVersion="2", maxVersionsPerTrigger=1)
    made.prepareForTriggerAvailableNow()
    append(tmp_path, 3)
    end = step(made, made.initialOffset())
    assert (end["version"], step(made, end), step(made, end, everything=True)) == (2, end, end)


def test_a_limit_counts_versions_unless_all_is_asked_for(tmp_path: Path) -> None:
    """A batch takes in so many versions, but for one whose trigger asks for everything."""
    for number in range(5):
        append(tmp_path, number)
    made = reader(tmp_path, startingVersion="latest", maxVersionsPerTrigger=2)
    place = step(made, made.initialOffset())
    for number in range(5):
        append(tmp_path, number)
    assert (step(made, place)["version"], step(made, place, everything=True)["version"]) == (7, 10)


def test_an_idle_look_reads_no_header(tmp_path: Path) -> None:
    """Spark asks for new rows all the time; where nothing has happened the answer is known."""
    append(tmp_path, 1)
    made = reader(tmp_path)
    first = step(made, made.initialOffset())
    seen = made._seen
    assert (step(made, first), made._seen is not None) == (first, True)
    assert seen is made._seen


def test_a_table_of_several(tmp_path: Path) -> None:
    """A stream is of one table, which is named where there are several."""
    data = {"a": pa.table({"p": [1], "x": [1]}), "b": pa.table({"p": [1], "x": [2]})}
    kb.write_dataset(data, "d", tmp_path, partition_on="p")
    made = reader(tmp_path, table="b")
    assert read(made, made.initialOffset(), step(made, made.initialOffset())) == [2]


def test_versions_that_were_collected(tmp_path: Path) -> None:
    """A query that was stopped for too long is told why it cannot go on, and what helps."""
    append(tmp_path, 1)
    made = reader(tmp_path)
    first = step(made, made.initialOffset())
    for number in range(4):
        append(tmp_path, number)
    kb.garbage_collect_dataset("d", tmp_path, older_than=timedelta(0), keep=2)
    with pytest.raises(SnapshotExpiredError, match=r"new checkpoint.*keep more versions"):
        made.partitions(first, step(made, first))


def test_another_dataset_of_the_name(tmp_path: Path) -> None:
    """A dataset that was deleted and created again is not taken for the one that was read."""
    append(tmp_path, 1)
    made = reader(tmp_path)
    first = step(made, made.initialOffset())
    kb.delete_dataset("d", tmp_path)
    with pytest.raises(NotFoundError, match="no dataset 'd'"):
        step(made, first)
    append(tmp_path, 2)
    with pytest.raises(InvalidInputError, match="deleted and created again"):
        step(made, first)


def test_types_that_change_meanwhile(tmp_path: Path) -> None:
    """A column that was null and has got a type is told; a stream that is loaded again has it, also for what was."""
    kb.write_dataset(pa.table({"x": [1], "v1": pa.nulls(1)}), "d", tmp_path)
    old = reader(tmp_path)
    first = step(old, old.initialOffset())
    kb.update_dataset(pa.table({"x": [2], "v1": [0.5]}), "d", tmp_path)
    with pytest.raises(SchemaError, match=r"'v1' is double.*load again"):
        old.partitions(first, step(old, first))
    new = reader(tmp_path)
    assert read(new, new.initialOffset(), first) == [1]
    assert read(new, first, step(new, first)) == [2]


OPTIONS = {
    "word": ({"startingVersion": "yesterday"}, "number of a version from 1 on, or 'latest'"),
    "zero": ({"startingVersion": "0"}, "from 1 on"),
    "limit": ({"maxVersionsPerTrigger": "0"}, "number above 0"),
    "removal": ({"onRemoval": "skip"}, "one of error, ignore"),
    "at": ({"at": "3"}, "startingVersion"),
    "unknown": ({"maxVersionPerTrigger": "3"}, "did you mean 'maxVersionsPerTrigger'"),
}


@pytest.mark.parametrize(("options", "told"), OPTIONS.values(), ids=OPTIONS)
def test_options_are_checked(options: dict[str, str], told: str) -> None:
    """What a stream cannot do is told."""
    with pytest.raises(InvalidInputError, match=told):
        make_stream_reader(StructType(), {"store": "/s", "dataset": "d"} | options)


@pytest.mark.parametrize(("options", "told"), [({"cube": "c"}, "one of its datasets"), ({}, "name the 'dataset'")])
def test_a_stream_is_of_a_dataset(options: dict[str, str], told: str) -> None:
    """A cube is none, and something must be named."""
    with pytest.raises(InvalidInputError, match=told):
        make_stream_reader(StructType(), {"store": "/s"} | options)


@pytest.mark.parametrize("offset", [{}, {"after": "x"}, {"version": 1}, {"after": 0, "version": 1}, {"logOffset": 3}])
def test_offsets_of_others_are_refused(offset: dict[str, Any]) -> None:
    """A checkpoint of another kind of source is not understood as one of ours."""
    with pytest.raises(CorruptDatasetError, match="new checkpoint"):
        place_of(offset)
