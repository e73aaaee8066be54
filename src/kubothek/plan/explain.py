"""Why a read reads what it reads: files, bytes and joins per dataset, and the rule that drops each other file.

The explanation is a value that can be compared and counted; printed, it is a short text::

    cube flights: 2 units, 3 columns
    where TEMP < 0
    ├─ flights  seed             2 of 12 files, 1.2 MB   10 dropped: 10 alignment
    ├─ weather  inner, restricts 2 of 12 files, 80.1 kB  10 dropped: 10 index
    └─ airports not read         0 of 1 files
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import EVERYTHING, Condition
from kubothek.plan.cube.query import CubePlan
from kubothek.plan.cube.resolve import ResolvedQuery
from kubothek.plan.scan import ScanPlan

RULES = {
    "partition": "by partition values",
    "index": "by index",
    "partition_by": "by grouping values",
    "no seed": "without cells in the seed",
    "alignment": "without partner in a restricting dataset",
}
"""What each rule means, in the words of an explanation."""


@dataclass(frozen=True, slots=True)
class SourceExplanation:
    """What happens to the files of one dataset.

    ``role`` is ``scan``, ``seed``, ``inner``, ``left`` or ``unread``; ``dropped`` counts files per rule; ``files`` are
    read, ``reads`` times in total where a file serves several units; ``bytes`` is their stored size, ``None`` where a
    header does not record it. ``overlaid`` counts units in which versions of cells have to be resolved.
    """

    name: str
    role: str
    total: int
    files: int
    reads: int
    bytes: int | None
    dropped: Mapping[str, int]
    overlaid: int = 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a read reads what it reads.

    ``units`` counts the pieces that are read one by one: files of a dataset, or physical partitions of a cube.
    """

    subject: str
    condition: str
    columns: tuple[str, ...]
    group_by: tuple[str, ...]
    units: int
    sources: tuple[SourceExplanation, ...]

    @property
    def files(self) -> int:
        """Number of files to read, each counted once."""
        return sum(source.files for source in self.sources)

    @property
    def bytes(self) -> int | None:
        """Stored bytes of these files, ``None`` where unknown."""
        sizes = [source.bytes for source in self.sources]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def __str__(self) -> str:
        """Give the explanation as lines of text."""
        lines = [f"{self.subject}: {_count(self.units, 'unit')}, {_count(len(self.columns), 'column')}"]
        if self.condition:
            lines.append(f"where {self.condition}")
        if self.group_by:
            lines.append(f"grouped by {', '.join(self.group_by)}")
        cells = [(source.name, _ROLES[source.role], _reading(source), _dropping(source)) for source in self.sources]
        widths = [max(len(cell[i]) for cell in cells) for i in range(3)] if cells else [0, 0, 0]
        for number, cell in enumerate(cells):
            branch = "└─" if number == len(cells) - 1 else "├─"
            padded = "  ".join(text.ljust(width) for text, width in zip(cell, widths, strict=False))
            lines.append(f"{branch} {padded}  {cell[3]}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the text in a notebook."""
        return f"<pre>{html.escape(str(self))}</pre>"


_ROLES = {"scan": "scan", "seed": "seed", "inner": "inner, restricts", "left": "left", "unread": "not read"}


def explain_scan(scan: ScanPlan) -> Explanation:
    """Explain the plan of one dataset's scan."""
    files, source = scan.plan.files[0], scan.plan.inputs[0]
    dropped = {rule: table.num_rows for rule, table in scan.dropped.items() if table.num_rows}
    told = SourceExplanation(
        name=source.uuid,
        role="scan",
        total=files.num_rows + sum(dropped.values()),
        files=files.num_rows,
        reads=files.num_rows,
        bytes=_size(files),
        dropped=dropped,
    )
    return Explanation(
        subject=scan.plan.subject,
        condition=_text(source.late),
        columns=tuple(scan.plan.schema.names),
        group_by=(),
        units=scan.plan.units.num_rows,
        sources=(told,),
    )


def explain_query(query: ResolvedQuery, plan: CubePlan) -> Explanation:
    """Explain the plan of a cube query."""
    sources = tuple(
        SourceExplanation(
            name=fact.dataset_id,
            role=fact.role,
            total=fact.total,
            files=fact.files,
            reads=fact.reads,
            bytes=fact.bytes,
            dropped={rule: len(labels) for rule, labels in fact.dropped.items()},
            overlaid=fact.overlaid,
        )
        for fact in plan.facts
    )
    return Explanation(
        subject=f"cube {query.cube.uuid_prefix}",
        condition=_text(query.condition),
        columns=tuple(query.schema.names),
        group_by=query.partition_by,
        units=plan.read.units.num_rows,
        sources=sources,
    )


def _text(condition: Condition) -> str:
    return "" if condition == EVERYTHING else str(condition)


def _size(files: pa.Table) -> int | None:
    sizes = files.column("bytes")
    return None if sizes.null_count else int(pc.sum(sizes).as_py() or 0)


def _reading(source: SourceExplanation) -> str:
    size = "" if source.bytes is None or not source.files else f", {human_bytes(source.bytes)}"
    again = f", read {source.reads} times" if source.reads > source.files else ""
    overlaid = f", {_count(source.overlaid, 'unit')} overlaid" if source.overlaid else ""
    return f"{source.files} of {_count(source.total, 'file')}{size}{again}{overlaid}"


def _dropping(source: SourceExplanation) -> str:
    told = [f"{count} {RULES.get(rule, rule)}" for rule, count in source.dropped.items()]
    return f"dropped: {', '.join(told)}" if told else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def human_bytes(size: int) -> str:
    """Return a size for people, in decimal units.

    Examples
    --------
    >>> human_bytes(999), human_bytes(1_234_567)
    ('999 B', '1.2 MB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
