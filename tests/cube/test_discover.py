"""A cube's specification is recovered from what its datasets say, whoever wrote them, or it is said why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cube.stored_cubes import CUBE, answer, build, edit_metadata, make_foreign, new_store
from tests.oracle.corpus_values import case_set, contents
from tests.oracle.queries import cube_of

import kubothek as kb
from kubothek.errors import CorruptDatasetError, CubeNotFoundError, KubothekError
from kubothek.plan.cube.members import Member, member_files_schema
from kubothek.plan.cube.metadata import cube_from_metadata, cube_metadata
from kubothek.store.interface import Store

CORPUS_CUBES = [name for name, content in contents().items() if content["kind"] == "cube"]


@pytest.mark.parametrize("name", CORPUS_CUBES)
def test_cubes_of_kartothek(corpus: Path, name: str) -> None:
    """What Kartothek built is discovered as it was specified, and has no problems."""
    found = case_set(corpus, name)
    cube = cube_of(found.cases["cube"])
    assert kb.discover_cube(cube.uuid_prefix, found.store)[0] == cube
    assert kb.check_cube(cube.uuid_prefix, found.store) == []


def test_how_many_cubes_of_kartothek() -> None:
    """All cubes of the corpus are looked at."""
    assert len(CORPUS_CUBES) == 18


NAMES = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), min_size=4, max_size=6, unique=True
).filter(lambda names: not any(name.startswith("__") for name in names))


@settings(max_examples=50)
@given(NAMES, st.booleans(), st.sampled_from(["seed", "s+", "s-1", "_"]))
def test_round_trip(names: list[str], suppressed: bool, seed: str) -> None:
    """Whatever the columns are called, a specification comes back from what is kept of it."""
    x, y, p, *indexed = names
    cube = kb.Cube("c", [x, y], [p], seed, indexed, [y] if suppressed else ())
    schema = pa.schema([(name, pa.int64()) for name in names])
    files = member_files_schema(pa.schema([])).empty_table()
    member = Member(seed, f"c++{seed}", schema, (p,), (x, *indexed), files, cube_metadata(cube, seed))
    found = cube_from_metadata("c", [member])
    assert found == cube.copy(index_columns=sorted(indexed))


ODD = kb.Cube("c-1_x+", ["Größe", "a/b = c"], ["日 付"], "s+", ["%41", "ktk_cube_is_seed"], ["Größe"])


def test_round_trip_through_a_store() -> None:
    """Odd names survive being written, also if another program has written the header since."""
    store = new_store()
    columns = (*ODD.dimension_columns, *ODD.partition_columns, *ODD.index_columns)
    kb.build_cube({"s+": pa.table({name: [1] for name in columns})}, ODD, store)
    first = kb.discover_cube("c-1_x+", store)[0]
    make_foreign(store, "c-1_x+++s+")
    assert first == kb.discover_cube("c-1_x+", store)[0] == ODD.copy(index_columns=sorted(ODD.index_columns))


def to_predecessor(store: Store, dataset_id: str) -> None:
    """Write a dataset anew as the format's predecessor did: other entries, a hidden partition column at the end."""
    dataset = kb.open_dataset(f"c++{dataset_id}", store)
    rows = dataset.scan().to_arrow()
    kb.write_dataset(
        rows.append_column("KLEE_TS", pa.array([7] * len(rows))),
        dataset.uuid,
        store,
        partition_on=[*dataset.partition_keys, "KLEE_TS"],
        secondary_indices=dataset.index_columns,
        overwrite=True,
        metadata={
            "klee_dimension_columns": ["x", "y"],
            "klee_is_seed": dataset_id == "seed",
            "klee_timestamp_column": "KLEE_TS",
        },
    )


def test_cubes_of_the_predecessor() -> None:
    """Entries of the predecessor's are understood, and its hidden partition column is not the cube's."""
    store = build(new_store())
    kb.delete_cube(CUBE, store, datasets="free")
    rows = answer(store)
    for dataset_id in ("e", "seed"):
        to_predecessor(store, dataset_id)
    assert kb.discover_cube("c", store)[0] == CUBE
    assert (answer(store), kb.check_cube("c", store)) == (rows, [])


BAD: dict[str, tuple[Callable[[Store], object], type[KubothekError], str]] = {
    "no dataset": (lambda s: kb.delete_cube("c", s), CubeNotFoundError, "There is no cube 'c'"),
    "no seed": (lambda s: kb.delete_dataset("c++seed", s), CubeNotFoundError, "has no seed: found e, free"),
    "two seeds": (
        lambda s: edit_metadata(s, "c++free", ktk_cube_is_seed=True),
        CorruptDatasetError,
        "several seeds: free, seed",
    ),
    "no dimensions": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_dimension_columns=None),
        CorruptDatasetError,
        "'c++seed' does not name the cube's dimension columns",
    ),
    "no partition columns": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_partition_columns=None),
        CorruptDatasetError,
        r"'c++seed' does not name the cube's partition columns, and they do not follow from its partition keys (p)",
    ),
    "columns that are none": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_dimension_columns=[1]),
        CorruptDatasetError,
        "'c++seed' describes no cube: dimension_columns must hold column names, but holds 1",
    ),
    "columns in two roles": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_partition_columns=["x"]),
        CorruptDatasetError,
        "'c++seed' describes no cube: partition_columns and dimension_columns both name x",
    ),
    "suppressed what is no dimension": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_suppress_index_on=["v1"]),
        CorruptDatasetError,
        "'c++seed' describes no cube: suppress_index_on",
    ),
    "a header that is none": (
        lambda s: s.put("c++free.by-dataset-metadata.json", b"[]"),
        CorruptDatasetError,
        "c++free.by-dataset-metadata.json",
    ),
}


@pytest.mark.parametrize(("damage", "kind", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_discovered(damage: Callable[[Store], object], kind: type[Exception], message: str) -> None:
    """The error says which dataset says what."""
    store = build(new_store())
    damage(store)
    with pytest.raises(kind) as caught:
        kb.discover_cube("c", store)
    assert message in str(caught.value)


def test_indices_that_were_added_by_hand() -> None:
    """Index columns follow from the indices that there are; hidden ones do not count."""
    store = build(new_store())
    kb.build_dataset_indices("c++e", store, "v2")
    assert kb.discover_cube("c", store)[0].index_columns == ("i1", "v2")


def test_files_that_are_no_headers() -> None:
    """What lies beside the datasets under a name that none can have is passed over."""
    store = build(new_store())
    store.put("c++ a.by-dataset-metadata.json", b"{}")
    store.put("c++notes.txt", b"")
    assert list(kb.discover_cube("c", store)[1]) == ["e", "free", "seed"]
