"""``python -m benchmarks``: make the data once, measure the works, print and keep the figures."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from benchmarks.data import SIZES, make_data
from benchmarks.report import environment, save, table_of
from benchmarks.timing import Measurement, measure
from benchmarks.works import WORKS
from kubothek.spark.session import local_session

_HERE = Path(__file__).parent


@click.command()
@click.option("--size", type=click.Choice(list(SIZES)), default="small", show_default=True, help="How much data.")
@click.option(
    "--work", "works", type=click.Choice(list(WORKS)), multiple=True, help="What to measure; all if not given."
)
@click.option("--rounds", type=click.IntRange(min=1), help="How often; as the size says if not given.")
@click.option("--data", type=click.Path(path_type=Path), default=_HERE / "data", help="Where the data is kept.")
@click.option("--results", type=click.Path(path_type=Path), default=_HERE / "results", help="Where figures go.")
@click.option("--memory", default="6g", show_default=True, help="Heap of Spark.")
@click.option("--cores", type=click.IntRange(min=1), help="Cores for Spark; all if not given.")
def main(
    size: str, works: tuple[str, ...], rounds: int | None, data: Path, results: Path, memory: str, cores: int | None
) -> None:
    """Measure Kubothek against the alternatives, side by side."""
    console = Console()
    spark = local_session("benchmarks", memory=memory, cores=cores)
    made = make_data(spark, size, data)
    facts = {
        "rows": f"{made.size.rows:,} of a seed, in {made.size.partitions} partitions; {made.size.written:,} of a write",
        "build_cube": f"{made.seconds['build_cube']:.1f} s",
        **environment(),
    }
    measurements: list[Measurement] = []
    for work in works or tuple(WORKS):
        found = []
        for case in WORKS[work](spark, made):
            with console.status(f"{case.work}, {case.name}"):
                found.append(measure(case, rounds or made.size.rounds))
        console.print(table_of(found[0].work, found))
        measurements += found
        # After each work, so that one that fails takes no figures of others along.
        text, _ = save(results, size, facts, measurements)
    console.print(f"Kept in {text}")


if __name__ == "__main__":
    main()
