"""Whether datasets form a cube, before and after they are written, and how a cube's specification is kept."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kubothek.errors import (
    AlreadyExistsError,
    CorruptDatasetError,
    CubeNotFoundError,
    InvalidInputError,
    KubothekError,
    SchemaError,
)
from kubothek.model.cube import Cube
from kubothek.plan.cube.check import find_problems, problems_error
from kubothek.plan.cube.check_write import check_cube_write
from kubothek.plan.cube.members import Member, member_files_schema
from kubothek.plan.cube.metadata import cube_from_metadata, cube_metadata

CUBE = Cube("cube", ("x", "y"), ("p",), index_columns=("i1",))
INT, TEXT = pa.int64(), pa.string()
SEED = {"p": INT, "i1": INT, "v1": INT, "x": INT, "y": TEXT}
ENRICH = {"p": INT, "v2": INT, "x": INT}


def schema(types: dict[str, Any]) -> pa.Schema:
    """Build a schema from names and types."""
    return pa.schema(list(types.items()))


def member(dataset_id: str, types: dict[str, Any], **attributes: Any) -> Member:
    """Build a dataset partitioned by p, with the indices that the cube asks for, and without files."""
    keys = tuple(attributes.pop("partition_keys", ("p",)))
    indexed = ("i1", "x", "y") if dataset_id == "seed" else ("i1",)
    given = {"index_columns": tuple(c for c in indexed if c in types), "metadata": cube_metadata(CUBE, dataset_id)}
    files = member_files_schema(pa.schema([])).empty_table()
    return Member(dataset_id, f"cube++{dataset_id}", schema(types), keys, files=files, **{**given, **attributes})


SOUND = (member("seed", SEED), member("enrich", ENRICH))


def test_sound_cube() -> None:
    """A seed with all dimensions and an enrichment with one of them have no problems."""
    assert find_problems(CUBE, SOUND) == ()


BROKEN = {
    "no seed": ([SOUND[1]], "Seed dataset 'seed' is missing; found enrich"),
    "two tables": ([SOUND[0], member("enrich", ENRICH, tables=("core", "table"))], "must have one table"),
    "seed lacks a dimension": ([member("seed", {"p": INT, "x": INT})], "lacks dimension columns y"),
    "no dimension": ([SOUND[0], member("enrich", {"p": INT, "v2": INT})], "at least one of the dimension columns x, y"),
    "seed unpartitioned": ([member("seed", SEED, partition_keys=())], "'seed' has the cube's partition columns p as"),
    "partition column loose": ([SOUND[0], member("enrich", ENRICH, partition_keys=())], "p as ordinary columns"),
    "payload twice": ([SOUND[0], member("enrich", {**ENRICH, "v1": INT})], "Datasets enrich and seed share v1"),
    "types differ": ([SOUND[0], member("enrich", {**ENRICH, "x": TEXT})], "string in enrich, int64 in seed"),
    "no index on a dimension": ([member("seed", SEED, index_columns=("i1", "x"))], "no index on y"),
    "no index on an index column": ([member("seed", SEED, index_columns=("x", "y"))], "no index on i1"),
}


@pytest.mark.parametrize(("members", "message"), BROKEN.values(), ids=BROKEN)
def test_stored_problems(members: list[Member], message: str) -> None:
    """Each rule that a stored cube breaks is found once, and says what is wrong."""
    [problem] = find_problems(CUBE, members)
    assert message in str(problem)
    assert isinstance(problems_error(CUBE, [problem]), KubothekError)


HARMLESS = {
    "hidden columns are shared": [
        member("seed", {**SEED, "__a": INT, "KLEE_TS": INT}),
        member("e", {**ENRICH, "__a": TEXT}),
    ],
    "a dimension without values": [SOUND[0], member("enrich", {**ENRICH, "x": pa.null()})],
    "own partition columns": [SOUND[0], member("enrich", {"r": INT, "x": INT, "v2": INT}, partition_keys=("r",))],
    "partitioned by a dimension": [SOUND[0], member("enrich", {"x": INT, "i2": INT}, partition_keys=("x",))],
    "more indices than needed": [SOUND[0], member("enrich", ENRICH, index_columns=("v2", "x"))],
}


@pytest.mark.parametrize("members", HARMLESS.values(), ids=HARMLESS)
def test_harmless_oddities(members: list[Member]) -> None:
    """What other writers leave behind and the rules allow is no problem."""
    assert find_problems(CUBE, members) == ()


def test_suppressed_index() -> None:
    """A dimension of the seed whose index is suppressed needs none."""
    assert find_problems(CUBE.copy(suppress_index_on="y"), [member("seed", SEED, index_columns=("i1", "x"))]) == ()


NEW_SEED, NEW_ENRICH = schema(SEED), schema(ENRICH)
REFUSED = {
    "build without seed": ({"new": {"enrich": NEW_ENRICH}, "mode": "build"}, CubeNotFoundError, "'seed' is missing"),
    "build what exists": (
        {"new": {"seed": NEW_SEED}, "mode": "build", "existing": SOUND[:1]},
        AlreadyExistsError,
        "exists",
    ),
    "overwrite in part": (
        {"new": {"seed": NEW_SEED}, "mode": "build", "existing": SOUND, "overwrite": True},
        InvalidInputError,
        "no data for enrich",
    ),
    "extend the seed": (
        {"new": {"seed": NEW_SEED}, "mode": "extend", "existing": SOUND[:1], "overwrite": True},
        InvalidInputError,
        "cannot be written by an extension",
    ),
    "extend twice": (
        {"new": {"enrich": NEW_ENRICH}, "mode": "extend", "existing": SOUND},
        AlreadyExistsError,
        "'enrich'",
    ),
    "extend with known payload": (
        {"new": {"e2": NEW_ENRICH}, "mode": "extend", "existing": SOUND},
        InvalidInputError,
        "Datasets e2 and enrich share v2",
    ),
    "append to nothing": (
        {"new": {"e2": schema({"p": INT, "x": INT})}, "mode": "append", "existing": SOUND},
        InvalidInputError,
        "no such",
    ),
    "append other columns": (
        {"new": {"enrich": schema({**ENRICH, "v9": INT})}, "mode": "append", "existing": SOUND},
        SchemaError,
        "v9",
    ),
    "partition column missing": (
        {"new": {"seed": schema({"x": INT, "y": TEXT, "v1": INT})}, "mode": "build"},
        InvalidInputError,
        "lacks partition columns p",
    ),
    "partition column not used": (
        {"new": {"seed": NEW_SEED, "enrich": NEW_ENRICH}, "mode": "build", "partition_on": {"enrich": []}},
        InvalidInputError,
        "name them in partition_on['enrich']",
    ),
    "seed partitioned otherwise": (
        {"new": {"seed": NEW_SEED}, "mode": "build", "partition_on": {"seed": ["p", "x"]}},
        InvalidInputError,
        "must be partitioned on p, but partition_on says p, x",
    ),
    "layout of an unknown dataset": (
        {"new": {"seed": NEW_SEED}, "mode": "build", "partition_on": {"e9": ["p"]}},
        InvalidInputError,
        "for which there is no data",
    ),
    "append changes the layout": (
        {"new": {"enrich": NEW_ENRICH}, "mode": "append", "existing": SOUND, "partition_on": {"enrich": ["p", "x"]}},
        InvalidInputError,
        "is partitioned on p, but",
    ),
    "nothing beside partition columns": (
        {
            "new": {"seed": NEW_SEED, "e": schema({"p": INT, "x": INT})},
            "mode": "build",
            "partition_on": {"e": ["p", "x"]},
        },
        InvalidInputError,
        "no column beside",
    ),
}


@pytest.mark.parametrize(("write", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_writes(write: dict[str, Any], kind: type[KubothekError], message: str) -> None:
    """A write that would break the cube is refused for exactly that reason, with the error a caller expects."""
    [problem] = check_cube_write(CUBE, **{"existing": (), **write})
    assert message in str(problem)
    assert type(problems_error(CUBE, [problem])) is kind


def test_reserved_index_name() -> None:
    """A column named partition cannot be indexed, as index files have a column of that name."""
    cube = CUBE.copy(index_columns=("partition",))
    [problem] = check_cube_write(cube, (), {"seed": schema({**SEED, "partition": INT})}, mode="build")
    assert (problem.kind, problem.columns) == ("unwritable_dataset", ("partition",))


def test_all_problems_of_a_write() -> None:
    """Problems of several datasets come together, each named."""
    new = {"seed": schema({"p": INT, "x": INT}), "e": schema({"p": INT, "v2": INT})}
    problems = check_cube_write(CUBE, (), new, mode="build")
    error = problems_error(CUBE, problems)
    assert [(p.subject, p.kind) for p in problems] == [
        ("cube++seed", "missing_dimensions"),
        ("cube++e", "missing_dimensions"),
    ]
    assert all(problem.message in str(error) for problem in problems)
    assert error.columns == ("y", "x")


ALLOWED = {
    "build": {"new": {"seed": NEW_SEED, "enrich": NEW_ENRICH}, "mode": "build"},
    "build anew": {
        "new": {"seed": NEW_SEED, "enrich": NEW_ENRICH},
        "mode": "build",
        "existing": SOUND,
        "overwrite": True,
    },
    "extend": {"new": {"e2": schema({"p": INT, "x": INT, "v3": INT})}, "mode": "extend", "existing": SOUND},
    "extend anew": {"new": {"enrich": NEW_ENRICH}, "mode": "extend", "existing": SOUND, "overwrite": True},
    "append": {"new": {"seed": NEW_SEED, "enrich": NEW_ENRICH}, "mode": "append", "existing": SOUND},
    "append nulls": {"new": {"enrich": schema({**ENRICH, "v2": pa.null()})}, "mode": "append", "existing": SOUND},
    "other layout": {
        "new": {"seed": NEW_SEED, "e": schema({"r": INT, "x": INT, "v2": INT})},
        "mode": "build",
        "partition_on": {"e": ["r"], "seed": ["p"]},
    },
}


@pytest.mark.parametrize("write", ALLOWED.values(), ids=ALLOWED)
def test_allowed_writes(write: dict[str, Any]) -> None:
    """What leaves a sound cube may be written."""
    assert check_cube_write(CUBE, **{"existing": (), **write}) == ()


def test_metadata_round_trip() -> None:
    """A cube is recovered from what its datasets carry; its index columns are those that have an index."""
    cube = CUBE.copy(suppress_index_on="y")
    members = [
        member(d, types, metadata={"mine": 1, **cube_metadata(cube, d)}) for d, types in [("seed", SEED), ("e", ENRICH)]
    ]
    assert cube_from_metadata("cube", members) == cube


KLEE = {"klee_is_seed": True, "klee_dimension_columns": ["x", "y"], "klee_timestamp_column": "KLEE_TS"}


@pytest.mark.parametrize("metadata", [KLEE, {**KLEE, "klee_partition_columns": ["p"]}], ids=["inferred", "recorded"])
def test_predecessor(metadata: dict[str, Any]) -> None:
    """A cube of the format's predecessor opens, and its timestamp stays hidden."""
    seed = member("seed", {**SEED, "KLEE_TS": TEXT}, partition_keys=("p", "KLEE_TS"), metadata=metadata)
    assert cube_from_metadata("cube", [seed]) == CUBE
    assert "KLEE_TS" not in seed.columns
    assert find_problems(CUBE, [seed]) == ()


UNDISCOVERABLE = {
    "no seed": ([member("enrich", ENRICH)], CubeNotFoundError),
    "nothing": ([], CubeNotFoundError),
    "two seeds": ([SOUND[0], member("e", SEED, metadata=cube_metadata(CUBE, "seed"))], CorruptDatasetError),
    "no dimensions": ([member("seed", SEED, metadata={"ktk_cube_is_seed": True})], CorruptDatasetError),
    "no partitions": ([member("seed", SEED, metadata=KLEE)], CorruptDatasetError),
}


@pytest.mark.parametrize(("members", "kind"), UNDISCOVERABLE.values(), ids=UNDISCOVERABLE)
def test_undiscoverable(members: list[Member], kind: type[KubothekError]) -> None:
    """Datasets that do not say which cube they are raise an error rather than a guess."""
    with pytest.raises(kind):
        cube_from_metadata("cube", members)
