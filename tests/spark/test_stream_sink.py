"""A streaming query writes to a dataset: each batch once, whatever becomes of the query."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.types import LongType, StructField, StructType
from tests.spark.streams import fed, feed, forget_commit, rows, run, sent, written

import kubothek as kb
from kubothek.dataset.snapshot import load_snapshot
from kubothek.errors import InvalidInputError, SchemaError
from kubothek.spark.source.stream_sink import StreamWriter, make_stream_writer
from kubothek.store.open import open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGS = StructType([StructField(name, LongType()) for name in ("p", "i1", "x")])


def writer(store: Path, **options: str) -> StreamWriter:
    """Return what Spark makes in a process of its own for each step of a batch."""
    given = {"store": str(store), "dataset": "d", "query": "q", "checkpointlocation": "c"}
    return make_stream_writer(LONGS, False, given | options)


def staged(made: StreamWriter, values: list[int]) -> Any:
    """Return the message of a task, as it arrives beside the driver."""
    task = sent(made)
    return sent(task.write(iter(rows(values).to_batches())))


def batches(store: Path) -> Mapping[str, int]:
    """Return the last batch of each query that a dataset has."""
    state = load_snapshot("d", open_store(store)).header.state
    assert state is not None
    return state.streams


def files(store: Path) -> int:
    """Count the data files of the dataset."""
    return len([*(store / "d" / "table").rglob("*.parquet")])


def test_each_batch_is_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    """A query creates the dataset, goes on after a restart, and a batch that comes again is not written again."""
    source, checkpoint, store = tmp_path / "in", tmp_path / "c", tmp_path / "s"
    for number in range(3):
        feed(source, number, range(10 * number, 10 * number + 10))
    query = run(fed(spark, source), checkpoint, store, partition_on="p", secondary_indices="i1", sort_by="x")
    assert batches(store) == {query.id: 2}
    assert forget_commit(checkpoint) == 2
    feed(source, 3, range(30, 40))
    run(fed(spark, source), checkpoint, store)
    dataset = kb.open_dataset("d", store)
    assert (written(store), dataset.version, batches(store)) == ([*range(40)], 4, {query.id: 3})
    assert {entry.operation for entry in dataset.history()} == {"write_stream"}
    assert len(dataset.partitions) == files(store)
    assert dataset.load_index("i1").table["i1"].to_pylist() == [0, 1, 2, 3, 4]
    assert kb.verify_dataset("d", store) == []


def test_the_content_is_replaced_batch_by_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Output mode ``complete`` gives the newest result; ``update`` is refused, which cannot be stored."""
    source, store = tmp_path / "in", tmp_path / "s"
    feed(source, 0, range(4))
    feed(source, 1, range(4, 6))

    def counts() -> Any:
        return fed(spark, source).groupBy("p").count()

    run(counts(), tmp_path / "c", store, mode="complete")
    dataset = kb.open_dataset("d", store)
    assert (dataset.scan().to_pandas().sort_values("p").to_dict("list"), dataset.version) == (
        {"count": [3, 3], "p": [0, 1]},
        2,
    )
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        run(counts(), tmp_path / "u", store, mode="update")


def test_a_lost_checkpoint_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """A query that the user has named and that begins anew is told so; no row is dropped, none is written twice."""
    source, store = tmp_path / "in", tmp_path / "s"
    feed(source, 0, [1])
    feed(source, 1, [2])
    run(fed(spark, source), tmp_path / "c", store, query="q")
    assert batches(store) == {"q": 1}
    shutil.rmtree(tmp_path / "c")
    with pytest.raises(StreamingQueryException, match="Its checkpoint was lost"):
        run(fed(spark, source), tmp_path / "c", store, query="q")
    assert (written(store), files(store)) == ([1, 2], 2)


def test_rows_that_cannot_be_stored_fail_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """What the task says is told, nothing is committed, and nothing is left of the tasks that went well."""
    source, store = tmp_path / "in", tmp_path / "s"
    feed(source, 0, range(100))
    frame = fed(spark, source).repartition(2).selectExpr("if(x = 7, null, p) AS p", "x")
    with pytest.raises(StreamingQueryException, match=r"partition column 'p' of 'd' has no value"):
        run(frame, tmp_path / "c", store, partition_on="p")
    assert (files(store), [*store.glob("*.by-dataset-metadata*")]) == (0, [])


def test_a_batch_of_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    """The first one makes an empty dataset with the columns of the stream."""
    feed(tmp_path / "in", 0, [1])
    run(fed(spark, tmp_path / "in").where("x > 1"), tmp_path / "c", tmp_path / "s", partition_on="p")
    dataset = kb.open_dataset("d", tmp_path / "s")
    assert (dataset.schema.names, dataset.partition_keys, len(dataset.partitions)) == (["p", "i1", "x"], ("p",), 0)


def test_what_was_planned_is_committed_elsewhere(tmp_path: Path) -> None:
    """Tasks and commit run in processes that share messages only; a repeated batch is recognised there."""
    for _ in range(2):
        made = writer(tmp_path, partition_on="p")
        messages = [staged(made, [1, 2, 3]), staged(made, []), staged(made, [4])]
        writer(tmp_path, partition_on="p").commit(messages, 0)
    assert (written(tmp_path), files(tmp_path), batches(tmp_path)) == ([1, 2, 3, 4], 3, {"q": 0})


def test_abort_leaves_nothing_of_tasks_that_ended(tmp_path: Path) -> None:
    """Where a task has no message, there was no commit, and what others have staged goes, whoever knows of it."""
    made = writer(tmp_path, partition_on="p")
    unknown, message = staged(made, [1, 2]), staged(made, [3])
    assert (files(tmp_path), unknown.staged == message.staged) == (3, False)
    writer(tmp_path, partition_on="p").abort([message, None], 0)
    assert files(tmp_path) == 0


def test_abort_after_a_commit_deletes_nothing(tmp_path: Path) -> None:
    """Spark also aborts when the process that commits was killed; what it has committed stays."""
    messages = [staged(writer(tmp_path), [1, 2])]
    writer(tmp_path).commit(messages, 0)
    writer(tmp_path).abort(messages, 0)
    assert written(tmp_path) == [1, 2]


def test_a_commit_without_all_messages_is_refused(tmp_path: Path) -> None:
    """A task that did not say what it has written is none that wrote nothing."""
    for messages in ([], [staged(writer(tmp_path), [1]), None]):
        with pytest.raises(InvalidInputError, match="said what they have written"):
            writer(tmp_path).commit(messages, 0)


def test_a_query_must_be_known(tmp_path: Path) -> None:
    """Where nobody says which query a batch is of, it could not be recognised."""
    made = make_stream_writer(LONGS, False, {"store": str(tmp_path), "dataset": "d"})
    with pytest.raises(InvalidInputError, match="option 'query'"):
        made.write(iter(rows([1]).to_batches()))


OPTIONS = {
    "unknown": ({"partitions_on": "p"}, "did you mean 'partition_on'"),
    "delete scope": ({"delete_scope": "p == 1"}, "'delete_scope' is unknown"),
    "name": ({"query": "a b"}, "visible ASCII"),
    "column": ({"partition_on": "q"}, "lacks columns"),
}


@pytest.mark.parametrize(("options", "told"), OPTIONS.values(), ids=OPTIONS)
def test_options_are_checked_before_rows_are_read(tmp_path: Path, options: dict[str, str], told: str) -> None:
    """What cannot be done is told when a batch is planned."""
    with pytest.raises(InvalidInputError, match=told):
        writer(tmp_path, **options)


def test_the_dataset_decides_the_types(tmp_path: Path) -> None:
    """Rows that do not fit the dataset are refused when a batch is planned."""
    kb.write_dataset(pa.table({"p": [1], "i1": ["a"], "x": [1]}), "d", tmp_path)
    with pytest.raises(SchemaError, match="i1"):
        writer(tmp_path)
