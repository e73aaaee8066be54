"""Pictures of cubes without a store: partitions, ten datasets that cover them more or less, commits and a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

import kubothek as kb
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.model.history import History, HistoryEntry
from kubothek.model.problem import Problem
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.cube.coverage import find_coverage
from kubothek.plan.cube.lineage import REASON
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.picture import (
    CubePicture,
    DatasetPicture,
    IndexPicture,
    count_partitions,
    count_rows,
    count_sizes,
    sum_recorded,
)
from kubothek.plan.explanation import Explanation, SourceExplanation

CUBE = kb.Cube("c", ["x", "y"], ["p", "q"], index_columns=["i1"])
NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
TEN = ("seed", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9")


def places(number: int) -> list[tuple[int, int]]:
    """Return the values of so many physical partitions, 365 in each value of ``p``."""
    return [(2000 + place // 365, place % 365) for place in range(number)]


def member(dataset_id: str, rows: Sequence[tuple[int, ...]], keys: Sequence[str], size: int = 3_000_000) -> Member:
    """Make a dataset of a file in each of some places; sizes and rows differ, as drawn from a fixed seed."""
    draw = np.random.default_rng(len(dataset_id) + len(rows) + size)
    rows_each = draw.lognormal(np.log(40_000), 0.5, len(rows)).astype(np.int64)
    columns: dict[str, Any] = {"label": [f"{dataset_id}{n}" for n in range(len(rows))]}
    columns |= {"key": columns["label"], "rows": rows_each, "bytes": (rows_each * (size / 40_000)).astype(np.int64)}
    values = zip(*rows, strict=True) if rows else [[]] * len(keys)
    columns |= {PARTITION_PREFIX + key: pa.array(value, pa.int64()) for key, value in zip(keys, values, strict=False)}
    schema = pa.schema([(name, pa.int64()) for name in (*keys, "x", f"v_{dataset_id}")])
    return Member(dataset_id, f"c++{dataset_id}", schema, tuple(keys), (), pa.table(columns))


def history(number: int, author: str = "Zoë") -> History:
    """Make so many commits, the fourth of which other software made."""
    return History(
        HistoryEntry(
            version=version,
            commit=f"{version:032x}",
            time=NOW - timedelta(hours=7 * (number - version)),
            operation="foreign commit" if version == 4 else "remove_partitions" if version % 9 == 0 else "update_cube",
            author="" if version == 4 else author,
            library="",
            added=0 if version % 9 == 0 else version * 3,
            removed=version if version % 3 == 0 else 0,
            rows=version * 1000,
            is_foreign=version == 4,
            overwrote=(),
            is_current=version == number,
        )
        for version in range(number, 0, -1)
    )


def explanation(members: Sequence[Member], condition: Condition = EVERYTHING) -> Explanation:
    """Explain a query that reads a tenth of the files, or everything."""
    asked = condition != EVERYTHING
    sources = []
    for number, one in enumerate(members):
        total = one.files.num_rows
        kept = total // 10 if asked else total
        dropped = {"partition": total // 2, "index": total - total // 2 - kept} if asked else {}
        role = "seed" if number == 0 else "inner" if asked and number == 1 else "left"
        sources.append(
            SourceExplanation(
                one.dataset_id, role, total, kept, kept, kept * 10**6, dropped, rows=kept * 1000, requests=kept + 1,
                joined_on=() if number == 0 else ("x",),
            )
        )  # fmt: skip
    return Explanation("cube c", condition, ("x",), (), sources[0].files, tuple(sources), tasks=8, cores=8)


def picture(
    partitions: int,
    names: Sequence[str] = TEN,
    *,
    cube: kb.Cube = CUBE,
    problems: Sequence[Problem] = (),
    condition: Condition = EVERYTHING,
    author: str = "Zoë",
) -> CubePicture:
    """Make a picture of a cube: the second dataset ends early, the third has holes, the fourth is stale in places.

    The fifth is partitioned by the first column, the sixth by nothing; the seventh has a partition that the seed lacks.
    """
    here, keys = places(partitions), cube.partition_columns
    cut = {
        1: here[: max(1, 8 * partitions // 10)],
        2: [place for number, place in enumerate(here) if number % 97 != 5],
        6: [*here, (2999, 1)],
    }
    members = [member(name, cut.get(number, here), keys) for number, name in enumerate(names)]
    if len(names) > 5:
        members[4] = member(names[4], sorted({place[:1] for place in here}), keys[:1], 90_000_000)
        members[5] = member(names[5], [()], ())
    late = here[partitions // 3 : partitions // 3 + max(1, partitions // 25)]
    stale = {names[3]: stale_units(late, keys)} if len(names) > 3 else {}
    coverage = find_coverage(cube, members, stale)
    datasets = {one.dataset_id: dataset(one, names, stale, author) for one in members}
    ordered = tuple(datasets[name] for name in coverage.datasets)
    told = explanation(sorted(members, key=lambda one: coverage.datasets.index(one.dataset_id)), condition)
    return CubePicture(cube, "memory://pictures", NOW, ordered, coverage, told, tuple(problems))


def stale_units(late: Sequence[tuple[int, int]], keys: Sequence[str]) -> pa.Table:
    """Return the units that have changed, as a survey finds them."""
    columns = {PARTITION_PREFIX + key: list(values) for key, values in zip(keys, zip(*late, strict=True), strict=True)}
    return pa.table(columns | {REASON: ["changed"] * len(late)})


def dataset(one: Member, names: Sequence[str], stale: Mapping[str, Any], author: str) -> DatasetPicture:
    """Return what a page shows of a dataset."""
    number, files = names.index(one.dataset_id), one.files
    indices = (
        IndexPicture("i1", "string", 5000, 5000 * 7, 120_000),
        IndexPicture("i2", "int64", 3, files.num_rows * 3, 999),
    )
    return DatasetPicture(
        dataset_id=one.dataset_id,
        uuid=one.uuid,
        role="seed" if number == 0 else "computed" if one.dataset_id in stale else "enrichment",
        version=3 + 5 * number,
        partition_keys=one.partition_keys,
        dimensions=("x",),
        payload=tuple(sorted(name for name in one.schema.names if name.startswith("v"))),
        partitions=count_partitions(files, one.partition_keys),
        files=files.num_rows,
        rows=sum_recorded(files["rows"]),
        bytes=sum_recorded(files["bytes"]),
        sizes=count_sizes(files["bytes"]),
        spread=count_rows(files, one.partition_keys),
        indices=indices if number in (0, 3) else (),
        history=history(3 + 5 * number, author),
    )
