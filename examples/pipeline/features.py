"""Step 3, features: what is known of a flight before it leaves, as two enrichments of the cube.

``weather`` has the weather at the airport by the hour, from the raw dataset. ``delays`` has the mean delay, so far that
day, of the airport and of the airline there: of departures that had taken place by the hour, so that no flight is
described by what was not known before it. Both have fewer dimensions than the cube; queries join them all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

import kubothek as kb
import nyc

WEATHER = nyc.CUBE.dataset_uuid("weather")

COLUMNS = ["DAY", "MINUTE", "DEP_DELAY"]
# Each departure counts from the first full hour after it on; DAY is the airport's, and no day is in two months.
_DELAYS = """
    WITH events AS (
        SELECT ORIGIN, CARRIER, DAY, MONTH, TIME_HOUR AS AT, NULL AS DELAY, true AS ASKED
        FROM {flights} GROUP BY ORIGIN, CARRIER, DAY, MONTH, TIME_HOUR
        UNION ALL
        SELECT ORIGIN, CARRIER, DAY, MONTH,
               TIME_HOUR + make_dt_interval(0, int(floor((MINUTE + DEP_DELAY) / 60)) + 1) AS AT, DEP_DELAY, false
        FROM {flights} WHERE DEP_DELAY IS NOT NULL
    ), so_far AS (
        SELECT *, avg(DELAY) OVER (PARTITION BY ORIGIN, DAY ORDER BY AT) AS AIRPORT_DELAY,
               avg(DELAY) OVER (PARTITION BY ORIGIN, CARRIER, DAY ORDER BY AT) AS CARRIER_DELAY
        FROM events
    )
    SELECT ORIGIN, CARRIER, AT AS TIME_HOUR, MONTH, AIRPORT_DELAY, CARRIER_DELAY FROM so_far WHERE ASKED
"""


def add_weather(spark: SparkSession, store: str, months: Sequence[str] | None = None) -> list[str]:
    """Make the months of the weather anew whose raw rows have changed; return them."""
    new = nyc.changed(nyc.months_of(nyc.RAW_WEATHER, store), WEATHER, store, months)
    if not new:
        return []
    raw = spark.read.format("kubothek").options(store=store, dataset=nyc.RAW_WEATHER).load()
    hours = raw.where(raw.MONTH.isin(list(new))).dropDuplicates(["ORIGIN", "TIME_HOUR"])
    hours = hours.select("ORIGIN", "TIME_HOUR", "MONTH", "TEMP", "WIND_SPEED", "PRECIP", "VISIB")
    write = kb.update_cube if nyc.partitions(WEATHER, store) else kb.extend_cube
    write({"weather": hours}, nyc.CUBE, store, metadata={"weather": nyc.notes(new)})
    return list(new)


def delays_of(flights: DataFrame) -> DataFrame:
    """Return the mean delays before each hour in which an airline has a flight."""
    return flights.sparkSession.sql(_DELAYS, flights=flights)


def add_delays(spark: SparkSession, store: str) -> list[str]:
    """Make the delays anew of the months whose flights have changed; return these."""
    return nyc.months_in(kb.refresh_cube(nyc.CUBE, store, "delays", delays_of, spark=spark, columns=COLUMNS))


def main() -> None:
    """Add the features that the command line asks for."""
    given = nyc.arguments(__doc__).parse_args()
    spark = nyc.session("nyc: features")
    print("weather:", nyc.told(add_weather(spark, given.store, given.months)))
    print("delays:", nyc.told(add_delays(spark, given.store)))
    spark.stop()


if __name__ == "__main__":
    main()
