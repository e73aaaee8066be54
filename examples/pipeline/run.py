"""Run all steps, one after the other, in one session on this machine.

Each does only what has changed since it last ran. A scheduler would start them by themselves, as README.md shows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

import clean
import features
import ingest
import kpis
import nyc
import predict
import train


def run(
    spark: SparkSession, landing: str, store: str, months: Sequence[str] | None = None, *, retrain: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield the name of each step and what it did; train where there is no model yet, or it is asked for."""
    yield "ingest", ingest.ingest(spark, landing, store, months)
    yield "clean", clean.clean(spark, store, months)
    yield "weather", features.add_weather(spark, store, months)
    yield "delays", features.add_delays(spark, store)
    if retrain or not nyc.partitions(nyc.MODEL, store):
        yield "train", train.train(spark, store, months)
    yield "predict", predict.predict(spark, store)
    yield "kpis", kpis.aggregate(spark, store, months)


def main() -> None:
    """Run the pipeline as the command line says."""
    parser = nyc.arguments(__doc__)
    parser.add_argument("--landing", required=True, help="directory of the delivered files")
    parser.add_argument("--retrain", action="store_true", help="train although there is a model")
    given = parser.parse_args()
    spark = nyc.session("nyc")
    begin = time.perf_counter()
    for step, done in run(spark, given.landing, given.store, given.months, retrain=given.retrain):
        print(f"{step:8} {time.perf_counter() - begin:5.1f} s  {nyc.told(done)}")
        begin = time.perf_counter()
    spark.stop()


if __name__ == "__main__":
    main()
