"""The head of the page: what the cube is, how much it holds, what was done last, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubothek.display.drawing import table
from kubothek.display.sizes import is_small
from kubothek.display.words import STATES, count_text, names_text, size_text
from kubothek.model.display import plural
from kubothek.model.markup import Markup, element
from kubothek.plan.cube.coverage import State
from kubothek.plan.cube.picture import CubePicture, DatasetPicture

_HEADINGS = ("dataset", "role", "version", "partitions", "files", "rows", "size", "partitioned by", "payload columns")
_NAMES = 8
_TOLD = (State.STALE, State.MISSING, State.EXTRA)


def overview(picture: CubePicture) -> Markup:
    """Draw the head of the page."""
    return element(
        "header",
        element("p", "Cube", class_="kicker"),
        element("h1", picture.cube.uuid_prefix),
        element("p", f"{picture.store}, {picture.time:%Y-%m-%d %H:%M} UTC", class_="note"),
        element("ul", *_verdicts(picture), class_="verdicts"),
        element("dl", *_tiles(picture), class_="tiles"),
        _specification(picture),
        table("Datasets", _HEADINGS, ([*_cells(dataset)] for dataset in picture.datasets), (2, 3, 4, 5, 6)),
        id="overview",
    )


def _verdicts(picture: CubePicture) -> Iterator[Markup]:
    """Yield what needs attention, each as a way to where it is told, or that nothing does."""
    counts = [picture.coverage.count(number) for number in range(len(picture.datasets))]
    sums = {state: sum(found[state] for found in counts) for state in _TOLD}
    found = [("problems", plural(len(picture.problems), "problem"), "bad") if picture.problems else None]
    found += [
        ("coverage", f"{plural(count, 'partition')} {STATES[state]}", "warn") if count else None
        for state, count in sums.items()
    ]
    small = sum(map(is_small, picture.datasets))
    found += [("sizes", f"small files in {plural(small, 'dataset')}", "warn") if small else None]
    told = [one for one in found if one is not None]
    for anchor, text, class_ in told:
        yield element("li", element("a", text, href=f"#{anchor}", class_=class_))
    if not told:
        covered = "all partitions covered" if picture.coverage.units.num_rows else "empty"
        yield element("li", element("span", f"{covered}, no problem found", class_="fine"))


def _tiles(picture: CubePicture) -> Iterator[Markup]:
    seed = picture.datasets[0]
    facts = [
        ("datasets", f"{len(picture.datasets):,}"),
        ("partitions", f"{picture.coverage.units.num_rows:,}"),
        ("files", f"{picture.files:,}"),
        ("rows of the seed", count_text(seed.rows)),
        ("size", size_text(picture.bytes)),
    ]
    for name, value in facts:
        yield element("div", element("dt", name), element("dd", value))
    if picture.last_commit is not None:
        dataset, entry = picture.last_commit
        who = f" by {entry.author}" if entry.author else ""
        told = f"{entry.operation or 'commit'} of {dataset.dataset_id}{who}"
        when = f"{entry.time:%Y-%m-%d %H:%M}"
        yield element("div", element("dt", "last commit"), element("dd", when, element("small", told)), class_="wide")


def _specification(picture: CubePicture) -> Markup:
    cube = picture.cube
    roles = {
        "dimension columns": cube.dimension_columns,
        "partition columns": cube.partition_columns,
        "index columns": cube.index_columns,
        "no index on": cube.suppress_index_on,
    }
    rows = (
        element("div", element("dt", role), element("dd", *(element("code", name) for name in names)))
        for role, names in roles.items()
        if names
    )
    return element("dl", *rows, class_="specification")


def _cut(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - _NAMES
    return names_text([*names[:_NAMES], f"and {more:,} more"] if more > 1 else names)


def _cells(dataset: DatasetPicture) -> tuple[str, ...]:
    return (
        dataset.dataset_id,
        dataset.role,
        "-" if dataset.version is None else str(dataset.version),
        f"{dataset.partitions:,}",
        f"{dataset.files:,}",
        count_text(dataset.rows),
        size_text(dataset.bytes),
        names_text(dataset.partition_keys),
        _cut(dataset.payload),
    )
