"""Run many schedules: ``python -m kubothek.testing.simulation --schedules 1000 --seed 1 --jobs 2``.

Schedules have the seeds from ``--seed`` on. Those in which something was violated are listed, and each of them can be
run again with ``--replay``, which tells its whole story. Ends with status 1 where anything was violated.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import click

from kubothek.testing.simulation.schedules import run_schedule
from kubothek.testing.simulation.tally import Tally, begin_worker, mutated, run_many

_CHUNK = 50


@click.command(help=__doc__)
@click.option("--schedules", default=1000, show_default=True, help="How many to run.")
@click.option("--seed", default=0, show_default=True, help="Seed of the first.")
@click.option("--jobs", default=1, show_default=True, help="Processes that run them.")
@click.option("--replay", type=int, help="Run the schedule of this seed alone, and tell what happened.")
@click.option("--mutation", metavar="MODULE:FUNCTION", help="A context manager that damages the protocol.")
def main(schedules: int, seed: int, jobs: int, replay: int | None, mutation: str | None) -> None:
    """Run schedules and print what they came to."""
    if replay is not None:
        with mutated(mutation):
            report = run_schedule(replay)
        click.echo(str(report))
        sys.exit(bool(report.violations))
    start, total = time.perf_counter(), Tally()
    chunks = [range(first, min(first + _CHUNK, seed + schedules)) for first in range(seed, seed + schedules, _CHUNK)]
    with ProcessPoolExecutor(jobs, get_context("spawn"), begin_worker) as pool:
        for tally in pool.map(partial(run_many, mutation=mutation), chunks):
            total.add(tally)
    seconds = time.perf_counter() - start
    click.echo(f"{total}\n\n{seconds:.1f} s, {total.schedules / seconds:.1f} schedules per second")
    sys.exit(bool(total.violations))


if __name__ == "__main__":
    main()
