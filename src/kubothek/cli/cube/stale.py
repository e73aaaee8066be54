"""``kubothek CUBE stale``: which parts of a computed dataset are to be computed anew."""

from __future__ import annotations

import click

from kubothek import stale_partitions
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.layout import print_listing
from kubothek.cli.options import json_option
from kubothek.cli.terminal import print_json, waiting
from kubothek.model.display import plural
from kubothek.model.stale import partition_name


@click.command()
@click.argument("dataset")
@json_option
@click.pass_obj
def stale(target: CubeTarget, dataset: str, as_json: bool) -> None:
    """Say which partitions of a computed dataset its sources have changed since.

    DATASET is one that refresh_cube has computed. Only headers are read.
    """
    cube, store = target.uuid_prefix, target.store
    with waiting(f"comparing {dataset} with its sources"):
        found = stale_partitions(cube, store, dataset)
    if as_json:
        listing = [{"values": one.values, "reason": one.reason} for one in found]
        facts = {"cube": cube, "store": store.url, "dataset": dataset, "stale": listing, "partitions": found.total}
        print_json(facts)
        return
    print_listing(
        ("partition", [partition_name(one.values) for one in found]), ("reason", [one.reason for one in found])
    )
    click.secho(f"{len(found):,} of {plural(found.total, 'partition')} stale", dim=True)
