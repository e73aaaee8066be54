"""What the shell proposes when a name is half typed.

The names in a store are found by :mod:`kubothek.cli.stored_names`, which is imported when it is asked, as commands are:
whoever types an option or asks for help does not wait for PyArrow.
"""

from __future__ import annotations

import importlib

import click
from click.shell_completion import CompletionItem

from kubothek.cli.invocation import Color, Invocation
from kubothek.errors import KubothekError
from kubothek.model.cube import split_uuid


def complete_dataset(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose the datasets of the store whose names begin so; none where the store cannot be listed."""
    return [CompletionItem(name) for name in sorted(_find_datasets(ctx, incomplete))]


def find_cubes(ctx: click.Context, start: str) -> list[str]:
    """Return the cubes of the store whose names begin so; none where the store cannot be listed."""
    split = map(split_uuid, _find_datasets(ctx, start))
    return sorted({one[0] for one in split if one is not None and one[0].startswith(start)})


def _find_datasets(ctx: click.Context, start: str) -> set[str]:
    given = ctx.find_root().params
    invocation = Invocation(given.get("store"), dict(given.get("store_options") or ()), Color.NEVER)
    try:
        store = invocation.open_store()
        found: set[str] = importlib.import_module("kubothek.cli.stored_names").find_datasets(store, start)
    except (KubothekError, click.UsageError):  # there is nobody to tell: the shell is waiting for proposals
        return set()
    return found
