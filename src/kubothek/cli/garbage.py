"""Files that nothing refers to any more: listed, and after a question deleted, for a dataset or a cube."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain

import click

from kubothek.cli.dataset.facts import size_text
from kubothek.cli.invocation import Invocation
from kubothek.cli.layout import print_listing
from kubothek.cli.terminal import confirm, done, open_console, print_json, waiting
from kubothek.model.display import plural
from kubothek.store.interface import Store


@dataclass(frozen=True, slots=True)
class Spared:
    """What stays: what was written or replaced less than ``older_than`` ago, and the versions that ``keep`` says."""

    older_than: timedelta
    keep: int | timedelta | None

    def after(self, passed: timedelta) -> Spared:
        """Return what says the same when some time has passed."""
        return Spared(self.older_than + passed, self.keep + passed if isinstance(self.keep, timedelta) else self.keep)


@dataclass(frozen=True, slots=True)
class Garbage:
    """Where to look for such files, and how.

    ``facts`` says in JSON whose files they are. ``collect(spared, dry_run)`` deletes them or only finds them.
    ``prefixes`` are those of their keys.
    """

    facts: Mapping[str, str]
    store: Store
    collect: Callable[[Spared, bool], list[str]]
    prefixes: tuple[str, ...]

    def measure(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the bytes of those objects that a listing shows."""
        wanted = set(keys)
        listed = chain.from_iterable(self.store.list(prefix) for prefix in (self.prefixes if wanted else ()))
        return {info.key: info.size for info in listed if info.key in wanted}


def clean(garbage: Garbage, invocation: Invocation, spared: Spared, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """List the files, ask, and delete them."""
    begin = time.monotonic()
    with waiting("looking for what nothing refers to"):
        found = garbage.collect(spared, True)
        sizes = garbage.measure(found)
    if not as_json:
        print_listing(("object", found), ("size", [size_text(sizes.get(key)) for key in found]))
    gone = found
    if found and not dry_run:
        if not yes:
            confirm(f"Delete {_amount(found, sizes)}?")
        with waiting(f"deleting {_amount(found, sizes)}"):
            # What has only grown old enough since it was listed stays.
            gone = garbage.collect(spared.after(timedelta(seconds=time.monotonic() - begin)), False)
    if as_json:
        objects = [{"key": key, "bytes": sizes.get(key)} for key in gone]
        print_json({**garbage.facts, "dry_run": dry_run, "objects": objects})
    elif dry_run and found:
        click.secho(f"{_amount(found, sizes)} would be deleted", dim=True)
    else:
        done(open_console(invocation), f"deleted {_amount(gone, sizes)}" if found else "there is nothing to delete")


def _amount(keys: list[str], sizes: dict[str, int]) -> str:
    return f"{plural(len(keys), 'object')}, {size_text(sum(sizes.get(key, 0) for key in keys))}"
