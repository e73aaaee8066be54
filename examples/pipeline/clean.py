"""Step 2, clean: raw flights become the seed of the cube, which says which flights there are.

A flight that was delivered twice counts once, one without its key not at all. Months whose raw files have changed are
replaced, all of them in one commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import kubothek as kb
import nyc

SEED = nyc.CUBE.dataset_uuid(nyc.CUBE.seed_dataset)


def clean(spark: SparkSession, store: str, months: Sequence[str] | None = None) -> list[str]:
    """Make the seed's months anew whose raw rows have changed; return them."""
    new = nyc.changed(nyc.months_of(nyc.RAW_FLIGHTS, store), SEED, store, months)
    if not new:
        return []
    raw = spark.read.format("kubothek").options(store=store, dataset=nyc.RAW_FLIGHTS).load()
    flights = flights_of(raw.where(sql.col("MONTH").isin(list(new))))
    write = kb.update_cube if nyc.partitions(SEED, store) else kb.build_cube
    write(flights, nyc.CUBE, store, metadata={nyc.CUBE.seed_dataset: nyc.notes(new)})
    return list(new)


def flights_of(raw: DataFrame) -> DataFrame:
    """Return the flights: one row per key, local day of departure, and whether the flight took place."""
    return (
        raw.dropna(subset=list(nyc.CUBE.dimension_columns))
        .dropDuplicates(list(nyc.CUBE.dimension_columns))
        .select(
            *nyc.CUBE.dimension_columns,
            "MONTH",
            sql.make_date("YEAR", sql.substring("MONTH", 6, 2).cast("int"), "DAY").alias("DAY"),
            "HOUR",
            "MINUTE",
            "DEST",
            "TAILNUM",
            "DISTANCE",
            "DEP_DELAY",
            "ARR_DELAY",
            sql.isnull("DEP_TIME").alias("CANCELLED"),
        )
    )


def main() -> None:
    """Clean what the command line names."""
    given = nyc.arguments(__doc__).parse_args()
    spark = nyc.session("nyc: clean")
    print("flights:", nyc.told(clean(spark, given.store, given.months)))
    spark.stop()


if __name__ == "__main__":
    main()
