"""Delayed results and bags do nothing before they are computed, and then what their eager twins do."""

from __future__ import annotations

import pickle
from pathlib import Path

import pandas as pd
import pytest

import kubothek as kb
from kubothek.compat.api import cube as cubes
from kubothek.compat.api import dataset as datasets
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.core.index import ExplicitSecondaryIndex, IndexBase
from kubothek.compat.lazily import Bag, Delayed, elements

ROWS = pd.DataFrame({"p": [1, 2], "x": [1, 2], "v1": [0.5, 1.5]})
CUBE = cubes.Cube(["x"], ["p"], "c")


class OtherLibrary:
    """A lazy object of another library, as Dask has them."""

    def __init__(self, result: object) -> None:
        self._result = result

    def compute(self) -> object:
        """Return the result."""
        return self._result


@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        Bag(lambda: [1, 2]),
        OtherLibrary([1, 2]),
        [Delayed(lambda: 1), OtherLibrary(2)],
        (n for n in (1, 2)),
        Bag(lambda: range(4)).filter(lambda n: 0 < n < 3),
    ],
    ids=["list", "bag", "other bag", "delayed", "generator", "filtered"],
)
def test_elements(given: object) -> None:
    """Elements come out of all that holds them."""
    assert list(elements(given)) == [1, 2]


def test_one_delayed_result_is_one_element() -> None:
    """A delayed frame is one frame."""
    assert list(elements(OtherLibrary("frame"))) == ["frame"]
    assert Bag(lambda: [1, 2]).to_delayed()[0].compute() == [1, 2]


def test_nothing_happens_before_compute() -> None:
    """A store is empty until the result is computed."""
    url = "memory://compat_lazily"
    task = datasets.store_bag_as_dataset(Bag(lambda: [ROWS, ROWS]), url, "d", partition_on="p")
    assert list(kb.Store(url).list()) == []
    assert len(task.compute().partitions) == 4
    datasets.update_dataset_from_delayed([Delayed(lambda: ROWS)], url, "d", delete_scope=[{"p": 1}]).compute()
    assert len(datasets.read_table("d", url)) == 4
    assert sorted(datasets.build_dataset_indices__bag(url, "d", ["x"]).compute().indices) == ["x"]
    assert datasets.garbage_collect_dataset__delayed("d", url)[0].compute() == []
    datasets.delete_dataset__delayed("d", url).compute()
    assert not DatasetMetadata.exists("d", url)


def test_names_are_made_where_none_is_given() -> None:
    """A dataset that is stored without a name gets one."""
    one, two = (datasets.store_dataframes_as_dataset__iter([ROWS], "memory://compat_named").uuid for _ in range(2))
    assert one != two


def test_cubes_by_bags() -> None:
    """A cube is built, appended to, updated, counted, copied, cleaned up and deleted by bags."""
    url, other = "memory://compat_bags", "memory://compat_bags_2"
    assert list(cubes.build_cube_from_bag([ROWS], CUBE, url).compute()[0]) == ["seed"]
    late = pd.DataFrame({"p": [3], "x": [3], "v1": [2.5]})
    cubes.append_to_cube_from_bag(Bag(lambda: [{"seed": late}]), CUBE, url, ["seed"]).compute()
    cubes.update_cube_from_bag([{"seed": late.assign(v1=9.5)}], CUBE, url, cubes.C("p") == 3, ["seed"]).compute()
    cubes.copy_cube_bag(CUBE, url, other).compute()
    (stats,) = cubes.collect_stats_bag(CUBE, other).compute()
    assert {name: stats["seed"][name] for name in ("files", "partitions", "rows")} == {
        "files": 3,
        "partitions": 3,
        "rows": 3,
    }
    cubes.cleanup_cube_bag(CUBE, other).compute()
    assert [frame["v1"].tolist() for frame in cubes.query_cube_bag(CUBE, other, partition_by="p")] == [
        [0.5],
        [1.5],
        [9.5],
    ]
    cubes.delete_cube_bag(CUBE, other).compute()
    assert list(kb.Store(other).list()) == []


def test_metadata_travels(tmp_path: Path) -> None:
    """Datasets, factories and indices pickle, loaded or not."""
    url = f"hfs://{tmp_path}"
    dm = datasets.store_dataframes_as_dataset(url, "d", [ROWS], partition_on="p", secondary_indices="x")
    factory = datasets.DatasetFactory("d", url).load_all_indices()
    for one in (dm, dm.load_all_indices(), factory):
        again = pickle.loads(pickle.dumps(one))
        assert (again.uuid, again.query(x=1)) == ("d", dm.query(x=1))
    factory.invalidate()
    assert (factory.is_loaded, factory.load_index("x").is_loaded, sorted(factory.index_columns)) == (
        False,
        True,
        ["p", "x"],
    )


def test_indices_by_hand() -> None:
    """An index made of values answers; one without any says so; equal content is equal."""
    index = ExplicitSecondaryIndex("x", {1: ["a"], 2: ["a", "b"]}, index_storage_key="k")
    assert (index.query(2), index.loaded, index.observed_values().tolist()) == (["a", "b"], True, [1, 2])
    assert index == IndexBase("x", {2: ["b", "a"], 1: ["a"]})
    with pytest.raises(RuntimeError, match="index_dct"):
        IndexBase("x").query(1)


def test_queries_of_unknown_columns() -> None:
    """A column without index is an error, so that nothing is found that was not asked for."""
    dm = datasets.store_dataframes_as_dataset("memory://compat_query", "d", [ROWS], partition_on="p")
    with pytest.raises(KeyError, match="v1"):
        dm.query(p=1, v1=0.5)
    with pytest.raises(KeyError, match="v1"):
        dm.load_index("v1")
    assert DatasetMetadata.storage_keys("d", "memory://compat_query")[0] == "d.by-dataset-metadata.json"


def test_headers_as_dictionaries() -> None:
    """What a header says comes as Kartothek writes it."""
    dm = datasets.store_dataframes_as_dataset("memory://compat_dict", "d", [ROWS], metadata={"a": 1})
    told = dm.to_dict()
    assert list(told) == ["dataset_metadata_version", "dataset_uuid", "metadata", "partitions", "partition_keys"]
    assert (told["metadata"]["a"], dm.to_json()[:32]) == (1, b'{"dataset_metadata_version": 4, ')
