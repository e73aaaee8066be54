"""Step 1, ingest: delivered CSV files become the datasets ``raw_flights`` and ``raw_weather``, a partition per month.

A file that has not changed since it was read is not read again. One that has replaces its month, in one commit for all
such months, so that a second run doubles nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import nyc

FLIGHTS = """
    YEAR int, MONTH int, DAY int, DEP_TIME int, SCHED_DEP_TIME int, DEP_DELAY double, ARR_TIME int, SCHED_ARR_TIME int,
    ARR_DELAY double, CARRIER string, FLIGHT int, TAILNUM string, ORIGIN string, DEST string, AIR_TIME double,
    DISTANCE double, HOUR int, MINUTE int, TIME_HOUR timestamp
"""
WEATHER = """
    ORIGIN string, MONTH int, TEMP double, DEWP double, HUMID double, WIND_DIR double, WIND_SPEED double,
    WIND_GUST double, PRECIP double, PRESSURE double, VISIB double, TIME_HOUR timestamp, YEAR int
"""


def ingest(spark: SparkSession, landing: str, store: str, months: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Bring new and changed files in; return the months that were read, by dataset."""
    return {
        nyc.RAW_FLIGHTS: _ingest(spark, Path(landing, "flights"), FLIGHTS, nyc.RAW_FLIGHTS, store, months),
        nyc.RAW_WEATHER: _ingest(spark, Path(landing, "weather"), WEATHER, nyc.RAW_WEATHER, store, months),
    }


def _ingest(
    spark: SparkSession, folder: Path, schema: str, uuid: str, store: str, months: Sequence[str] | None
) -> list[str]:
    delivered = {path.stem: _checksum(path) for path in sorted(folder.glob("*.csv"))}
    new = nyc.changed(delivered, uuid, store, months)
    if not new:
        return []
    # enforceSchema: the names in the first line of each file have to be those that are expected.
    files = [str(folder / f"{month}.csv") for month in new]
    rows = spark.read.schema(schema).csv(files, header=True, enforceSchema=False, mode="FAILFAST")
    rows = rows.withColumn("MONTH", sql.format_string("%04d-%02d", "YEAR", "MONTH"))
    rows.write.format("kubothek").mode("overwrite").options(
        store=store,
        dataset=uuid,
        partition_on="MONTH",
        partitionOverwriteMode="dynamic",  # the months in these rows, no others
        metadata=json.dumps(nyc.notes(new)),
    ).save()
    return list(new)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Ingest what the command line names."""
    parser = nyc.arguments(__doc__)
    parser.add_argument("--landing", required=True, help="directory of the delivered files")
    given = parser.parse_args()
    spark = nyc.session("nyc: ingest")
    print(nyc.told(ingest(spark, given.landing, given.store, given.months)))
    spark.stop()


if __name__ == "__main__":
    main()
