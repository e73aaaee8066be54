"""Which clients do what, drawn from a seed; how a schedule is run; and what is looked at when all is over.

A schedule has one or two phases. In each, several clients run at once, each with some operations; between two phases
late requests arrive and two days pass, so that what was left behind is old enough to be garbage. At the end one client
without faults looks whether everything works and is tidy.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from kubothek.model.header import HeaderFormat
from kubothek.testing.simulation.checks import find_violations
from kubothek.testing.simulation.client import ClientStore, Simulation, Step
from kubothek.testing.simulation.cube_operations import (
    ENRICHMENT,
    SEED,
    CleanUpCube,
    Query,
    RemovePartitions,
    WriteCube,
)
from kubothek.testing.simulation.dataset_operations import (
    INDEX_VALUES,
    BuildIndex,
    CollectGarbage,
    CreateEmpty,
    Delete,
    DropIndex,
    Read,
    ReadHistory,
    ReadVersion,
    Rollback,
    StageAndCommit,
    Update,
    Write,
)
from kubothek.testing.simulation.endings import cube_leftovers, dataset_leftovers
from kubothek.testing.simulation.faults import Faults
from kubothek.testing.simulation.foreign import ForeignUpdate
from kubothek.testing.simulation.ledger import Ledger
from kubothek.testing.simulation.objects import Objects
from kubothek.testing.simulation.runs import Fault, Operation, Outcome, Row, Run
from kubothek.testing.simulation.world import Clock

_BETWEEN_PHASES = 2 * 86400.0
_PARTITIONS = (1, 2)


@dataclass(frozen=True, slots=True)
class _Theme:
    """What a schedule is mostly about.

    ``share`` is that of its schedules among all, ``begun`` that of those which begin with something there. ``phases``
    are possible numbers of phases, ``weights`` those of the operations, in the order in which they are drawn, and
    ``faults`` what goes wrong, if not everything.
    """

    share: int
    begun: float
    phases: tuple[int, ...]
    weights: tuple[int, ...]
    is_cube: bool = False
    faults: tuple[Fault, ...] | None = None


_DOUBTS = (Fault.FAIL, Fault.LATE, Fault.REFUSE, Fault.LOSE_ANSWER)
_THEMES = (
    #                  add, replace, by index, staged, new, over, empty, index, drop, back, delete, gc, foreign, read
    _Theme(6, 0.8, (1, 1, 2), (10, 5, 2, 3, 2, 2, 1, 2, 1, 3, 2, 3, 1, 2, 1, 4)),
    _Theme(2, 0.0, (1,), (8, 2, 0, 2, 6, 3, 3, 0, 0, 0, 3, 0, 0, 0, 0, 4)),  # who creates it
    _Theme(2, 1.0, (2,), (6, 4, 0, 0, 0, 2, 0, 1, 1, 6, 0, 6, 1, 3, 1, 2)),  # old versions
    _Theme(1, 1.0, (1, 2), (6, 3, 0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 6, 1, 1, 3)),  # other software
    _Theme(2, 1.0, (1,), (8, 4, 0, 2, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1), faults=_DOUBTS),
    #                  build, extend, append, update, remove, clean up, query
    _Theme(4, 0.75, (1, 1, 2), (3, 2, 6, 4, 2, 1, 5), is_cube=True),
)


@dataclass(frozen=True, slots=True)
class Report:
    """What one schedule came to: ``violations`` in words, and everything that happened."""

    seed: int
    violations: tuple[str, ...]
    runs: tuple[Run, ...]
    trace: tuple[Step, ...]

    @property
    def outcomes(self) -> Counter[tuple[str, Outcome]]:
        """How often which operation ended how."""
        return Counter((type(run.operation).__name__, run.outcome) for run in self.runs)

    @property
    def faults(self) -> Counter[Fault]:
        """How often what went wrong."""
        return Counter(fault for run in self.runs for fault in run.faults)

    def __str__(self) -> str:
        """Tell what was wrong, and the whole story."""
        lines = [f"seed {self.seed}: {len(self.violations)} violation(s)", *self.violations, ""]
        return "\n".join([*lines, *map(str, self.runs), "", *map(str, self.trace)])


def run_schedule(seed: int) -> Report:
    """Run the schedule of a seed, and check all that it left."""
    rng = random.Random(seed)
    simulation = Simulation(Objects(Clock()))
    theme = rng.choices(_THEMES, [one.share for one in _THEMES])[0]
    draw = partial(_draw_cube if theme.is_cube else _draw_dataset, theme, rng, count(1))
    names = (f"client {number}" for number in count(1))
    for phase in range(rng.choice(theme.phases)):
        if phase:
            simulation.objects.clock.advance(_BETWEEN_PHASES)
        elif rng.random() < theme.begun:
            simulation.run_alone(ClientStore(next(names), simulation, f"{seed}"), [draw(is_first=True)])
        faults, clients = Faults(rng, theme.faults, seed), rng.choice((2, 2, 3, 3, 4))
        stores = [ClientStore(next(names), simulation, f"{seed}", faults) for _ in range(clients)]
        simulation.run(rng, {one: [draw() for _ in range(rng.choice((1, 1, 2, 3)))] for one in stores})
    leftovers = list((cube_leftovers if theme.is_cube else dataset_leftovers)(simulation, seed))
    violations = (*find_violations(Ledger(simulation.objects), simulation.runs), *leftovers)
    return Report(seed, violations, tuple(simulation.runs), tuple(simulation.trace))


def _draw_dataset(theme: _Theme, rng: random.Random, numbers: Iterator[int], *, is_first: bool = False) -> Operation:
    """Draw what is done to a dataset."""
    rows, header_format = _rows(rng, numbers, rng.choice(INDEX_VALUES)), _format(rng)
    if is_first:
        return Write(rows, header_format=header_format)
    some, names = rows if rng.random() < 0.5 else (), rng.random() < 0.7
    partition: tuple[str, Any] = ("p", rng.choice(_PARTITIONS))
    choices: list[Operation] = [
        Update(rows, names_layout=names, header_format=header_format),
        Update(some, partition, names_layout=names),
        Update(some, ("i1", rng.choice(INDEX_VALUES))),
        StageAndCommit(rows),
        Write(rows, header_format=header_format),
        Write(rows, overwrite=True, header_format=header_format),
        CreateEmpty(header_format),
        BuildIndex(rng.choice(("i1", "v1"))),
        DropIndex(rng.choice(("i1", "v1"))),
        Rollback(rng.randrange(1, 6)),
        Delete(),
        CollectGarbage(rng.choice((1, 1, 2, None))),
        ForeignUpdate(rows[:1] if rng.random() < 0.7 else (), rng.randrange(20)),
        ReadVersion(rng.randrange(1, 6)),
        ReadHistory(),
        Read(),
    ]
    return rng.choices(choices, theme.weights)[0]


def _draw_cube(theme: _Theme, rng: random.Random, numbers: Iterator[int], *, is_first: bool = False) -> Operation:
    """Draw what is done to a cube."""
    seed = _rows(rng, numbers)
    cells = rng.sample(seed, rng.randrange(1, len(seed) + 1))
    both = ((SEED, seed), (ENRICHMENT, tuple((next(numbers), p, x) for _, p, x in cells)))
    if is_first:
        return WriteCube("build", both[: rng.choice((1, 2, 2))])
    choices: list[Operation] = [
        WriteCube("build", both, overwrite=rng.random() < 0.3),
        WriteCube("extend", both[1:], overwrite=rng.random() < 0.3),
        WriteCube("append", both[: rng.choice((1, 2, 2))]),
        WriteCube("update", both[: rng.choice((1, 2, 2))]),
        RemovePartitions(rng.choice(_PARTITIONS)),
        CleanUpCube(rng.choice((1, 2))),
        Query(),
    ]
    return rng.choices(choices, theme.weights)[0]


def _format(rng: random.Random) -> HeaderFormat:
    return "msgpack" if rng.random() < 0.3 else "json"


def _rows(rng: random.Random, numbers: Iterator[int], value: str | None = None) -> tuple[Row, ...]:
    """Draw one to three rows with an index value, or each a cell of its own; most of them in one partition."""
    fixed, made = rng.choice(_PARTITIONS), list[Row]()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        number, p = next(numbers), fixed if rng.random() < 0.7 else rng.choice(_PARTITIONS)
        made.append((number, p, number if value is None else value if rng.random() < 0.8 else INDEX_VALUES[0]))
    return tuple(made)
