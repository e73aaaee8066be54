"""What a read does and why, as values: what its plan expects, and what was measured when it was carried out.

An explanation can be counted and compared; :mod:`kubothek.plan.explain` makes it from a plan, and
:mod:`kubothek.plan.report` says how it is shown: as text, on a terminal, in a notebook.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from kubothek.model.condition import EVERYTHING, Condition
from kubothek.model.condition_json import condition_to_json
from kubothek.model.display import duration, human_bytes, plural, printable
from kubothek.plan.measured import Measured, MeasuredRead
from kubothek.plan.report import Cells, Entry, Report, as_html, as_text, as_tree

if TYPE_CHECKING:
    from rich.tree import Tree

Role = Literal["scan", "seed", "inner", "left", "unread"]

RULES = {
    "partition": "by partition values: the condition is false for all of their rows",
    "index": "by index: none of their rows matches, as the index tells",
    "partition_by": "by grouping values: an index lists none for them",
    "no seed": "without cells in the seed: it has no file where they are",
    "alignment": "without partner: a dataset that restricts the result has no file where they are",
    "statistics": "by statistics: the least and greatest values in their footers rule a match out",
}
"""What each rule means and how the plan knows, in the words of an explanation."""

_ROLES = {"scan": "scan", "seed": "seed", "inner": "inner", "left": "left", "unread": "not read"}


@dataclass(frozen=True, slots=True)
class SourceExplanation:
    """What happens to the files of one dataset.

    Parameters
    ----------
    name
        The dataset's id in a cube, else its uuid.
    role
        ``scan``, ``seed``, ``inner``, ``left``, or ``unread`` where the answer does not depend on it.
    total, files, reads
        How many files it has, how many of them are read, and how often: a file may serve several units.
    bytes, rows
        What these files hold, each counted once; ``None`` where it is not recorded.
    dropped
        How many of the others each rule dropped.
    overlaid
        Number of units in which versions of cells have to be resolved.
    joined_on
        The columns on which it is joined to what comes before it.
    columns
        The columns that are read.
    condition
        What its rows are asked before the joins.
    lookups
        What its indices were asked when the read was planned.
    requests
        How many requests an object store gets if the read runs in one process and statistics skip nothing.
    measured
        What was really read, where that was measured.
    """

    name: str
    role: Role
    total: int
    files: int
    reads: int
    bytes: int | None
    dropped: Mapping[str, int]
    overlaid: int = 0
    rows: int | None = None
    joined_on: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    condition: Condition = EVERYTHING
    lookups: tuple[str, ...] = ()
    requests: int | None = None
    measured: Measured | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a read reads what it reads.

    Parameters
    ----------
    subject
        What is read.
    condition
        Which rows are wanted.
    columns, group_by
        Columns of the result, and those by whose values it is cut.
    units, groups
        How many pieces are read one by one (files of a dataset, or physical partitions of a cube), and how many groups
        they make.
    sources
        The datasets in the order in which they are joined; those that are not read come last.
    largest_unit
        Stored bytes of the files of the largest unit, which a task has in memory; ``None`` where unknown.
    tasks, cores
        In how many tasks :meth:`to_spark` reads, and for how many cores that was reckoned. ``tasks`` is ``None`` where
        it is not known, or where Spark's own reader takes the files.
    measured
        What was measured, where the read was carried out.
    """

    subject: str
    condition: Condition
    columns: tuple[str, ...]
    group_by: tuple[str, ...]
    units: int
    sources: tuple[SourceExplanation, ...]
    groups: int | None = None
    largest_unit: int | None = None
    tasks: int | None = None
    cores: int | None = None
    measured: MeasuredRead | None = None

    @property
    def files(self) -> int:
        """Number of files to read, each counted once."""
        return sum(source.files for source in self.sources)

    @property
    def bytes(self) -> int | None:
        """Stored bytes of these files, ``None`` where unknown."""
        return _total(source.bytes for source in self.sources)

    @property
    def requests(self) -> int | None:
        """Number of requests to expect, ``None`` where unknown."""
        return _total(source.requests for source in self.sources if source.role != "unread")

    def with_measured(self, measured: MeasuredRead) -> Explanation:
        """Return the explanation with what was measured beside what was expected."""
        inputs = iter(measured.inputs)
        sources = tuple(s if s.role == "unread" else replace(s, measured=next(inputs)) for s in self.sources)
        return replace(self, sources=sources, measured=measured)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; conditions in the form that ``where=`` takes.

        Examples
        --------
        >>> source = SourceExplanation("weather", "scan", total=3, files=1, reads=1, bytes=80, dropped={"index": 2})
        >>> told = Explanation("dataset weather", EVERYTHING, ("TEMP",), (), units=1, sources=(source,)).to_dict()
        >>> told["files"], told["sources"][0]["dropped"], told["condition"]
        (1, {'index': 2}, {'and': []})
        """
        whole = {name: getattr(self, name) for name in ("subject", "units", "groups", "files", "bytes", "requests")}
        whole |= {name: getattr(self, name) for name in ("largest_unit", "tasks", "cores")}
        used = {rule for source in self.sources for rule in source.dropped}
        used |= {"statistics" for source in self.sources if source.measured and source.measured.row_groups_skipped}
        return {
            **whole,
            "columns": list(self.columns),
            "group_by": list(self.group_by),
            "condition": condition_to_json(self.condition),
            "sources": [_source_dict(number, source) for number, source in enumerate(self.sources)],
            "rules": {rule: text for rule, text in RULES.items() if rule in used},
            "measured": None if self.measured is None else _without(asdict(self.measured), "inputs"),
        }

    def __str__(self) -> str:
        """Give the explanation as aligned lines of plain text."""
        return as_text(_report(self))

    __repr__ = __str__

    def __rich__(self) -> Tree:
        """Show it on a terminal as a tree, coloured by role."""
        return as_tree(_report(self))

    def _repr_html_(self) -> str:
        """Show it in a notebook as a table."""
        return as_html(_report(self))


def _total(numbers: Iterable[int | None]) -> int | None:
    found = list(numbers)
    return None if None in found else sum(number for number in found if number is not None)


def _source_dict(position: int, source: SourceExplanation) -> dict[str, Any]:
    plain = ("name", "role", "total", "files", "reads", "bytes", "rows", "requests", "overlaid")
    return {
        **{name: getattr(source, name) for name in plain},
        "position": None if source.role == "unread" else position,
        "joined_on": list(source.joined_on),
        "columns": list(source.columns),
        "condition": condition_to_json(source.condition),
        "lookups": list(source.lookups),
        "dropped": dict(source.dropped),
        "measured": None if source.measured is None else asdict(source.measured),
    }


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _report(told: Explanation) -> Report:
    notes = [f"{plural(told.units, 'unit')}, {plural(len(told.columns), 'column')}"]
    notes += [f"where {told.condition}"] if told.condition != EVERYTHING else []
    notes += [f"grouped by {', '.join(told.group_by)}"] if told.group_by else []
    return Report(
        title=printable(told.subject),
        notes=tuple(map(printable, notes)),
        entries=tuple(_entry(source, alone=len(told.sources) == 1) for source in told.sources),
        summary=tuple(_summary(told)),
    )


def _summary(told: Explanation) -> Iterable[str]:
    facts = []
    if len(told.sources) > 1:
        size = "" if told.bytes is None else f", {human_bytes(told.bytes)}"
        facts.append(f"in all {plural(told.files, 'file')}{size}")
    if told.largest_unit is not None and told.units > 1:
        facts.append(f"largest unit {human_bytes(told.largest_unit)}")
    if told.tasks is not None and told.cores is not None:
        # With a task per unit the number of cores makes no difference.
        cores = f" with {plural(told.cores, 'core')}" if told.tasks < told.units else ""
        facts.append(f"{plural(told.tasks, 'task')} on Spark{cores}")
    if facts:
        yield "; ".join(facts)
    if told.measured is not None:
        emptied = told.measured.units_emptied
        early = f"; {plural(emptied, 'unit')} found empty before all was read" if emptied else ""
        yield f"measured: {plural(told.measured.rows, 'row')} in {duration(told.measured.seconds)}{early}"


def _entry(source: SourceExplanation, *, alone: bool) -> Entry:
    found = source.measured
    return Entry(
        name=printable(source.name),
        role=source.role,
        part=_ROLES[source.role],
        expected=Cells(
            files=f"{source.files:,} of {plural(source.total, 'file')}",
            size="" if source.bytes is None or not source.files else human_bytes(source.bytes),
            rows="" if source.rows is None or not source.files else plural(source.rows, "row"),
            requests="" if not source.requests else plural(source.requests, "request"),
        ),
        measured=None if found is None else _measured_cells(found),
        remarks=tuple(map(printable, [*_remarks(source, alone=alone), *_findings(source.role, found)])),
    )


def _measured_cells(found: Measured) -> Cells:
    return Cells(
        files=plural(found.files, "file"),
        size=human_bytes(found.bytes),
        rows="" if found.rows_decoded is None else plural(found.rows_decoded, "row"),
        requests=plural(found.requests, "request"),
    )


def _remarks(source: SourceExplanation, *, alone: bool) -> Sequence[str]:
    if source.role == "unread":
        return ()
    remarks = [f"joined on {', '.join(source.joined_on)}"] if source.joined_on else []
    remarks += [f"restricted to {source.condition}"] if source.condition != EVERYTHING and not alone else []
    remarks += [f"index asked for {lookup}" for lookup in source.lookups]
    remarks += [f"{plural(count, 'file')} dropped {RULES.get(rule, rule)}" for rule, count in source.dropped.items()]
    if source.reads > source.files:
        remarks.append(f"read {source.reads:,} times, as several units need the same files")
    if source.overlaid:
        remarks.append(f"{plural(source.overlaid, 'unit')} overlaid: versions of cells are resolved")
    return remarks


def _findings(role: Role, found: Measured | None) -> Iterable[str]:
    if found is None:
        return
    if found.row_groups_skipped:
        files = f", {plural(found.files_skipped, 'file')} altogether" if found.files_skipped else ""
        yield f"{found.row_groups_skipped} of {plural(found.row_groups, 'row group')} skipped by statistics{files}"
    if found.rows_joined is None:
        yield f"{plural(found.rows, 'row')} matched"
    else:
        left = "to begin with" if role == "seed" else "after this join"
        joined = f"{plural(found.rows_joined, 'row')} {left}"
        yield f"{plural(found.rows, 'row')} matched in its units; {joined}; {duration(found.seconds)}"
