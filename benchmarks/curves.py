"""How cost grows: seconds against partitions, rows, enrichments or writers, and the power of the axis they grow with.

A curve is a line on paper with two logarithmic axes; its slope is 0 where the cost is constant, 1 where it is linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Point:
    """How many seconds one place of a curve costs."""

    x: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Curve:
    """How the seconds of a contender grow with ``x``, which names the axis with its unit, such as ``partitions``.

    Curves of the same work and name are drawn into one picture; ``note`` says in words what grows.
    """

    work: str
    name: str
    x: str
    contender: str
    points: tuple[Point, ...]
    note: str = ""

    @property
    def slope(self) -> float | None:
        """Power of ``x`` that the seconds grow with, fitted; ``None`` where there are not two places to compare."""
        places = [(point.x, point.seconds) for point in self.points if point.x > 0 and point.seconds > 0]
        if len({x for x, _ in places}) < 2:
            return None
        x, seconds = np.log(np.array(places).T)
        return float(np.polyfit(x, seconds, 1)[0])
