"""Step 6, kpis: one row per month, airport and airline, in a small dataset of its own.

Asked of the whole cube in SQL, for the months in which flights or predictions have changed; those months are replaced.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import SparkSession

import nyc

# Flights that did not leave have no delay, and averages leave them out.
_KPIS = """
    SELECT MONTH, ORIGIN, CARRIER, count(*) AS FLIGHTS, avg(double(CANCELLED)) AS CANCELLED, avg(DEP_DELAY) AS DELAY,
           avg(double(DEP_DELAY > {late})) AS LATE, avg(P_LATE) FILTER (WHERE NOT CANCELLED) AS EXPECTED_LATE,
           avg(pow(P_LATE - double(DEP_DELAY > {late}), 2)) AS BRIER
    FROM {cube} WHERE MONTH IN ({months}) GROUP BY MONTH, ORIGIN, CARRIER
"""
COLUMNS = "MONTH,ORIGIN,CARRIER,CANCELLED,DEP_DELAY,P_LATE"


def aggregate(spark: SparkSession, store: str, months: Sequence[str] | None = None) -> list[str]:
    """Make the key figures anew of the months that have changed; return these."""
    new = nyc.changed(sources(store), nyc.KPIS, store, months)
    if not new:
        return []
    flights = spark.read.format("kubothek").options(store=store, cube=nyc.CUBE.uuid_prefix, columns=COLUMNS).load()
    asked = ", ".join(f"'{month}'" for month in new)
    rows = spark.sql(_KPIS.replace("{months}", asked).replace("{late}", str(nyc.LATE)), cube=flights)
    rows.coalesce(1).write.format("kubothek").mode("overwrite").options(
        store=store,
        dataset=nyc.KPIS,
        partition_on="MONTH",
        partitionOverwriteMode="dynamic",
        metadata=json.dumps(nyc.notes(new)),
    ).save()
    return list(new)


def sources(store: str) -> dict[str, str]:
    """Return the months of the flights, with what their key figures depend on."""
    flights, predictions = (nyc.months_of(nyc.CUBE.dataset_uuid(name), store) for name in ("flights", "predictions"))
    return {month: nyc.fingerprint([text, predictions.get(month, "")]) for month, text in flights.items()}


def main() -> None:
    """Aggregate what the command line names."""
    given = nyc.arguments(__doc__).parse_args()
    spark = nyc.session("nyc: key figures")
    print("kpis:", nyc.told(aggregate(spark, given.store, given.months)))
    spark.stop()


if __name__ == "__main__":
    main()
