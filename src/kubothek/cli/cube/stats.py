"""``kubothek CUBE stats``: how much there is of each dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import click
from rich.text import Text

from kubothek import DatasetStats, collect_stats
from kubothek.cli.cube.members import select, selection_options
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.layout import print_listing
from kubothek.cli.options import json_option
from kubothek.cli.terminal import open_console, print_json, waiting
from kubothek.model.display import human_bytes, plural
from kubothek.plan.small_files import has_small_files, small_files_advice


@click.command()
@selection_options
@json_option
@click.pass_obj
def stats(target: CubeTarget, include: tuple[str, ...], exclude: tuple[str, ...], as_json: bool) -> None:
    """Count partitions, files, rows and bytes.

    A partition is a combination of values of a dataset's partition columns. No data is read, at most the footers of
    files whose rows the headers do not record.
    """
    cube, store = target.uuid_prefix, target.store
    selected = select(cube, store, include, exclude)
    with waiting(f"counting {plural(len(selected.facts), 'dataset')}"):
        found = collect_stats(cube, store, datasets=selected.ids)
    total = {name: sum(getattr(one, name) for one in found.values()) for name in ("files", "rows", "bytes")}
    if as_json:
        listing = [{"dataset": one, **asdict(counts)} for one, counts in found.items()]
        small = [one for one, counts in found.items() if has_small_files(counts.files, counts.bytes)]
        print_json({"cube": cube, "store": store.url, "datasets": listing, "total": total, "small_files": small})
        return
    print_listing(
        ("dataset", list(found)),
        *((name, [f"{getattr(one, name):,}" for one in found.values()]) for name in ("partitions", "files", "rows")),
        ("size", [human_bytes(one.bytes) for one in found.values()]),
    )
    click.secho(
        f"{plural(len(found), 'dataset')}, {plural(total['files'], 'file')}, {plural(total['rows'], 'row')}, "
        f"{human_bytes(total['bytes'])}",
        dim=True,
    )
    console = open_console(target.invocation)
    for warning in _warnings(found):
        console.print(Text.assemble(("! ", "yellow"), warning))


def _warnings(found: Mapping[str, DatasetStats]) -> Iterator[str]:
    for one, counts in found.items():
        if has_small_files(counts.files, counts.bytes):
            yield small_files_advice(one, counts.partitions, counts.files, counts.bytes)
