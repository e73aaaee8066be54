"""Step 4, train: a logistic regression says how likely a flight is to leave late.

It is trained on months before the last one given, judged on that, and kept as a small dataset: a row per feature, and
in its metadata the pin of the query. By the pin the same rows can be read again, however the cube has changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import kubothek as kb
import nyc
from kubothek import C

# Said once, in SQL, so that training and prediction cannot come to differ.
FEATURES = {
    "CONSTANT": "1D",
    "HOUR": "(HOUR - 12D) / 6",
    "AIRPORT_DELAY": "least(coalesce(AIRPORT_DELAY, 0D), 120D) / 60",
    "CARRIER_DELAY": "least(coalesce(CARRIER_DELAY, AIRPORT_DELAY, 0D), 120D) / 60",
    "FIRST_OF_THE_DAY": "double(AIRPORT_DELAY IS NULL)",
    "WIND": "coalesce(WIND_SPEED, 10D) / 10",
    "RAIN": "double(coalesce(PRECIP, 0D) > 0)",
    "FOG": "double(coalesce(VISIB, 10D) < 2)",
}
SOURCES = ["flights", "weather", "delays"]
COLUMNS = ["HOUR", "AIRPORT_DELAY", "CARRIER_DELAY", "WIND_SPEED", "PRECIP", "VISIB"]


@dataclass(frozen=True)
class Report:
    """How well a model does on a month that it has not seen, beside a guess of always the same probability."""

    trained_on: list[str]
    judged_on: str
    flights: int
    brier: float
    brier_of_a_guess: float

    def __str__(self) -> str:
        """Say it in one line."""
        return f"Brier score of {self.brier:.3f} in {self.judged_on}, of a guess {self.brier_of_a_guess:.3f}"


def train(spark: SparkSession, store: str, months: Sequence[str] | None = None) -> Report:
    """Train on all months but the last, and commit the model as a new version."""
    months = sorted(months or nyc.months_of(nyc.CUBE.dataset_uuid("flights"), store))
    if len(months) < 2:
        raise ValueError(f"Training takes two months or more, the last of them to judge the model by, not {months}.")
    pin = str(kb.query_cube(nyc.CUBE, store, datasets=SOURCES).pin())
    month, x, late = departures(spark, store, months, pin)
    seen = month < months[-1]
    weights = fit(x[seen], late[seen])
    report = Report(
        trained_on=list(months[:-1]),
        judged_on=months[-1],
        flights=int((~seen).sum()),
        brier=float(np.mean((probability(x[~seen], weights) - late[~seen]) ** 2)),
        brier_of_a_guess=float(np.mean((late[seen].mean() - late[~seen]) ** 2)),
    )
    model = pa.table({"FEATURE": list(FEATURES), "WEIGHT": weights})
    kb.write_dataset(model, nyc.MODEL, store, overwrite=True, metadata={"pin": pin, **asdict(report)})
    return report


def departures(
    spark: SparkSession, store: str, months: Sequence[str], pin: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return month, features and lateness of the flights that left, as the cube was when it was pinned.

    A year of them fits into the driver with ease; for more, ``pyspark.ml`` trains on the DataFrame.
    """
    departed = C("MONTH").isin(months) & ~C("DEP_DELAY").is_null()
    columns = [*COLUMNS, "DEP_DELAY"]
    query = kb.query_cube(nyc.CUBE, store, datasets=SOURCES, columns=columns, where=departed, at=pin)
    features = [f"{expression} AS F_{name}" for name, expression in FEATURES.items()]
    rows = query.to_spark(spark).selectExpr("MONTH", *features, f"DEP_DELAY > {nyc.LATE} AS IS_LATE").toArrow()
    x = np.column_stack([rows[f"F_{name}"].to_numpy() for name in FEATURES])
    return rows["MONTH"].to_numpy(), x, rows["IS_LATE"].to_numpy().astype(float)


def fit(x: np.ndarray, late: np.ndarray, *, steps: int = 20, ridge: float = 1.0) -> np.ndarray:
    """Return the weights of a logistic regression, by Newton's method."""
    weights = np.zeros(x.shape[1])
    for _ in range(steps):
        p = probability(x, weights)
        slope = x.T @ (late - p) - ridge * weights
        curvature = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(weights))
        weights += np.linalg.solve(curvature, slope)
    return weights


def probability(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probability that each flight is late."""
    return np.asarray(1 / (1 + np.exp(-(x @ weights))))


def main() -> None:
    """Train on what the command line names."""
    given = nyc.arguments(__doc__).parse_args()
    spark = nyc.session("nyc: train")
    print("late_model:", train(spark, given.store, given.months))
    spark.stop()


if __name__ == "__main__":
    main()
