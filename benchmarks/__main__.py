"""``python -m benchmarks``: make the data once, measure the works, print and keep what they come to.

Works of this process come before Spark is started, so that its memory is not beside theirs. After each case what was
measured so far is kept: a run that is broken off loses only the case it was at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.curves import Curve
from benchmarks.data import SIZES, Data, make_data
from benchmarks.environment import facts
from benchmarks.figures import Figures
from benchmarks.plots import draw
from benchmarks.report import tables, terminal, write_pages
from benchmarks.results import Result, Results, load, save
from benchmarks.timing import Case, measure, said
from benchmarks.works import ALONE, CURVES, IN_PROCESS, ON_SPARK, SPARK_CURVES
from benchmarks.works.growth import ROUNDS
from kubothek.spark.session import local_session

_HERE = Path(__file__).parent
WORKS: dict[str, Callable[..., Any]] = {**IN_PROCESS, **CURVES, **ALONE, **ON_SPARK, **SPARK_CURVES}

Part = Case | Figures | Curve


@click.command()
@click.option("--size", type=click.Choice(list(SIZES)), default="small", show_default=True, help="How much data.")
@click.option(
    "--work", "works", type=click.Choice(list(WORKS)), multiple=True, help="What to measure; all if not given."
)
@click.option("--rounds", type=click.IntRange(min=1), help="How often; as the size says if not given.")
@click.option("--data", type=click.Path(path_type=Path), default=_HERE / "data", help="Where the data is kept.")
@click.option("--results", type=click.Path(path_type=Path), default=_HERE / "results", help="Where results go.")
@click.option("--memory", default="6g", show_default=True, help="Heap of Spark.")
@click.option("--cores", type=click.IntRange(min=1), help="Cores for Spark; all if not given.")
@click.option("--list", "listed", is_flag=True, help="Say what there is to measure, and measure nothing.")
def main(
    size: str,
    works: tuple[str, ...],
    rounds: int | None,
    data: Path,
    results: Path,
    memory: str,
    cores: int | None,
    listed: bool,
) -> None:
    """Measure Kubothek against the alternatives, side by side.

    Results of a size are kept together; works that are measured anew take the place of what was kept of them. Ends with
    1 if a work failed. Peers that fail are reported.
    """
    console = Console()
    console.width = max(console.width, 160)  # a table of fewer columns says nothing, neither here nor in a log
    if listed:
        for work in WORKS:
            console.print(f"{work:<{max(map(len, WORKS))}}  {description(work)}", highlight=False, soft_wrap=True)
        return
    often, command = rounds or SIZES[size].rounds, command_of(size, works, rounds, memory, cores)
    spark = cache(partial(start_spark, size, data, memory, cores))
    chosen = [work for work in WORKS if work in works or not works]
    kept, code = load(results, size), 0
    try:
        for work in chosen:
            times = ROUNDS if work in CURVES or work in SPARK_CURVES else often
            about = facts(SIZES[size], command, times, f"heap {memory}, {cores or 'all'} cores")
            begun = Result(work, description(work), about)
            for result in measured(begun, parts(work, size, data, spark), often, console):
                kept = kept.merged(result, WORKS)
                save(results, kept)
            for table in tables(result):
                console.print(terminal(table))
            code = 1 if result.failures else code
            publish(results, kept, work)
    except KeyboardInterrupt:
        console.print("Interrupted.")
        publish(results, kept, work)
        code = 130
    console.print(f"Kept in {results / size}.md")
    sys.exit(code)


def description(work: str) -> str:
    """Return the line that says what a work is: its function's, or its module's where it is all that the module has."""
    function = WORKS[work]
    text = sys.modules[function.__module__].__doc__ if function.__name__ == "cases" else function.__doc__
    assert text, f"{work} does not say what it is"
    return text.partition("\n")[0].replace("``", "")


def measured(begun: Result, parts: Iterable[Part], rounds: int, console: Console) -> Iterator[Result]:
    """Measure a work part by part, and yield after each what it came to so far; what fails is told and passed over."""
    result = begun

    def failed(part: str, error: Exception) -> Result:
        console.print_exception()
        return replace(result, failures=result.failures | {part: said(error)})

    try:
        for part in parts:
            name = part.work if isinstance(part, Figures) else part.name
            console.print(f"{begun.work}: {name}", highlight=False)
            if isinstance(part, Curve):
                result = replace(result, curves=(*result.curves, part))
            elif isinstance(part, Figures):
                result = replace(result, figures=(*result.figures, part))
            else:
                try:
                    result = replace(result, measurements=(*result.measurements, measure(part, rounds)))
                except Exception as error:  # noqa: BLE001  the other cases can be measured all the same
                    result = failed(part.name, error)
            yield result
    except Exception as error:  # noqa: BLE001  likewise the other works
        result = failed("all of it", error)
    yield replace(result, ended=True)


def parts(work: str, size: str, data: Path, spark: Callable[[], tuple[SparkSession, Data]]) -> Iterator[Part]:
    """Yield what there is to measure of a work, or what it measured itself; Spark is started where it needs it."""
    if work in ON_SPARK or work in SPARK_CURVES:
        yield from WORKS[work](*spark())
    elif work in ALONE:
        yield ALONE[work]((data / size).absolute(), SIZES[size])
    else:
        yield from WORKS[work]((data / size).absolute(), SIZES[size])


def start_spark(size: str, data: Path, memory: str, cores: int | None) -> tuple[SparkSession, Data]:
    """Start Spark and make the data."""
    spark = local_session("benchmarks", memory=memory, cores=cores)
    return spark, make_data(spark, size, data)


def command_of(size: str, works: tuple[str, ...], rounds: int | None, memory: str, cores: int | None) -> str:
    """Return how to ask for the same again; where data and results are makes no difference."""
    asked = {"size": size, "rounds": rounds, "memory": memory, "cores": cores}
    options = [f"--{name} {value}" for name, value in asked.items() if value is not None]
    return " ".join(["python -m benchmarks", *options, *(f"--work {work}" for work in works)])


def publish(folder: Path, results: Results, work: str) -> None:
    """Write the page of a size, the picture of a work, and the index of all; nothing where nothing was measured."""
    if not results.works:
        return
    write_pages(folder, results, [load(folder, size) for size in SIZES if (folder / f"{size}.json").is_file()])
    draw(folder, results, work)


if __name__ == "__main__":
    main()
