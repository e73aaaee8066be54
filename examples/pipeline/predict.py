"""Step 5, predict: the probability that each flight leaves late, as an enrichment of the cube.

Months are predicted anew when flights, weather or delays of theirs have changed. A new model is used from then on;
``--again`` has it predict all months.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

import kubothek as kb
import nyc
from kubothek import C
from train import COLUMNS, FEATURES

PREDICTIONS = nyc.CUBE.dataset_uuid("predictions")


def predict(spark: SparkSession, store: str, *, again: bool = False) -> list[str]:
    """Predict the months that have changed, or all of them; return them."""
    model = kb.open_dataset(nyc.MODEL, store)
    weights = {row["FEATURE"]: row["WEIGHT"] for row in model.scan().to_arrow().to_pylist()}
    if again and (months := list(nyc.months_of(PREDICTIONS, store))):
        kb.remove_partitions(nyc.CUBE, store, C("MONTH").isin(months), datasets="predictions")
    done = kb.refresh_cube(
        nyc.CUBE,
        store,
        "predictions",
        lambda flights: predictions_of(flights, weights, model.version),
        spark=spark,
        datasets=["weather", "delays"],
        columns=COLUMNS,
    )
    return nyc.months_in(done)


def predictions_of(flights: DataFrame, weights: dict[str, float], version: int | None) -> DataFrame:
    """Return the prediction for each flight, and the version of the model that made it.

    A logistic regression is an expression, so Spark computes it without Python.
    """
    logit = " + ".join(f"{weight!r}D * ({FEATURES[name]})" for name, weight in weights.items())
    return flights.selectExpr(
        *nyc.CUBE.dimension_columns, "MONTH", f"1 / (1 + exp(-({logit}))) AS P_LATE", f"{version}L AS MODEL"
    )


def main() -> None:
    """Predict what the command line names."""
    parser = nyc.arguments(__doc__)
    parser.add_argument("--again", action="store_true", help="predict all months, with a new model")
    given = parser.parse_args()
    spark = nyc.session("nyc: predict")
    print("predictions:", nyc.told(predict(spark, given.store, again=given.again)))
    spark.stop()


if __name__ == "__main__":
    main()
