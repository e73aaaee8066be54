"""What the steps share: the names of what they read and write, which months have changed, arguments and session.

A step notes, in the same commit as its rows, a fingerprint of what they were made from, one entry per month. So it
knows the next time which months to do again, and a run that dies half-way leaves rows and notes that agree.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

import kubothek as kb
from kubothek import StalePartition
from kubothek.errors import NotFoundError
from kubothek.spark import local_session, register, ship

RAW_FLIGHTS, RAW_WEATHER, MODEL, KPIS = "raw_flights", "raw_weather", "late_model", "kpis"

CUBE = kb.Cube(
    uuid_prefix="nyc",
    dimension_columns=["ORIGIN", "CARRIER", "FLIGHT", "TIME_HOUR"],
    partition_columns=["MONTH"],
    seed_dataset="flights",
    index_columns=["TAILNUM"],
)

LATE = 15
"""Minutes from which a departure counts as late."""


def months_of(uuid: str, store: str) -> dict[str, str]:
    """Return the months that a dataset has, each with a fingerprint of its files, which never change."""
    files: dict[str, list[str]] = {}
    for label in partitions(uuid, store):
        files.setdefault(label.partition("/")[0].removeprefix("MONTH="), []).append(label)
    return {month: fingerprint(sorted(labels)) for month, labels in files.items()}


def partitions(uuid: str, store: str) -> list[str]:
    """Return the labels of a dataset's files, none where there is no such dataset."""
    try:
        return list(kb.open_dataset(uuid, store).partitions)
    except NotFoundError:
        return []


def months_in(stale: Iterable[StalePartition]) -> list[str]:
    """Return the months of partitions that were made anew or removed."""
    return [partition.values["MONTH"] for partition in stale]


def fingerprint(parts: Iterable[str]) -> str:
    """Return a short text that changes when one of these does."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def changed(sources: Mapping[str, str], uuid: str, store: str, months: Iterable[str] | None = None) -> dict[str, str]:
    """Return those months, with their fingerprints, that a dataset does not have or has from something else.

    ``months`` restricts what is looked at; ``None`` stands for all that the sources have.
    """
    try:
        noted = kb.open_dataset(uuid, store).metadata
    except NotFoundError:
        noted = {}
    wanted = sorted(sources if months is None else set(months) & set(sources))
    return {month: sources[month] for month in wanted if noted.get(note(month)) != sources[month]}


def note(month: str) -> str:
    """Return the name under which a dataset's metadata has the fingerprint of what a month was made from."""
    return f"made from, {month}"


def notes(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata entries for these months."""
    return {note(month): text for month, text in sources.items()}


def told(done: object) -> str:
    """Return what a step has done, for people: the months, by dataset where there are several."""
    if isinstance(done, dict):
        return ", ".join(f"{name}: {told(months)}" for name, months in done.items())
    return (" ".join(done) or "up to date") if isinstance(done, list) else str(done)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the arguments that all steps have."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--store", required=True, help="directory or URL that holds all datasets")
    parser.add_argument("--months", nargs="+", metavar="2013-01", help="look at these only; all if not given")
    return parser


def session(name: str) -> SparkSession:
    """Return the session that spark-submit has set up, or one on this machine where it was not used."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        spark = SparkSession.builder.appName(name).getOrCreate()
        ship(spark)  # executors need not have the package installed
    else:
        spark = local_session(name)
    register(spark)
    return spark
