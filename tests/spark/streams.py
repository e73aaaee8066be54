"""Streaming queries for tests: input that comes file by file, and queries that read all there is and end."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle

import kubothek as kb

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SCHEMA = "p long, i1 long, x long"


def rows(values: Sequence[int]) -> pa.Table:
    """Return rows in which ``x`` says which they are, in two partitions."""
    return pa.table({"p": [x % 2 for x in values], "i1": [x % 5 for x in values], "x": pa.array(values, pa.int64())})


def feed(folder: Path, number: int, values: Sequence[int]) -> None:
    """Put a file of rows into the input; it is there at once and as a whole."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number}"
    pq.write_table(rows(values), hidden)
    hidden.rename(folder / f"{number:06}.parquet")


def fed(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the input as a stream, of which each file is a batch."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def followed(spark: SparkSession, store: Path, dataset: str = "d", **options: object) -> DataFrame:
    """Return a dataset as a stream."""
    reader = spark.readStream.format("kubothek").option("dataset", dataset)
    return reader.options(**{name: str(value) for name, value in options.items()}).load(str(store))


def start(
    frame: DataFrame,
    checkpoint: Path,
    store: Path,
    dataset: str = "d",
    *,
    mode: str = "append",
    source: str = "kubothek",
    **options: object,
) -> StreamingQuery:
    """Start to write a stream to a dataset, until all that is there has been read."""
    writer = frame.writeStream.format(source).outputMode(mode).option("checkpointLocation", str(checkpoint))
    writer = writer.options(store=str(store), dataset=dataset, **{name: str(value) for name, value in options.items()})
    return writer.trigger(availableNow=True).start()


def run(frame: DataFrame, checkpoint: Path, store: Path, dataset: str = "d", **options: object) -> StreamingQuery:
    """Write a stream to a dataset until all that is there has been read."""
    query = start(frame, checkpoint, store, dataset, **options)  # type: ignore[arg-type]  # mode is among the options
    query.awaitTermination()
    return query


def written(store: Path, dataset: str = "d") -> list[int]:
    """Read which rows a dataset has."""
    return sorted(kb.open_dataset(dataset, store).scan("x").to_arrow()["x"].to_pylist())


def forget_commit(checkpoint: Path) -> int:
    """Take from a checkpoint that its last batch was committed, as if the driver had died before; return its number."""
    last = max((path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()), key=lambda p: int(p.name))
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    last.unlink()
    return int(last.name)


def sent(something: Any) -> Any:
    """Return something as it arrives in another process."""
    packed: bytes = cloudpickle.dumps(something)  # type: ignore[no-untyped-call]
    return pickle.loads(packed)
