"""``python -m benchmarks``: make the data once, measure the works, print and keep the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from benchmarks.data import SIZES, make_data
from benchmarks.figures import Figures
from benchmarks.report import environment, figures_table, save, table_of
from benchmarks.timing import Case, Measurement, measure
from benchmarks.works import ALONE, IN_PROCESS, ON_SPARK
from kubothek.spark.session import local_session

_HERE = Path(__file__).parent
_RACES = (*ON_SPARK, *IN_PROCESS)


@click.command()
@click.option("--size", type=click.Choice(list(SIZES)), default="small", show_default=True, help="How much data.")
@click.option(
    "--work",
    "works",
    type=click.Choice([*_RACES, *ALONE]),
    multiple=True,
    help=f"What to measure; all but {' and '.join(ALONE)} if not given.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="How often; as the size says if not given.")
@click.option("--data", type=click.Path(path_type=Path), default=_HERE / "data", help="Where the data is kept.")
@click.option("--results", type=click.Path(path_type=Path), default=_HERE / "results", help="Where figures go.")
@click.option("--memory", default="6g", show_default=True, help="Heap of Spark.")
@click.option("--cores", type=click.IntRange(min=1), help="Cores for Spark; all if not given.")
def main(
    size: str, works: tuple[str, ...], rounds: int | None, data: Path, results: Path, memory: str, cores: int | None
) -> None:
    """Measure Kubothek against the alternatives, side by side.

    Results of all works are kept under the name of the size, those of some under their names too.
    """
    console = Console()
    chosen = works or _RACES
    facts, cases = environment(), works_in_process(data, size)
    if not set(chosen).isdisjoint(ON_SPARK):
        on_spark, made = works_on_spark(data, size, memory, cores)
        facts, cases = made | facts, cases | on_spark
    measurements: list[Measurement] = []
    figures: list[Figures] = []
    for work in chosen:
        if work in ALONE:
            with console.status(work):
                figures.append(ALONE[work]((data / size).absolute(), SIZES[size]))
            console.print(figures_table(figures[-1]))
        else:
            found = []
            for case in cases[work]():
                with console.status(f"{case.work}, {case.name}"):
                    found.append(measure(case, rounds or SIZES[size].rounds))
            console.print(table_of(found[0].work, found))
            measurements += found
        # After each work, so that one that fails takes no figures of others along.
        text, _ = save(results, "-".join([size, *works]), size, facts, measurements, figures)
    console.print(f"Kept in {text}")


def works_in_process(data: Path, size: str) -> dict[str, Callable[[], Iterator[Case]]]:
    """Return the works that need no Spark."""
    return {work: partial(cases, (data / size).absolute(), SIZES[size]) for work, cases in IN_PROCESS.items()}


def works_on_spark(
    data: Path, size: str, memory: str, cores: int | None
) -> tuple[dict[str, Callable[[], Iterator[Case]]], dict[str, str]]:
    """Start Spark, make the data, and return the works on it and what is to be said of it."""
    spark = local_session("benchmarks", memory=memory, cores=cores)
    made = make_data(spark, size, data)
    rows, written = f"{made.size.rows:,} of a seed, in {made.size.partitions} partitions", f"{made.size.written:,}"
    facts = {"rows": f"{rows}; {written} of a write", "build_cube": f"{made.seconds['build_cube']:.1f} s"}
    return {work: partial(cases, spark, made) for work, cases in ON_SPARK.items()}, facts


if __name__ == "__main__":
    main()
