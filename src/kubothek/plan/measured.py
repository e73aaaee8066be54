"""What running a plan is expected to take, and what was measured when it ran: plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expected:
    """How a plan would be carried out: requests per input, where they can be foreseen, and tasks on Spark.

    ``tasks`` is ``None`` where Spark's own reader takes the files, which cuts them as it likes.
    """

    requests: tuple[int, ...]
    tasks: int | None
    cores: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What was really read of one dataset.

    ``files`` were opened; in ``files_skipped`` of them, and in ``row_groups_skipped`` of their ``row_groups``,
    statistics left nothing to read. ``requests`` and ``bytes`` are what an object store would have been asked for and
    have sent, footers included. ``rows_stored`` are the rows of the files, as often as they were opened,
    ``rows_decoded`` those that statistics left (both ``None`` where a file does not tell), ``rows`` those that were
    left by the conditions and, in overlaid files, as last version of a cell; where a file serves several units, each
    counts its own.
    ``rows_joined`` are the rows of the result when this dataset had been joined, ``None`` where nothing is joined.
    ``seconds`` adds up the times of all threads.
    """

    files: int
    files_skipped: int
    row_groups: int
    row_groups_skipped: int
    requests: int
    bytes: int
    rows_stored: int | None
    rows_decoded: int | None
    rows: int
    rows_joined: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class MeasuredRead:
    """What was measured when a plan was carried out.

    ``inputs`` correspond to those of the plan. ``rows`` came out after ``seconds``. In ``units_emptied`` an inner join,
    or the seed, left nothing, so that the rest of the unit was not looked at.
    """

    inputs: tuple[Measured, ...]
    rows: int
    seconds: float
    units_emptied: int
