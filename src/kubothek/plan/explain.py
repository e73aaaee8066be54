"""Why a read reads what it reads: files, bytes and joins per dataset, and the rule that drops each other file.

The explanation is a value (:mod:`kubothek.plan.explanation`) that can be compared and counted; printed, it is a short
text::

    cube flights: 2 units, 3 columns
    where TEMP < 0
    |- flights   seed      2 of 12 files   1.2 MB  4 requests
    |    10 files dropped without partner: a dataset that restricts the result has no file where they are
    |- weather   inner     2 of 12 files  80.1 kB  4 requests
    |    joined on ORIGIN, TIME_HOUR
    |    restricted to TEMP < 0
    |    10 files dropped by index: none of their rows matches, as the index tells
    `- airports  not read    0 of 1 file
    in all 4 files, 1.3 MB; largest unit 0.7 MB; 2 tasks on Spark with 4 cores

What a plan cannot know is how it will be carried out; that comes as an argument.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import all_of
from kubothek.model.read_plan import PARTITION_PREFIX, ReadPlan
from kubothek.plan.cube.query import CubePlan, DatasetFacts, known_sum
from kubothek.plan.cube.resolve import ResolvedQuery
from kubothek.plan.explanation import Explanation, SourceExplanation
from kubothek.plan.keys import row_ids
from kubothek.plan.measured import Expected
from kubothek.plan.scan import ScanPlan, ScanQuestion
from kubothek.plan.tasks import unit_bytes


def explain_scan(question: ScanQuestion, scan: ScanPlan, expected: Expected | None = None) -> Explanation:
    """Explain the plan of one dataset's scan, with what is expected of the way in which it is carried out."""
    files, source = scan.plan.files[0], scan.plan.inputs[0]
    dropped = {rule: table.num_rows for rule, table in scan.dropped.items() if table.num_rows}
    told = SourceExplanation(
        name=source.uuid,
        role="scan",
        total=files.num_rows + sum(dropped.values()),
        files=files.num_rows,
        reads=files.num_rows,
        bytes=known_sum(files["bytes"]),
        rows=known_sum(files["rows"]),
        dropped=dropped,
        columns=tuple(source.record.names),
        condition=question.condition,
        lookups=tuple(map(str, question.lookups)),
    )
    whole = Explanation(
        subject=scan.plan.subject,
        condition=question.condition,
        columns=tuple(scan.plan.schema.names),
        group_by=(),
        units=scan.plan.units.num_rows,
        groups=min(scan.plan.units.num_rows, 1),
        sources=(told,),
        largest_unit=_largest_unit(scan.plan),
    )
    return _with_expected(whole, expected)


def explain_query(query: ResolvedQuery, plan: CubePlan, expected: Expected | None = None) -> Explanation:
    """Explain the plan of a cube query, with what is expected of the way in which it is carried out."""
    units = plan.read.units
    ids = row_ids([units], [PARTITION_PREFIX + name for name in query.partition_by])[0]
    whole = Explanation(
        subject=f"cube {query.cube.uuid_prefix}",
        condition=query.condition,
        columns=tuple(query.schema.names),
        group_by=query.partition_by,
        units=units.num_rows,
        groups=len(pc.unique(pa.array(ids))),
        sources=tuple(_source(query, plan, number, facts) for number, facts in enumerate(plan.facts)),
        largest_unit=_largest_unit(plan.read),
    )
    return _with_expected(whole, expected)


def _source(query: ResolvedQuery, plan: CubePlan, number: int, facts: DatasetFacts) -> SourceExplanation:
    told = SourceExplanation(
        name=facts.dataset_id,
        role=facts.role,
        total=facts.total,
        files=facts.files,
        reads=facts.reads,
        bytes=facts.bytes,
        rows=facts.rows,
        dropped={rule: len(labels) for rule, labels in facts.dropped.items()},
        overlaid=facts.overlaid,
    )
    if facts.role == "unread":
        return told
    read = query.reads[number]
    values = [column for dataset_id, column in query.needed_postings if dataset_id == facts.dataset_id]
    on = next((step.on for step in plan.read.joins if step.input == number), ())
    return replace(
        told,
        joined_on=on,
        columns=tuple(read.record.names),
        condition=all_of([read.early, read.late]),
        lookups=(*map(str, read.leaves), *(f"the values of {column}" for column in values)),
    )


def _with_expected(told: Explanation, expected: Expected | None) -> Explanation:
    if expected is None:
        return told
    numbers = iter(expected.requests)
    sources = tuple(s if s.role == "unread" else replace(s, requests=next(numbers)) for s in told.sources)
    return replace(told, sources=sources, tasks=expected.tasks, cores=expected.cores)


def _largest_unit(plan: ReadPlan) -> int | None:
    if any(files.column("bytes").null_count for files in plan.files):
        return None
    return int(unit_bytes(plan).max(initial=0))
