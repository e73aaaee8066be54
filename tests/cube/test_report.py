"""A cube's page made from a store: its numbers are those that the store has, counted in another way."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cube.computing import CUBE, PLACES, built, features, new_store, refresh, seed
from tests.cube.stored_cubes import make_foreign

import kubothek as kb
from kubothek.cube.report import load_picture
from kubothek.plan.cube.coverage import State
from kubothek.store.interface import Store
from kubothek.testing.stores import Call, T, WrappedStore


class Noting(WrappedStore):
    """Notes which objects it is asked for."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.keys: list[str] = []

    def around(self, call: Call, act: Callable[[], T]) -> T:
        """Note the key."""
        self.keys.append(call.key)
        return act()


def stored() -> Store:
    """Build a cube of six partitions with an enrichment of two of three values, and sums that are stale in one."""
    store = built(features=features(0, 1))
    refresh(store, "p", "q")
    kb.update_cube(seed((2, "b"), v1=5), CUBE, store)
    return store


def part(picture: Any, name: str) -> Any:
    """Return what a picture tells of one dataset."""
    [found] = [one for one in picture.datasets if one.dataset_id == name]
    return found


def test_sizes_are_those_of_the_objects() -> None:
    """Files, bytes and rows are those that a listing and the footers of all files tell."""
    store = stored()
    picture = load_picture("c", store)
    for one in picture.datasets:
        files = kb.open_dataset(one.uuid, store).partitions.values()
        objects = [store.get(key).data for file in files for key in file.files.values()]
        assert (one.files, one.bytes) == (len(objects), sum(map(len, objects)))
        assert one.rows == sum(pq.read_metadata(io.BytesIO(data)).num_rows for data in objects)
        assert one.sizes.small == len(objects)


def test_coverage_is_what_was_written() -> None:
    """The enrichment lacks what it was not given; the sums are stale where the seed was replaced since."""
    coverage = load_picture("c", stored()).coverage
    found = {name: coverage.count(number) for number, name in enumerate(coverage.datasets)}
    assert found["features"] == dict.fromkeys(State, 0) | {State.COVERED: 4, State.MISSING: 2}
    assert found["sums"] == dict.fromkeys(State, 0) | {State.COVERED: 5, State.STALE: 1}
    assert coverage.values(coverage.states[coverage.datasets.index("sums")].tolist().index(State.STALE)) == {
        "p": 2,
        "q": "b",
    }


def test_indices_are_those_that_are_loaded() -> None:
    """Values, and files for each, are told by the footer as by the whole index."""
    store = stored()
    for one in load_picture("c", store).datasets:
        data = kb.open_dataset(one.uuid, store)
        for index in one.indices:
            table = data.load_index(index.column).table
            assert (index.values, index.entries) == (len(table), sum(map(len, table["partition"].to_pylist())))


def test_no_data_file_is_read() -> None:
    """What is asked of the store are headers, versions and indices."""
    store = Noting(built(*PLACES))
    kb.report_cube("c", store)
    assert len(store.keys) > 3
    assert not [key for key in store.keys if key.endswith(".parquet") and "/indices/" not in key]


def test_a_cube_of_other_software_is_drawn() -> None:
    """Rows that no header records are said to be unknown, and the commit to be of other software."""
    store = built(*PLACES)
    make_foreign(store, "c++seed")
    page = kb.report_cube("c", store)
    assert "not recorded" in page
    assert "by other software" in page


def test_what_a_store_says_stays_text() -> None:
    """Columns, partition values, values of metadata and authors that look like markup are shown as they are."""
    store, evil = new_store(), "<script>alert(1)</script><img src=x onerror=alert(2)>"
    store.world = replace(store.world, author=lambda: evil)
    data = pa.table({evil: [1], "p": [evil], f"v{evil}": [1], "i1": [evil]})
    cube = kb.Cube("c", [evil], ["p"], index_columns=["i1"])
    kb.build_cube(data, cube, store, metadata={"seed": {evil: evil}})
    page = kb.report_cube("c", store, where=kb.C("i1") == evil)
    assert (page.count("<script>"), page.count("<img")) == (1, 0)
    assert page.count("&lt;script&gt;") > 10


def test_an_empty_cube_is_drawn() -> None:
    """A cube whose partitions were all removed has nothing to show, and says so."""
    store = built(*PLACES)
    kb.remove_partitions(CUBE, store, "p >= 0")
    page = kb.report_cube("c", store)
    assert "empty, no problem found" in page
    assert "No dataset has a partition." in page


def test_problems_are_told() -> None:
    """A file that is gone is a problem of its dataset."""
    store = built(*PLACES)
    key = next(iter(kb.open_dataset("c++seed", store).partitions.values())).files["table"]
    store.delete([key])
    [problem] = load_picture("c", store).problems
    assert (problem.kind, problem.key) == ("missing_file", key)
    assert "missing file" in kb.report_cube("c", store)


def test_a_question_is_explained() -> None:
    """The funnel is the plan of the query with the condition; one that does not fit is an error."""
    store = built(*PLACES)
    asked = load_picture("c", store, where="p == 1").query
    assert asked == kb.query_cube("c", store, where="p == 1").explain()
    with pytest.raises(kb.errors.UnknownColumnError, match="nowhere"):
        kb.report_cube("c", store, where="nowhere == 1")
