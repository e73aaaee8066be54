"""Which datasets of a cube a command is about, and how large they are; by name, so that broken cubes work too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubothek.cli.dataset.facts import size_facts, size_text
from kubothek.cli.globs import describe_idle, globs_option, match_names, merge
from kubothek.cli.layout import print_listing
from kubothek.cli.render import cell_text
from kubothek.cube.members import cube_not_found, list_members, pin_each
from kubothek.dataset.snapshot import Snapshot
from kubothek.errors import InvalidInputError
from kubothek.model.cube import member_uuid
from kubothek.model.display import human_bytes, plural
from kubothek.plan.cube.metadata import is_seed
from kubothek.store.interface import Store

Facts = Mapping[str, Any]
_INCLUDE = globs_option("--include", "Only these datasets, such as 'weather,air*'; may be given several times.")
_EXCLUDE = globs_option("--exclude", "Not these datasets.")


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``--include`` and ``--exclude``, which it gets under these names."""
    chosen: Callable[..., Any] = _INCLUDE(_EXCLUDE(command))
    return chosen


@dataclass(frozen=True, slots=True)
class Selected:
    """Datasets of a cube.

    ``facts`` are those of each, by id, sorted; what a header that cannot be read would say is ``None``. ``ids`` is what
    the library is asked for: ``None`` where nothing was chosen, so all. ``seeds`` are those that are a seed, and
    ``others`` the datasets of the cube that were not chosen.
    """

    facts: Mapping[str, Facts]
    ids: tuple[str, ...] | None
    seeds: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def listing(self) -> list[Facts]:
        """The facts of the datasets, with their ids, for JSON."""
        return [{"dataset": one, **facts} for one, facts in self.facts.items()]

    @property
    def amount(self) -> str:
        """How many they are, for people."""
        return plural(len(self.facts), "dataset")

    @property
    def size(self) -> str:
        """How large they are, for people, after a comma; nothing where that is not known of all."""
        sizes = [facts["bytes"] for facts in self.facts.values()]
        return "" if None in sizes else f", {human_bytes(sum(sizes))}"

    def show(self) -> None:
        """List the datasets with their sizes."""
        print_listing(
            ("dataset", list(self.facts)),
            ("partitions", [cell_text(one["partitions"]) for one in self.facts.values()]),
            ("size", [size_text(one["bytes"]) for one in self.facts.values()]),
        )


def select(uuid_prefix: str, store: Store, include: Sequence[str], exclude: Sequence[str]) -> Selected:
    """Return the datasets that were chosen.

    Raises
    ------
    CubeNotFoundError
        There is no dataset of such a cube.
    InvalidInputError
        A pattern matches none, or no dataset is left.
    """
    pinned = _pin(uuid_prefix, store)
    if not pinned:
        raise cube_not_found(uuid_prefix, store)
    ids = choose(uuid_prefix, tuple(pinned), include, exclude)
    chosen = pinned if ids is None else {one: pinned[one] for one in ids}
    seeds = [one for one, s in chosen.items() if isinstance(s, Snapshot) and is_seed(s.header.metadata)]
    unknown = {"store": store.url, "version": None, "partitions": None, "rows": None, "bytes": None}
    facts = {
        one: {"uuid": member_uuid(uuid_prefix, one), **unknown} if snapshot is None else size_facts(snapshot)
        for one, snapshot in chosen.items()
    }
    return Selected(facts, ids, tuple(seeds), tuple(one for one in pinned if one not in chosen))


def choose(
    uuid_prefix: str, known: Sequence[str], include: Sequence[str], exclude: Sequence[str]
) -> tuple[str, ...] | None:
    """Return the ids of the datasets that patterns stand for, in the order of the known; ``None`` without patterns.

    Raises
    ------
    InvalidInputError
        A pattern matches none of the known, or none is left.

    Examples
    --------
    >>> choose("flights", ["airlines", "airports", "seed"], include=["air*"], exclude=["airlines"])
    ('airports',)
    """
    if not (include or exclude):
        return None
    found = match_names((*include, *exclude), known)
    message = describe_idle(found, f"dataset of cube {uuid_prefix!r}", known)
    if message:
        raise InvalidInputError(message, datasets=tuple(one for one, names in found.items() if not names))
    wanted = set(merge(match_names(include, known)) if include else known)
    wanted -= set(merge(match_names(exclude, known)))
    if not wanted:
        raise InvalidInputError(f"--exclude leaves no dataset of cube {uuid_prefix!r}, which has {', '.join(known)}.")
    return tuple(one for one in known if one in wanted)


def _pin(uuid_prefix: str, store: Store) -> dict[str, Snapshot | None]:
    """Return the datasets of a cube by id, ``None`` for those that cannot be read, of which ``check`` says more."""
    pinned = pin_each(uuid_prefix, list_members(uuid_prefix, store), store)
    readable = {one: found if isinstance(found, Snapshot) else None for one, found in pinned.items()}
    return {one: found for one, found in readable.items() if found is None or not found.header.is_withdrawn}
