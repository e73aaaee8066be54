"""Arguments that cannot be honoured are refused with what to do instead, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import kubothek as kb
from kubothek.compat.api import cube, dataset, serialization
from kubothek.compat.arguments import REFUSED
from kubothek.errors import InvalidInputError

URL = "memory://compat_arguments"
ROWS = pd.DataFrame({"p": [1, 2], "x": [1, 2], "v1": [0.5, 1.5]})
CUBE = cube.Cube(["x"], ["p"], "c")
WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "metadata_version": (dataset.store_dataframes_as_dataset, (URL, "no", [ROWS]), {"metadata_version": 3}),
    "default_metadata_version": (
        dataset.update_dataset_from_dataframes,
        ([ROWS], URL, "no"),
        {"default_metadata_version": 3},
    ),
    "metadata_merger": (dataset.update_dataset_from_dataframes, ([ROWS], URL, "no"), {"metadata_merger": max}),
    "central_partition_metadata": (
        dataset.update_dataset_from_dataframes,
        ([ROWS], URL, "no"),
        {"central_partition_metadata": False},
    ),
    "load_dynamic_metadata": (
        dataset.update_dataset_from_dataframes,
        ([ROWS], URL, "no"),
        {"load_dynamic_metadata": False},
    ),
    "output_dataset_uuid": (dataset.commit_dataset, (URL, "no"), {"output_dataset_uuid": "other"}),
    "repartition_ratio": (dataset.update_dataset_from_ddf, (ROWS, URL, "no"), {"repartition_ratio": 2}),
    "delete_scope": (dataset.store_dataset_from_ddf, (ROWS, URL, "no"), {"delete_scope": [{"p": 1}]}),
    "dask_index_on": (dataset.read_dataset_as_ddf, ("no", URL), {"dask_index_on": "p"}),
    "dispatch_by": (dataset.read_dataset_as_ddf, ("no", URL), {"dispatch_by": ["p"]}),
    "concat_partitions_on_primary_index": (
        dataset.read_dataset_as_ddf,
        ("no", URL),
        {"concat_partitions_on_primary_index": True},
    ),
    "categoricals": (dataset.read_dataset_as_ddf, ("no", URL), {"categoricals": ["v1"]}),
    "label_filter": (dataset.read_dataset_as_ddf, ("no", URL), {"label_filter": bool}),
    "frac": (dataset.collect_dataset_metadata, (URL, "no"), {"frac": 0.5}),
    "predicates": (dataset.hash_dataset, (URL, "no"), {"predicates": [[("p", "==", 1)]]}),
}
OTHERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = {
    "csv": (
        dataset.store_dataframes_as_dataset,
        (URL, "no", [ROWS]),
        {"df_serializer": serialization.CsvSerializer()},
        "ParquetSerializer",
    ),
    "chunks of a cube": (
        cube.build_cube,
        (ROWS, CUBE, URL),
        {"df_serializer": serialization.ParquetSerializer(chunk_size=5)},
        "chunk_size",
    ),
    "buckets without shuffle": (dataset.update_dataset_from_ddf, (ROWS, URL, "no"), {"num_buckets": 2}, "shuffle"),
    "no number of buckets": (
        dataset.update_dataset_from_ddf,
        (ROWS, URL, "no"),
        {"shuffle": True, "num_buckets": None},
        "num_buckets",
    ),
    "indices of partitions": (
        dataset.store_dataframes_as_dataset,
        (URL, "no", [{"data": [("table", ROWS)], "indices": {"v1": {0.5: ["a"]}}}]),
        {},
        "secondary_indices",
    ),
    "nothing to store": (dataset.store_dataframes_as_dataset, (URL, "no", []), {}, "one frame"),
    "no partition": (dataset.store_dataframes_as_dataset, (URL, "no", 7), {}, "frame"),
    "metadata of a file": (dataset.write_single_partition, (URL, "no", ROWS), {"metadata": {"a": 1}}, "commit"),
    "no dataset": (dataset.read_table, (), {}, "factory"),
    "no conditions": (cube.remove_partitions, (CUBE, URL), {}, "delete_cube"),
    "filter of groups": (
        dataset.read_table,
        ("there", URL),
        {"predicates": [[("nowhere", "==", 1)]]},
        "nowhere",
    ),
    "rows of others": (cube.build_cube_from_bag, ([{"other": ROWS}], CUBE, URL), {}, "ktk_cube_dataset_ids"),
}


@pytest.fixture(autouse=True, scope="module")
def _stored() -> None:
    """Put a dataset to read from."""
    dataset.store_dataframes_as_dataset(URL, "there", [ROWS])


@pytest.mark.parametrize("name", WRONG)
def test_refused_arguments(name: str) -> None:
    """Any other value than Kartothek's default is an error that says what to do instead."""
    call, arguments, more = WRONG[name]
    with pytest.raises(InvalidInputError) as caught:
        call(*arguments, **more)
    assert (caught.value.parameters, REFUSED[name][1] in str(caught.value)) == ((name,), True)


def test_all_refused_arguments_are_tried() -> None:
    """The table of refused arguments is that of the test above."""
    assert WRONG.keys() == REFUSED.keys()


def computed(made: Any) -> Any:
    """Compute what is made lazily."""
    return made.compute()


@pytest.mark.parametrize("name", OTHERS)
def test_other_refusals(name: str) -> None:
    """What would be ignored or go wrong is an error that says what to do, and nothing is left."""
    call, arguments, more, expected = OTHERS[name]
    with pytest.raises(InvalidInputError, match=expected):
        computed(call(*arguments, **more))
    assert [info.key for info in kb.Store(URL).list() if info.key.startswith(("no", "c++"))] == []


def test_labels_are_warned_of() -> None:
    """A label of one's own is not used, which is said."""
    with pytest.warns(UserWarning, match="'mine' is not used"):
        dataset.store_dataframes_as_dataset(URL, "labelled", [{"label": "mine", "data": [("table", ROWS)]}])
    assert len(dataset.read_table("labelled", URL)) == 2


def test_serializers_are_honoured() -> None:
    """Compression and rows per row group are those of the serializer."""
    serializer = serialization.ParquetSerializer("SNAPPY", chunk_size=1)
    dataset.store_dataframes_as_dataset(URL, "compressed", [ROWS], df_serializer=serializer)
    assert list(dataset.collect_dataset_metadata(URL, "compressed").compute()["number_rows_per_row_group"]) == [1, 1]


def test_label_filter() -> None:
    """Only the files count whose label is accepted."""
    dataset.store_dataframes_as_dataset(URL, "filtered", [ROWS], partition_on="p")
    kept = dataset.read_table("filtered", URL, label_filter=lambda label: label.startswith("p=2/"))
    assert kept["x"].tolist() == [2]
