"""What was measured of one size, work by work, and how it is kept.

Each work carries the circumstances it was measured in, so that works may be measured again one at a time: what is new
takes the place of what was there of the same work, the others stay as they are, and a work that is no more vanishes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from benchmarks.curves import Curve
from benchmarks.figures import Figures, Goal
from benchmarks.timing import Measurement

Part = Measurement | Figures | Curve


@dataclass(frozen=True, slots=True)
class Result:
    """What one work came to, with the facts it depends on; ``ended`` once all of it was measured.

    Why parts of it failed is told in ``failures``, by their names.
    """

    work: str
    description: str
    facts: dict[str, str]
    measurements: tuple[Measurement, ...] = ()
    figures: tuple[Figures, ...] = ()
    curves: tuple[Curve, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)
    ended: bool = False

    @property
    def title(self) -> str:
        """What the work calls itself."""
        parts: tuple[Part, ...] = (*self.measurements, *self.figures, *self.curves)
        name = parts[0].work if parts else self.work
        return name.capitalize() + (", as it grows" if self.curves else "")

    def goals(self) -> Iterator[Goal]:
        """Yield all goals; what failed is one that was not reached."""
        for one in self.measurements:
            yield from one.goals()
        for other in self.figures:
            yield from other.goals
        for part in self.failures:
            yield Goal(part, "", "failed", "", reached=False)


@dataclass(frozen=True, slots=True)
class Results:
    """All works of a size, in the order in which they are registered."""

    size: str
    works: tuple[Result, ...] = ()

    def merged(self, new: Result, registered: Collection[str]) -> Results:
        """Return these with a new result instead of the old one of the same work, without works that are no more."""
        found = {one.work: one for one in self.works} | {new.work: new}
        return Results(self.size, tuple(found[work] for work in registered if work in found))


def load(folder: Path, size: str) -> Results:
    """Return what is kept of a size; nothing where there is nothing, or of another form."""
    try:
        return msgspec.json.decode((folder / f"{size}.json").read_bytes(), type=Results)
    except (FileNotFoundError, msgspec.DecodeError):
        return Results(size)


def save(folder: Path, results: Results) -> Path:
    """Keep results as ``<size>.json`` and return where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{results.size}.json"
    begun = path.with_suffix(".begun")
    begun.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
    begun.replace(path)  # so that a run that is broken off leaves no half of a file
    return path
