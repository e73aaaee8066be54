"""What the shell proposes when a name is half typed."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from kubothek.cli.invocation import Color, Invocation
from kubothek.codec.keys import HEADER_SUFFIXES
from kubothek.errors import KubothekError


def complete_dataset(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose the datasets of the store whose names begin so; none where the store cannot be listed."""
    given = ctx.find_root().params
    invocation = Invocation(given.get("store"), dict(given.get("store_options") or ()), Color.NEVER)
    try:
        objects, _folders = invocation.open_store().list_level(incomplete)
    except (KubothekError, click.UsageError):  # there is nobody to tell: the shell is waiting for proposals
        return []
    suffixes = tuple(HEADER_SUFFIXES.values())
    names = {info.key.partition(".by-dataset-metadata")[0] for info in objects if info.key.endswith(suffixes)}
    return [CompletionItem(name) for name in sorted(names)]
