"""``kubothek CUBE report``: the cube on one page, to look at in a browser."""

from __future__ import annotations

import click

from kubothek import report_cube
from kubothek.cli.cube.formats import new_file
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.terminal import done, open_console, waiting


@click.command()
@click.option(
    "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Where the page goes; CUBE.html if not given."
)
@click.option("--where", metavar="CONDITION", help="Show the plan of a query with this condition.")
@click.option("--files", is_flag=True, help="Look for problems in files, too; reads the footer of each.")
@click.pass_obj
def report(target: CubeTarget, output: str | None, where: str | None, files: bool) -> None:
    """Draw a cube on one page: coverage, sizes, history, a query.

    The page is a file of HTML that needs nothing else. It shows which dataset covers which partitions, how large files
    are, what indices are worth, what was committed, what a query reads, and what is wrong. No data file is read.
    """
    cube, place = target.uuid_prefix, output or f"{target.uuid_prefix}.html"
    with waiting(f"drawing {cube}"):
        page = report_cube(cube, target.store, where=where, files=files)
    with new_file(place) as file:
        file.write(page.encode())
    done(open_console(target.invocation), f"cube {cube} in {place}")
