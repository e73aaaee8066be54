"""Commands that change datasets: what they ask, what they do, and what they say of it."""

from __future__ import annotations

import json
import uuid as uuids

import pyarrow as pa
import pytest
from tests.cli.stored import run

from kubothek import Dataset, delete_dataset, open_dataset, update_dataset, verify_dataset, write_dataset
from kubothek.errors import DatasetNotFoundError, StoreError
from kubothek.testing.stores import Fault, FaultyStore

ROWS = {"p": [1, 1, 2], "i1": [7, 8, 9], "i2": [None, 0, 0], "v1": [[1.0], [2.0], [3.0]]}
DRAWN = b"x" * 1500


def written(**options) -> Dataset:
    """Write a dataset of two partitions to a new store."""
    url = f"memory://{uuids.uuid4().hex}"
    return write_dataset(pa.table(ROWS), "u", url, partition_on="p", **options)


def emptied(**options) -> Dataset:
    """Write a dataset of two partitions and remove one, which makes a second version."""
    return update_dataset(None, "u", written(**options).store, delete_scope=[{"p": 1}])


def with_garbage() -> tuple[Dataset, str]:
    """Write a dataset and, beside it, a file of no partition; return its key too."""
    dataset, key = written(), "u/table/p=1/left.parquet"
    dataset.store.put(key, DRAWN)
    return dataset, key


def keys(dataset: Dataset) -> set[str]:
    """Return what is in the store."""
    return {info.key for info in dataset.store.list()}


@pytest.mark.parametrize(("options", "answer"), [(["--yes"], ""), ([], "y\n")], ids=["not asked", "agreed"])
def test_gc_deletes_what_it_lists(options: list[str], answer: str) -> None:
    """With --yes or after a yes the listed files go, and nothing else; the question is no part of the output."""
    dataset, key = with_garbage()
    before = keys(dataset)
    result = run(dataset.store.url, "dataset", "u", "gc", "--older-than", "0s", *options, input=answer)
    listing = f"  size  object\n1.5 kB  {key}\n"
    assert (result.exit_code, result.stdout) == (0, listing + "✓ deleted 1 object, 1.5 kB\n")
    assert result.stderr == ("" if options else "Delete 1 object, 1.5 kB? [y/N]: y\n")  # the answer is echoed
    assert before - keys(dataset) == {key}


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (["gc", "--older-than", "0s"], "Delete 1 object, 1.5 kB?"),
        (["delete"], "This cannot be undone."),
        (["index", "drop", "i1"], "Drop the index on i1 of u?"),
        (["rollback", "1"], "Bring back version 1 of u with 2 partitions, "),
    ],
    ids=["gc", "delete", "index drop", "rollback"],
)
@pytest.mark.parametrize("answer", ["n\n", ""], ids=["refused", "nobody there"])
def test_without_a_yes_nothing_goes(arguments: list[str], question: str, answer: str) -> None:
    """A no, or nobody who could answer, leaves all as it was, and the exit code says that it was not done."""
    dataset = emptied(secondary_indices="i1")
    dataset.store.put("u/table/p=1/left.parquet", DRAWN)
    before = keys(dataset)
    result = run(dataset.store.url, "dataset", "u", *arguments, input=answer)
    assert (result.exit_code, keys(dataset)) == (1, before)
    assert question in result.stderr
    assert ("--yes" in result.stderr) == (not answer)


@pytest.mark.parametrize("keep", ["1", "0s"], ids=["number", "duration"])
def test_gc_gives_up_versions(keep: str) -> None:
    """What only they had goes with them, and they are in the history no more."""
    url, gc = emptied().store.url, ["gc", "--older-than", "0s", "--yes"]
    assert run(url, "dataset", "u", *gc).stdout == "✓ there is nothing to delete\n"
    result = run(url, "dataset", "u", *gc, "--keep", keep)
    assert (result.exit_code, "u/table/p=1/" in result.stdout, "/history/" in result.stdout) == (0, True, True)
    assert "write_dataset" not in run(url, "dataset", "u", "history").stdout
    assert "cannot be read any more" in run(url, "dataset", "u", "rollback", "1").stderr


@pytest.mark.parametrize("version", ["1", "2100-01-01"], ids=["number", "time"])
def test_rollback_brings_back_a_version(version: str) -> None:
    """After a yes its partitions are there again, in a version of their own; for what is current nobody is asked."""
    url = emptied().store.url
    result = run(url, "dataset", "u", "rollback", version, input="y\n")
    back = open_dataset("u", url)
    if version == "1":
        assert result.stdout.startswith("✓ brought back version 1 of u as version 3: 2 partitions, ")
        assert (back.version, len(back.partitions)) == (3, 2)
    else:
        assert result.output == "✓ version 2 of u is current: there is nothing to bring back\n"
        assert (result.exit_code, back.version, len(back.partitions)) == (0, 2, 1)


def test_gc_spares_what_is_young() -> None:
    """Without a duration, what is younger than a day stays."""
    dataset, key = with_garbage()
    result = run(dataset.store.url, "dataset", "u", "gc", "--yes")
    assert result.stdout == "✓ there is nothing to delete\n"
    assert key in keys(dataset)


def test_gc_tells_programs_what_went() -> None:
    """With --json the deleted objects are the document."""
    dataset, key = with_garbage()
    result = run(dataset.store.url, "dataset", "u", "gc", "--older-than", "0s", "--yes", "--json")
    facts = {"uuid": "u", "store": dataset.store.url, "dry_run": False, "objects": [{"key": key, "bytes": 1500}]}
    assert json.loads(result.stdout) == facts


def test_delete_deletes() -> None:
    """The dataset is gone, and the output says how much that was."""
    dataset = written()
    size = sum(dataset.partitions[label].bytes or 0 for label in dataset.partitions)
    result = run(dataset.store.url, "dataset", "u", "delete", "--yes")
    assert result.stdout == f"✓ deleted u with 2 partitions, {size / 1000:.1f} kB from {dataset.store.url}\n"
    assert keys(dataset) == set()


def test_delete_finishes_a_deletion() -> None:
    """What a deletion left that was cut short after the header goes, without a question."""
    dataset = written()
    header = "u.by-dataset-metadata.json"
    cut = FaultyStore(dataset.store, lambda c: Fault.FAIL if c.verb == "delete" and c.key != header else None)
    with pytest.raises(StoreError):
        delete_dataset("u", cut)
    result = run(dataset.store.url, "dataset", "u", "delete")
    assert (result.exit_code, result.stdout) == (0, f"✓ deleted what was left of u in {dataset.store.url}\n")
    assert keys(dataset) == set()


def test_copy_to_another_name_and_store() -> None:
    """The copy has the same rows; its name, its store and its size are said."""
    dataset, url = written(), f"memory://{uuids.uuid4().hex}"
    result = run(dataset.store.url, "dataset", "u", "copy", "--to-uuid", "w", "--to-store", url, "--json")
    facts = json.loads(result.stdout)
    assert (facts["uuid"], facts["store"], facts["partitions"], facts["rows"]) == ("w", url, 2, 3)
    assert open_dataset("w", url).scan().to_arrow() == dataset.scan().to_arrow()


def test_copy_replaces_only_when_told() -> None:
    """An existing dataset is an error without --overwrite."""
    dataset = written()
    write_dataset(pa.table({"x": [1]}), "w", dataset.store)
    copy = ["dataset", "u", "copy", "--to-uuid", "w"]
    refused, done = run(dataset.store.url, *copy), run(dataset.store.url, *copy, "--overwrite")
    assert (refused.exit_code, done.exit_code) == (1, 0)
    assert "exists already" in refused.stderr
    assert done.stdout.startswith(f"✓ copied u to w in {dataset.store.url}: 2 partitions, ")


def test_verify_finds_nothing_wrong() -> None:
    """A sound dataset is one line, and success."""
    result = run(written().store.url, "dataset", "u", "verify")
    assert (result.exit_code, result.stdout) == (0, "✓ no problems in u\n")


def test_verify_shows_problems_and_fails() -> None:
    """Each problem has its kind, its object and its message; the exit code is 1."""
    dataset = written()
    dataset.store.delete([*next(iter(dataset.partitions.values())).files.values(), "u/table/_common_metadata"])
    problems = verify_dataset("u", dataset.store)
    shown = "".join(f"✗ {p.kind.replace('_', ' ')}  {p.key}\n  {p.message}\n\n" for p in problems)
    result = run(dataset.store.url, "dataset", "u", "verify")
    assert (result.exit_code, result.stdout) == (1, f"{shown}2 problems in u\n")
    found = json.loads(run(dataset.store.url, "dataset", "u", "verify", "--json").stdout)["problems"]
    assert [(p["kind"], p["key"], p["repaired"]) for p in found] == [(p.kind, p.key, False) for p in problems]


def test_verify_repairs() -> None:
    """What has been repaired is no failure, and is gone the next time."""
    dataset = written()
    dataset.store.delete(["u/table/_common_metadata"])
    result = run(dataset.store.url, "dataset", "u", "verify", "--repair")
    assert result.exit_code == 0
    assert result.stdout.startswith("✓ repaired missing schema copy  u/table/_common_metadata\n  ")
    assert result.stdout.endswith("\n\n✓ 1 problem of u repaired\n")
    assert verify_dataset("u", dataset.store) == []


@pytest.mark.parametrize(
    ("columns", "expected"),
    [(["i1"], ["i1"]), (["i*"], ["i1", "i2"]), (["*"], ["i1", "i2"]), (["i2", "i?"], ["i2", "i1"])],
    ids=["a name", "a pattern", "all that can have one", "both"],
)
def test_indices_are_built_and_dropped(columns: list[str], expected: list[str]) -> None:
    """Patterns stand for the columns that can have an index, or that have one; names for themselves."""
    url = written().store.url
    built = json.loads(run(url, "dataset", "u", "index", "build", *columns, "--json").stdout)["built"]
    assert [one["column"] for one in built] == expected
    assert {one["column"]: one["values"] for one in built}.items() <= {"i1": 3, "i2": 1}.items()
    result = run(url, "dataset", "u", "index", "drop", "i*", "--yes")
    assert (result.exit_code, open_dataset("u", url).index_columns) == (0, ())
    assert run(url, "dataset", "u", "index", "list").stdout == "u has no secondary indices\n"


def test_what_was_built_and_dropped_is_said() -> None:
    """One line each, with the columns."""
    url = written().store.url
    assert run(url, "dataset", "u", "index", "build", "i1").stdout == "✓ built the index on i1 of u\n"
    run(url, "dataset", "u", "index", "build", "i2")
    dropped = run(url, "dataset", "u", "index", "drop", "i?", "--yes").stdout
    assert dropped == "✓ dropped the indices on i1, i2 of u\n"


def test_a_dry_run_changes_nothing() -> None:
    """Whatever would go is still there."""
    dataset = emptied(secondary_indices="i1")
    before = keys(dataset)
    for command in (
        ["gc", "--older-than", "0s", "--keep", "1"],
        ["delete"],
        ["index", "drop", "i1"],
        ["rollback", "1"],
    ):
        assert run(dataset.store.url, "dataset", "u", *command, "--dry-run").exit_code == 0
    assert keys(dataset) == before


def test_a_deleted_dataset_is_not_found() -> None:
    """Deleting again is an error, not a success."""
    url = written().store.url
    assert run(url, "dataset", "u", "delete", "--yes").exit_code == 0
    again = run(url, "dataset", "u", "delete", "--yes")
    assert again.exit_code == 1
    with pytest.raises(DatasetNotFoundError):
        open_dataset("u", url)


def test_export_delta_tells_where_the_table_is() -> None:
    """The first export has all files, the next one says that there is nothing new; JSON has the facts."""
    dataset = written()
    made = run(dataset.store.url, "dataset", "u", "export-delta", "--statistics")
    assert made.stdout == f"✓ {dataset.store.url}/u is version 0 of a Delta table: 2 new files, 0 gone\n"
    again = run(dataset.store.url, "dataset", "u", "export-delta", "--at", "1")
    assert (again.exit_code, again.stdout.rpartition(": ")[2]) == (0, "nothing new\n")
    facts = json.loads(run(dataset.store.url, "dataset", "u", "export-delta", "--json").stdout)
    assert facts == {"url": f"{dataset.store.url}/u", "version": 0, "added": 0, "removed": 0, "dataset_version": 1}
