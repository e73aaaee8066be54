"""Units of a cube query in this process: how often files are read, and how far reading runs ahead of the consumer."""

from __future__ import annotations

import os
import uuid as uuids
from collections import Counter

import pyarrow as pa
import pytest

from kubothek import Cube, Query, build_cube, extend_cube, query_cube
from kubothek.testing.stores import CountingStore

UNITS = 40
AHEAD = 2 * max(os.cpu_count() or 1, 16)
"""Units that may be read before the consumer asks for them: from afar, more than there are cores."""


def queried(enrichments: int, coarse: bool, **question: object) -> tuple[Query, CountingStore]:
    """Plan a query of a cube of forty partitions of three cells; coarse enrichments know two of three, in one file."""
    cube = Cube(uuid_prefix="c", dimension_columns=["x", "y"], partition_columns=["p"])
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    x = [x for x in range(UNITS) for _ in range(3)]
    build_cube(pa.table({"x": x, "y": [0, 1, 2] * UNITS, "p": x, "v0": x}), cube, store)
    own = {"y": [0, 2]} if coarse else {"x": x, "p": x, "y": [0, 1, 2] * UNITS}
    data = {f"e{n}": {**own, f"v{n}": [n, -n] if coarse else x} for n in range(1, enrichments + 1)}
    layout = dict.fromkeys(data, () if coarse else "p")
    extend_cube({name: pa.table(columns) for name, columns in data.items()}, cube, store, partition_on=layout)
    query = query_cube(cube, store, **question)
    store.reset()
    return query, store


def reads(store: CountingStore) -> Counter[str]:
    """Count the units of whose seed something was read, and per coarse enrichment how often its file was."""
    files = {call.key for call in store.log if "/table/" in call.key}
    return Counter(key.split("/")[0] for key in files)


@pytest.mark.parametrize("question", [{}, {"where": "v1 > 0 AND v2 > 0"}, {"partition_by": "p"}], ids=str)
def test_coarse_files_are_read_once(question: dict[str, object]) -> None:
    """Several enrichments that serve every unit are fetched for the first of them only."""
    query, store = queried(3, coarse=True, **question)
    found = query.to_arrow()
    assert found.num_rows == UNITS * (1 if "where" in question else 3)
    requests = Counter(call.key.split("/")[0] for call in store.log)
    assert max(requests[f"c++e{n}"] for n in (1, 2, 3)) <= 2
    assert reads(store)["c++seed"] == UNITS


@pytest.mark.parametrize("enrichments", [1, 3])
def test_batches_are_a_few_units_ahead(enrichments: int) -> None:
    """When the first batch is there, no more units are begun than threads keep busy; and all come, in order."""
    query, store = queried(enrichments, coarse=False)
    batches = query.batches()
    found = next(batches).num_rows
    assert all(count <= AHEAD + 1 for count in reads(store).values())
    assert found + sum(batch.num_rows for batch in batches) == 3 * UNITS


def test_groups_are_a_few_units_ahead() -> None:
    """A group is given as soon as its units are read."""
    query, store = queried(2, coarse=False, partition_by="p")
    groups = query.groups()
    key, table = next(groups)
    assert (key, table.num_rows) == ((0,), 3)
    assert all(count <= AHEAD + 1 for count in reads(store).values())
    assert [key for key, _ in groups] == [(p,) for p in range(1, UNITS)]


@pytest.mark.parametrize("enrichments", [1, 50])
def test_up_to_fifty_enrichments(enrichments: int) -> None:
    """However many datasets are joined, each cell has the values of all of them."""
    query, _ = queried(enrichments, coarse=True)
    found = query.to_arrow()
    assert found.num_columns == 4 + enrichments
    for n in (1, enrichments):
        assert found[f"v{n}"].to_pylist() == [n, None, -n] * UNITS
