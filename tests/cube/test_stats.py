"""How large the datasets of a cube are, and what it costs to say so."""

from __future__ import annotations

import pytest
from tests.cube.stored_cubes import CUBE, SEED, build, edit_header, make_foreign, new_store

import kubothek as kb
from kubothek import DatasetStats
from kubothek.errors import CorruptDatasetError, CubeNotFoundError, InvalidInputError
from kubothek.store.interface import Store
from kubothek.testing.stores import CountingStore


def stored_bytes(store: Store, uuid: str) -> int:
    """Add up the data files of a dataset."""
    return sum(info.size for info in store.list(f"{uuid}/table/") if info.key.endswith(".parquet"))


def expected(store: Store) -> dict[str, DatasetStats]:
    """Say what the cube that is built here holds."""
    shapes = {"e": (2, 2, 2), "free": (1, 1, 2), "seed": (2, 2, 3)}
    return {name: DatasetStats(*shape, stored_bytes(store, f"c++{name}")) for name, shape in shapes.items()}


@pytest.mark.parametrize("foreign", [(), ("c++e",), ("c++e", "c++free", "c++seed")], ids=["ours", "one", "all"])
def test_counts(foreign: tuple[str, ...]) -> None:
    """Partitions, files, rows and bytes are the same whether headers record them or not."""
    store = build(new_store())
    for uuid in foreign:
        make_foreign(store, uuid)
    assert kb.collect_stats(CUBE, store) == expected(store)


def test_requests() -> None:
    """What headers record costs nothing; of one dataset of others, a listing and its footers are read, no data."""
    store = CountingStore(build(new_store()))
    kb.collect_stats("c", store)
    assert dict(store.calls) == {"list_level": 1, "get_many": 1}
    make_foreign(store, "c++seed")
    store.reset()
    kb.collect_stats("c", store)
    # Two headers in one request, the schema beside the data in another; each footer is a range or two.
    assert store.calls["list"] == 1
    assert {call.key.split("/")[0] for call in store.log if call.verb == "get_range"} == {"c++seed"}


def test_only_missing_facts_are_read() -> None:
    """After an append to a cube of other software, only the files of others are opened."""
    store = build(new_store())
    make_foreign(store, "c++seed")
    old = {part.files["table"] for part in kb.open_dataset("c++seed", store).partitions.values()}
    kb.append_to_cube(SEED, CUBE, store)
    counting = CountingStore(store)
    stats = kb.collect_stats("c", counting, datasets="seed")
    assert stats["seed"] == DatasetStats(2, 4, 6, stored_bytes(store, "c++seed"))
    assert {call.key for call in counting.log if call.verb == "get_range"} == old


def test_files_of_other_kinds() -> None:
    """Rows of CSV files, of several files in one partition, and of a dataset that lists no files are counted."""
    store = build(new_store())
    store.put("c++free/table/more.csv", b"v3;x\nu;7\nw;8\nz;9\n")
    edit_header(store, "c++free", lambda header: (header.pop("kubothek"), header.pop("partitions")))
    stats = kb.collect_stats("c", store)["free"]
    size = stored_bytes(store, "c++free") + store.info("c++free/table/more.csv").size
    assert stats == DatasetStats(partitions=1, files=2, rows=5, bytes=size)


def test_emptied_datasets() -> None:
    """A dataset without files has no partitions, or one if it is not partitioned."""
    store = build(new_store())
    kb.remove_partitions(CUBE, store, "p >= 0")
    stats = kb.collect_stats(CUBE, store)
    assert stats == {"e": DatasetStats(0, 0, 0, 0), "free": DatasetStats(1, 0, 0, 0), "seed": DatasetStats(0, 0, 0, 0)}


def test_refused_questions() -> None:
    """Unknown cubes and datasets are errors, which name all of them."""
    store = build(new_store())
    with pytest.raises(InvalidInputError, match="no dataset 'b', 'd'; it has 'e', 'free', 'seed'"):
        kb.collect_stats(CUBE, store, datasets=["d", "seed", "b"])
    with pytest.raises(CubeNotFoundError, match="Did you mean 'c'"):
        kb.collect_stats("cc", store)


def test_missing_file() -> None:
    """A file that others' header names and the store lacks is named."""
    store = build(new_store())
    make_foreign(store, "c++seed")
    key = next(info.key for info in store.list("c++seed/table/p=0/"))
    store.delete([key])
    with pytest.raises(CorruptDatasetError, match="1 data file") as caught:
        kb.collect_stats(CUBE, store)
    assert caught.value.key == key
