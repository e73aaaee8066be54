"""Which files a cube query reads together: the tables of the planning steps, one after the other.

Plans are written one unit per line: the values of the unit's columns, then the files of each dataset by their labels,
``dataset*`` where versions of cells have to be resolved.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from kubothek.model.condition import EVERYTHING, C, Condition
from kubothek.model.cube import Cube
from kubothek.model.read_plan import JoinStep, files_schema
from kubothek.plan.cube.members import Member, member_files_schema
from kubothek.plan.cube.query import CubePlan, plan_cube
from kubothek.plan.cube.resolve import resolve
from kubothek.plan.keys import first_rows, row_ids
from kubothek.plan.match import match_rows

Index = Mapping[Any, Sequence[str]]


def member(
    dataset_id: str,
    columns: str,
    files: Mapping[str, Sequence[Any]],
    partition_keys: str = "",
    indices: Mapping[str, Index] | None = None,
    unique: str = "",
) -> tuple[Member, Mapping[str, Index]]:
    """Build a dataset of integer columns.

    ``files`` maps label to partition values, ``indices`` column to value to labels. Files whose labels are in
    ``unique`` come from one write that was checked for unique cells.
    """
    keys = tuple(partition_keys.split())
    schema = pa.schema([(name, pa.int64()) for name in [*keys, *columns.split()]])
    labels = list(files)
    table = pa.table(
        [labels, [f"{dataset_id}/{n}" for n in labels], [1] * len(labels), [100] * len(labels)]
        + [["once" if n in unique else n for n in labels]]
        + [pa.array([files[n][i] for n in labels], pa.int64()) for i in range(len(keys))],
        schema=member_files_schema(pa.schema([schema.field(key) for key in keys])),
    )
    found = indices or {}
    one = Member(dataset_id, f"cube++{dataset_id}", schema, keys, tuple(found), table, unique_writes=("once",))
    return one, found


def index_table(column: str, index: Index) -> pa.Table:
    """Build an index as the store keeps it."""
    lists = pa.array(list(index.values()), pa.list_(pa.string()))
    return pa.table({column: pa.array(list(index), pa.int64()), "partition": lists})


def make_plan(cube: Cube, built: Sequence[tuple[Member, Mapping[str, Index]]], **query: Any) -> CubePlan:
    """Plan a query, with the indices answering as the store would."""
    resolved = resolve(cube, [one for one, _ in built], **query)
    indices = {(one.dataset_id, c): index_table(c, index) for one, found in built for c, index in found.items()}
    hits: dict[str, dict[Any, pa.Array]] = {}
    for dataset_id, leaves in resolved.needed_indices.items():
        for leaf in leaves:
            table = indices[dataset_id, leaf.column]
            matching = table.filter(match_rows(leaf, table)).column("partition").combine_chunks()
            hits.setdefault(dataset_id, {})[leaf] = matching.flatten()
    return plan_cube(resolved, hits, {pair: indices[pair] for pair in resolved.needed_postings})


def layout(plan: CubePlan) -> list[str]:
    """Write a plan one unit per line."""
    lines = []
    for unit in plan.read.units.to_pylist():
        number = unit.pop("unit")
        parts = ["/".join(map(str, unit.values())) + ":"]
        for source, table in zip(plan.read.inputs, plan.read.files, strict=True):
            files = [row for row in table.to_pylist() if row["unit"] == number]
            star = "*" if any(row["overlay"] for row in files) else ""
            parts += [source.name + star, *(row["label"] for row in files)] if files else []
        lines.append(" ".join(parts))
    return lines


def dropped(plan: CubePlan, dataset_id: str) -> dict[str, list[str]]:
    """Give the labels that each rule drops."""
    [facts] = [facts for facts in plan.facts if facts.dataset_id == dataset_id]
    return {rule: labels.to_pylist() for rule, labels in facts.dropped.items()}


# The worked case of regrouping. Two partition columns, two index columns, several files per partition:
#
#     seed    label  P Q  I1 I2  x             enrich  label  P Q
#             a      0 0  1  1   0                     e      0 0
#             b      0 1  2  1   1                     f      0 1
#             c      0 1  3  1   2                     g      1 0
#             d      1 0  4  1   3, 30                 h      9 0
#             e      1 0  5  2   4

REGROUP = Cube("cube", ("x",), ("P", "Q"), index_columns=("I1", "I2"))
SEED_FILES = {"a": (0, 0), "b": (0, 1), "c": (0, 1), "d": (1, 0), "e": (1, 0)}
SEED_INDICES = {
    "I1": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"},
    "I2": {1: "abcd", 2: "e"},
    "x": {0: "a", 1: "b", 2: "c", 3: "d", 30: "d", 4: "e"},
}
ENRICH = member("enrich", "x v", {"e": (0, 0), "f": (0, 1), "g": (1, 0), "h": (9, 0)}, "P Q")
DISJOINT = [member("seed", "x I1 I2", SEED_FILES, "P Q", SEED_INDICES, unique="abcde"), ENRICH]
APPENDED = [member("seed", "x I1 I2", SEED_FILES, "P Q", SEED_INDICES), ENRICH]


def test_physical_partitions() -> None:
    """Step 1: files of one physical partition form a unit, and each dataset's are put beside the seed's."""
    plan = make_plan(REGROUP, DISJOINT)
    assert layout(plan) == ["0/0: seed a enrich e", "0/1: seed b c enrich f", "1/0: seed d e enrich g"]
    assert dropped(plan, "enrich") == {"no seed": ["h"]}


def test_pre_condition() -> None:
    """Step 2: files that an index rules out are left out, and a partition without files of the seed vanishes."""
    plan = make_plan(REGROUP, DISJOINT, where=C("I1") > 1)
    assert layout(plan) == ["0/1: seed b c enrich f", "1/0: seed d e enrich g"]
    assert dropped(plan, "seed") == {"index": ["a"]}
    assert dropped(plan, "enrich") == {"no seed": ["e", "h"]}


def test_partition_by() -> None:
    """Step 3: grouped by I2, a unit has one value of it; groups come in order, then partitions."""
    plan = make_plan(REGROUP, DISJOINT, where=C("I1") > 1, partition_by="I2")
    assert layout(plan) == ["1/0/1: seed b c enrich f", "1/1/0: seed d enrich g", "2/1/0: seed e enrich g"]
    assert plan.read.units.column_names == ["unit", "partition/I2", "partition/P", "partition/Q"]
    assert plan.read.group_by == ("I2",)
    assert plan.read.pinned == ((0, "I2"),)


def test_partition_by_partition_column() -> None:
    """Grouping by a partition column needs no index and splits nothing."""
    plan = make_plan(REGROUP, DISJOINT, partition_by="Q")
    assert layout(plan) == ["0/0: seed a enrich e", "0/1: seed d e enrich g", "1/0: seed b c enrich f"]
    assert plan.read.pinned == ()


def test_partition_by_dimension() -> None:
    """Grouping by a dimension takes the seed's values, file by file, and restricts every dataset that has it."""
    plan = make_plan(REGROUP, APPENDED, partition_by="x", where=C("P") == 1, columns=["v"])
    assert layout(plan) == ["3/1/0: seed d enrich g", "4/1/0: seed e enrich g", "30/1/0: seed d enrich g"]
    assert plan.read.pinned == ((0, "x"), (1, "x"))


def test_group_values_that_the_condition_excludes() -> None:
    """A file with several values makes units only for those that can match."""
    plan = make_plan(REGROUP, DISJOINT, partition_by="x", where=C("x") > 3)
    assert layout(plan) == ["4/1/0: seed e enrich g", "30/1/0: seed d enrich g"]


def test_files_without_group_value() -> None:
    """A file whose index column holds only nulls is in no group."""
    indices = {"I2": {1: "ab"}}
    built = [member("seed", "x I2", {"a": (0, 0), "b": (0, 1), "c": (1, 1)}, "P Q", indices)]
    plan = make_plan(REGROUP, built, partition_by="I2")
    assert layout(plan) == ["1/0/0: seed a", "1/0/1: seed b"]
    assert dropped(plan, "seed") == {"partition_by": ["c"]}


def test_overlaid_files_stay_together() -> None:
    """Appended files may hold newer versions of a cell, so neither an index nor a group separates them."""
    plan = make_plan(REGROUP, APPENDED, where=C("I1") > 2, partition_by="I2")
    assert layout(plan) == ["1/0/1: seed* b c enrich f", "1/1/0: seed* d e enrich g", "2/1/0: seed* d e enrich g"]
    assert [facts.overlaid for facts in plan.facts] == [3, 0]


def test_overlaid_files_drop_together() -> None:
    """If no version of any of its cells can match, a partition is dropped whole."""
    plan = make_plan(REGROUP, APPENDED, where=C("I1") > 3)
    assert layout(plan) == ["1/0: seed* d e enrich g"]
    assert dropped(plan, "seed") == {"index": ["a", "b", "c"]}


def test_dimension_index_separates_overlaid_files() -> None:
    """All versions of a cell agree in its dimensions, so an index on them drops file by file."""
    assert layout(make_plan(REGROUP, APPENDED, where=C("x") == 2)) == ["0/1: seed c enrich f"]


# Alignment: datasets that are partitioned otherwise than the seed, which has partitions (p, q).

ALIGN = Cube("cube", ("x", "y"), ("p", "q"))
SEED = member("seed", "x y v1", {"a": (0, 0), "b": (0, 1), "c": (1, 0)}, "p q")
LAYOUTS = {
    "as the seed": ("p q", {"r": (0, 0), "s": (1, 0), "t": (1, 1)}, ["r", "-", "s"], {"no seed": ["t"]}),
    "other order": ("q p", {"r": (0, 0), "s": (1, 0), "t": (0, 1)}, ["r", "s", "t"], {}),
    "by one of them": ("q", {"r": (0,), "s": (1,), "t": (2,)}, ["r", "s", "r"], {"no seed": ["t"]}),
    "not at all": ("", {"r": ()}, ["r", "r", "r"], {}),
    "appended": ("q", {"r": (0,), "s": (1,), "t": (0,)}, ["* r t", "s", "* r t"], {}),
    "by an own column": ("o", {"r": (0,), "s": (1,)}, ["* r s", "* r s", "* r s"], {}),
    "by one more column": ("p q o", {"r": (0, 0, 1), "s": (0, 0, 2), "t": (0, 1, 2)}, ["* r s", "t", "-"], {}),
    "by a dimension": ("x", {"r": (0,), "s": (1,)}, ["r s", "r s", "r s"], {}),
}


@pytest.mark.parametrize(("keys", "files", "expected", "gone"), LAYOUTS.values(), ids=LAYOUTS)
def test_alignment(keys: str, files: dict[str, Any], expected: list[str], gone: dict[str, list[str]]) -> None:
    """A dataset's files go to all units that agree in the partition columns both have; none are left out otherwise."""
    columns = "y v2" if keys == "x" else "x y v2"
    plan = make_plan(ALIGN, [SEED, member("e", columns, files, keys)])
    seeds = ["0/0: seed a", "0/1: seed b", "1/0: seed c"]
    files_of = ["" if e == "-" else f" e{e}" if e.startswith("*") else f" e {e}" for e in expected]
    assert layout(plan) == [seed + more for seed, more in zip(seeds, files_of, strict=True)]
    assert dropped(plan, "e") == gone


def test_unique_write_across_own_partitions() -> None:
    """A write proves cells unique across the partitions of a column that only this dataset has."""
    files = {"r": (0, 1), "s": (0, 2), "t": (1, 1), "u": (1, 1)}
    plan = make_plan(ALIGN, [SEED, member("e", "x y v2", files, "p o", unique="rstu")])
    assert layout(plan) == ["0/0: seed a e r s", "0/1: seed b e r s", "1/0: seed c e t u"]


def test_restrictive_alignment() -> None:
    """A unit for which a restrictive dataset has no file is dropped, for all datasets; others join what there is."""
    inner = member("inner", "x y v2", {"r": (0, 0), "s": (1, 1)}, "p q")
    left = member("left", "x v3", {"t": (0,), "u": (1,)}, "p")
    plan = make_plan(ALIGN, [SEED, inner, left], where=C("v2") > 0)
    assert layout(plan) == ["0/0: seed a inner r left t"]
    assert dropped(plan, "seed") == {"alignment": ["b", "c"]}
    assert dropped(plan, "inner") == {"no seed": ["s"]}
    assert dropped(plan, "left") == {"alignment": ["u"]}
    assert plan.read.joins == (JoinStep(1, ("x", "y"), "inner"), JoinStep(2, ("x",), "left"))


def test_own_partition_column_prunes() -> None:
    """A condition on a column that only this dataset is partitioned by drops its files, though it is payload."""
    one_write = member("e", "x y v2", {"r": (0,), "s": (1,)}, "o", unique="rs")
    plan = make_plan(ALIGN, [SEED, one_write], where=C("o") == 1)
    assert layout(plan) == ["0/0: seed a e s", "0/1: seed b e s", "1/0: seed c e s"]
    assert dropped(plan, "e") == {"partition": ["r"]}
    assert plan.read.inputs[1].early == EVERYTHING


@pytest.mark.parametrize("asked", [{"where": C("o") == 1}, {"partition_by": "o"}], ids=str)
def test_cells_may_move_between_own_partitions(asked: dict[str, Any]) -> None:
    """Files of several writes are read together: the last version of a cell may lie in another partition than asked."""
    plan = make_plan(ALIGN, [SEED, member("e", "x y v2", {"r": (0,), "s": (1,)}, "o")], **asked)
    assert all(unit.endswith(" e* r s") for unit in layout(plan))


def test_partition_by_of_an_enrichment() -> None:
    """Grouped by an enrichment's column, units exist only where it has files, and only it is held to the value."""
    indices = {"i2": {7: "rs", 8: "s"}}
    built = [SEED, member("e", "x i2", {"r": (0,), "s": (1,)}, "p", indices)]
    plan = make_plan(ALIGN, built, partition_by="i2")
    assert layout(plan) == ["7/0/0: seed a e r", "7/0/1: seed b e r", "7/1/0: seed c e s", "8/1/0: seed c e s"]
    assert plan.read.pinned == ((1, "i2"),)


def test_partition_by_own_partition_column() -> None:
    """A group by the column that an enrichment is partitioned by reads only the files of its value."""
    one_write = member("e", "x v2", {"r": (5,), "s": (4,)}, "o", unique="rs")
    plan = make_plan(ALIGN, [SEED, one_write], partition_by="o", columns=[])
    assert layout(plan)[:2] == ["4/0/0: seed a e s", "4/0/1: seed b e s"]
    assert layout(plan)[3] == "5/0/0: seed a e r"


def test_nothing_left() -> None:
    """A query that nothing can match has no units, and its schema all the same."""
    plan = make_plan(ALIGN, [SEED, member("e", "x v2", {"r": (0,)}, "p")], where=C("p") == 9)
    assert layout(plan) == []
    assert plan.read.schema.names == ["p", "q", "v1", "v2", "x", "y"]
    values = [("partition/p", pa.int64()), ("partition/q", pa.int64())]
    assert plan.read.units.schema == pa.schema([("unit", pa.int32()), *values])
    assert [table.num_rows for table in plan.read.files] == [0, 0]


def test_empty_datasets() -> None:
    """A cube without any file plans like any other."""
    built = [member("seed", "x y i1", {}, "p q", {"i1": {}}), member("e", "x v2", {}, "p")]
    assert layout(make_plan(ALIGN, built, where=C("v2") > 0, partition_by="i1")) == []


def test_facts_account_for_every_file() -> None:
    """Each file is read or dropped by one rule; a coarse file is counted once, however many units read it."""
    coarse = member("coarse", "x v3", {"r": (0,), "s": (9,)}, "q")
    plan = make_plan(ALIGN, [SEED, coarse, member("other", "x v4", {"t": ()})], columns=["v3"])
    seed, left, unread = plan.facts
    assert (seed.role, seed.total, seed.files, seed.bytes) == ("seed", 3, 3, 300)
    assert (left.role, left.files, left.reads, left.bytes, list(left.dropped)) == ("left", 1, 2, 100, ["no seed"])
    assert (unread.dataset_id, unread.role, unread.total, unread.files) == ("other", "unread", 1, 0)


def test_file_tables() -> None:
    """File tables have the promised columns, keep the header's order within a unit, and the plan pickles."""
    plan = make_plan(ALIGN, [SEED, member("e", "x v2", {"s": (0,), "r": (0,)}, "p")]).read
    assert plan.files[1].schema == files_schema(pa.schema([("p", pa.int64())]))
    assert plan.files[1].column("label").to_pylist() == ["s", "r", "s", "r"]
    assert plan.files[1].column("key")[0].as_py() == "e/s"
    assert pickle.loads(pickle.dumps(plan)) == plan


# The three worked examples of the query system: what is joined with what, and how.

PART = {"f": (0,)}
DB = member("db_data", "P", PART, "part")
DB2 = member("db_data", "P L", PART, "part")
SCHEDULE = member("schedule", "P SCHED", PART, "part")
CHECKS, CHECKS2 = member("data_checks", "P OK", PART, "part"), member("data_checks", "P L OK", PART, "part")
PRED, PRED2 = member("predictions", "P PRED", PART, "part"), member("predictions", "P L PRED", PART, "part")
AGG = member("agg", "P AVG", PART, "part")
GOOD = (C("OK") == 1) & (C("SCHED") == 1)
EXAMPLES: dict[str, tuple[str, list[Any], dict[str, Any], list[tuple[str, tuple[str, ...], str]]]] = {
    "join semantics": (
        "P",
        [DB, CHECKS, SCHEDULE, PRED],
        {"where": GOOD, "columns": "PRED"},
        [("data_checks", ("P",), "inner"), ("schedule", ("P",), "inner"), ("predictions", ("P",), "left")],
    ),
    "outer join": (
        "P L",
        [DB2, CHECKS2, SCHEDULE, PRED2],
        {"where": GOOD, "columns": "PRED"},
        [("data_checks", ("P", "L"), "inner"), ("schedule", ("P",), "inner"), ("predictions", ("P", "L"), "left")],
    ),
    "projection": (
        "P L",
        [DB2, SCHEDULE, AGG],
        {"where": C("SCHED") == 1, "columns": "AVG", "dimension_columns": "P"},
        [("schedule", ("P",), "inner"), ("agg", ("P",), "left")],
    ),
}


@pytest.mark.parametrize(("dims", "built", "query", "joins"), EXAMPLES.values(), ids=EXAMPLES)
def test_worked_examples(dims: str, built: list[Any], query: dict[str, Any], joins: list[Any]) -> None:
    """Datasets with conditions are joined inner, the others left, each on the dimensions that it has."""
    plan = make_plan(Cube("cube", tuple(dims.split()), ("part",), "db_data"), built, **query).read
    assert [(plan.inputs[step.input].name, step.on, step.how) for step in plan.joins] == joins
    assert plan.project == (("P",) if query.get("dimension_columns") else ())
    assert plan.order == (*query.get("dimension_columns", dims).split(), "part")


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.bool_(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.decimal128(5, 2), pa.binary()],
    ids=str,
)
def test_values_of_any_type(kind: pa.DataType) -> None:
    """Partition values of every type can be matched, across tables."""
    values = pa.array([True, False, True]) if pa.types.is_boolean(kind) else pa.array([1, 0, 1]).cast(pa.int32())
    values = values.cast(pa.string()).cast(kind) if pa.types.is_binary(kind) or pa.types.is_decimal(kind) else values
    left = pa.table({"p": values.cast(pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else values.cast(kind)})
    ids, more = row_ids([left, left.slice(1)], ["p"])
    assert ids[0] == ids[2] != ids[1]
    assert more.tolist() == ids[1:].tolist()
    assert first_rows(ids).tolist() == [0, 1]


def test_condition_is_a_value() -> None:
    """The plan keeps conditions as data: what the file's place decides is gone, the rest is bound."""
    where: Condition = (C("p") == 0) & ((C("p") == 0) | (C("x") == 1)) & (C("v1") > 0)
    seed = make_plan(ALIGN, [SEED], where=where).read.inputs[0]
    assert (str(seed.early), str(seed.late)) == ("(p == 0) | (x == 1)", "v1 > 0")
