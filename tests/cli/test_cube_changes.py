"""Commands that change cubes: what they ask, what they do, and what they say of it."""

from __future__ import annotations

import json
import uuid as uuids

import pyarrow as pa
import pytest
from tests.cli.stored import run

from kubothek import (
    Cube,
    Store,
    build_cube,
    check_cube,
    delete_cube,
    discover_cube,
    query_cube,
    refresh_cube,
    remove_partitions,
)
from kubothek.errors import StoreError
from kubothek.testing.stores import Fault, FaultyStore

CUBE = Cube(uuid_prefix="c", dimension_columns=("x", "y"), partition_columns="p", index_columns="i1")
SEED = pa.table({"x": [1, 2, 3], "y": [0, 0, 0], "p": [1, 1, 2], "i1": ["a", "b", None], "v1": [0.5, 1.5, None]})
MORE = pa.table({"x": [1, 3], "p": [1, 2], "v2": [[7], None], "v3": [7, 8]})
DRAWN = b"x" * 1500


def written() -> Store:
    """Write a cube of three datasets to a new store."""
    store = Store(f"memory://{uuids.uuid4().hex}")
    build_cube(
        {"seed": SEED, "more": MORE, "names": MORE.select(["x"]).append_column("v4", [[1, 2]])},
        CUBE,
        store,
        partition_on={"names": []},
    )
    return store


def keys(store: Store) -> set[str]:
    """Return what is in the store."""
    return {info.key for info in store.list()}


def members(store: Store, prefix: str = "c") -> set[str]:
    """Return the ids of the datasets whose headers are in the store."""
    headers = (key for key in keys(store) if key.startswith(f"{prefix}++") and ".by-dataset-metadata." in key)
    return {key.partition(".")[0].removeprefix(f"{prefix}++") for key in headers}


@pytest.mark.parametrize(("options", "answer"), [(["--yes"], ""), ([], "y\n")], ids=["not asked", "agreed"])
def test_delete_deletes_what_it_lists(options: list[str], answer: str) -> None:
    """With --yes or after a yes the whole cube goes; the question is no part of the output."""
    store = written()
    result = run(store.url, "c", "delete", *options, input=answer)
    assert (result.exit_code, keys(store)) == (0, set())
    assert [line.split()[-1] for line in result.stdout.splitlines()[:4]] == ["dataset", "more", "names", "seed"]
    assert result.stdout.splitlines()[4].startswith("✓ deleted 3 datasets of cube c, ")
    assert ("This cannot be undone. [y/N]: y" in result.stderr) == (not options)


@pytest.mark.parametrize(
    ("globs", "left"),
    [
        (["--include", "m*,names"], ["seed"]),
        (["--include", "m*", "--include", "names"], ["seed"]),
        (["--exclude", "[ms]*"], ["more", "seed"]),
        (["--include", "*", "--exclude", "names,seed"], ["names", "seed"]),
    ],
    ids=" ".join,
)
def test_delete_deletes_what_is_chosen(globs: list[str], left: list[str]) -> None:
    """Included is what any pattern matches, less what is excluded; the rest is still a cube."""
    store = written()
    assert run(store.url, "c", "delete", *globs, "--yes").exit_code == 0
    assert members(store) == set(left)
    assert check_cube("c", store) == []


def test_deleting_the_seed_alone_is_warned_of() -> None:
    """What is left could not be queried; a whole cube may go without this warning."""
    store, warning = written(), "What is left cannot be queried without its seed."
    assert warning in run(store.url, "c", "delete", "--include", "s*", input="n\n").stderr
    assert warning not in run(store.url, "c", "delete", input="n\n").stderr
    assert warning not in run(store.url, "c", "delete", "--include", "m*", input="n\n").stderr


def test_delete_tells_programs_what_went() -> None:
    """With --json the deleted datasets are the document, with their sizes."""
    store = written()
    facts = json.loads(run(store.url, "c", "delete", "--include", "more", "--yes", "--json").stdout)
    assert (facts["cube"], facts["store"], facts["dry_run"]) == ("c", store.url, False)
    assert [(one["dataset"], one["uuid"], one["rows"]) for one in facts["datasets"]] == [("more", "c++more", 2)]


def test_delete_finishes_a_deletion() -> None:
    """What a deletion left that was cut short after the last header goes, without a question."""
    store = written()
    delete_cube("c", store, datasets=["more", "names"])
    cut = FaultyStore(store, lambda c: Fault.FAIL if c.verb == "delete" and "/table/" in c.key else None)
    with pytest.raises(StoreError):
        delete_cube("c", cut)
    assert (members(store), bool(keys(store))) == (set(), True)
    result = run(store.url, "c", "delete")
    assert (result.exit_code, result.stdout) == (0, f"✓ deleted what was left of cube c in {store.url}\n")
    assert keys(store) == set()


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (["delete"], "This cannot be undone."),
        (["cleanup", "--older-than", "0s"], "Delete 1 object, 1.5 kB?"),
        (["index", "drop", "seed", "i*"], "Drop the index on i1 of c++seed?"),
        (["copy", "--to-cube", "d", "--overwrite"], "Replace seed of cube d in "),
    ],
    ids=["delete", "cleanup", "index drop", "copy"],
)
@pytest.mark.parametrize("answer", ["n\n", ""], ids=["refused", "nobody there"])
def test_without_a_yes_nothing_changes(arguments: list[str], question: str, answer: str) -> None:
    """A no, or nobody who could answer, leaves all as it was, and the exit code says that it was not done."""
    store = written()
    run(store.url, "c", "copy", "--to-cube", "d", "--include", "seed")
    store.put("c++more/table/p=1/left.parquet", DRAWN)
    before = keys(store)
    result = run(store.url, "c", *arguments, input=answer)
    assert (result.exit_code, keys(store)) == (1, before)
    assert question in result.stderr
    assert ("--yes" in result.stderr) == (not answer)


def test_cleanup_deletes_what_it_lists() -> None:
    """What nothing refers to goes, of each dataset and of those that are gone; the cube is as it was."""
    store = written()
    before = keys(store)
    drawn = {"c++more/table/p=1/left.parquet", f"c++gone/table/{'4e' * 16}.parquet"}
    for key in drawn:
        store.put(key, DRAWN)
    result = run(store.url, "c", "cleanup", "--older-than", "0s", "--yes")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "✓ deleted 2 objects, 3.0 kB")
    assert {line.split()[-1] for line in result.stdout.splitlines()[1:-1]} == drawn
    assert keys(store) == before


def test_cleanup_gives_up_versions() -> None:
    """With --keep, what older versions of the datasets had goes, and the cube is as it was."""
    store = written()
    remove_partitions("c", store, "p == 1")
    before = query_cube("c", store).to_arrow()
    assert run(store.url, "c", "cleanup", "--older-than", "0s", "--yes").stdout == "✓ there is nothing to delete\n"
    result = run(store.url, "c", "cleanup", "--older-than", "0s", "--keep", "1", "--yes")
    assert (result.exit_code, "c++seed/table/p=1/" in result.stdout) == (0, True)
    assert query_cube("c", store).to_arrow() == before


def test_stale_partitions_are_listed() -> None:
    """One a line with its reason, for people and for programs; nothing has changed by looking."""
    store = written()
    refresh_cube(CUBE, store, "sums", lambda rows: rows.select(["x", "p"]).append_column("s1", rows["v1"]))
    assert run(store.url, "c", "stale", "sums").stdout.splitlines()[-1] == "0 of 2 partitions stale"
    remove_partitions("c", store, "p == 1", datasets="seed")
    before = keys(store)
    assert run(store.url, "c", "stale", "sums").stdout.splitlines()[1:] == [
        "vanished  p=1",
        "1 of 2 partitions stale",
    ]
    found = json.loads(run(store.url, "c", "stale", "sums", "--json").stdout)
    assert (found["stale"], found["partitions"]) == ([{"values": {"p": 1}, "reason": "vanished"}], 2)
    assert (run(store.url, "c", "stale", "seed").exit_code, keys(store)) == (1, before)


def test_a_pin_is_printed_and_asked_for() -> None:
    """The line that is printed stands for the cube as it is, on the command line and in the library."""
    store = written()
    pin = run(store.url, "c", "pin").stdout
    before = run(store.url, "c", "query", "--format", "json").stdout
    remove_partitions("c", store, "p == 1")
    assert run(store.url, "c", "query", "--at", pin, "--format", "json").stdout == before
    assert "3 rows" in run(store.url, "c", "explain", "--at", pin).stdout
    assert run(store.url, "c", "query", "--at", "2100-01-01T00:00Z", "--format", "json").stdout != before
    assert query_cube("c", store, at=pin).to_arrow().num_rows == 3
    assert json.loads(run(store.url, "c", "pin", "--datasets", "seed", "--json").stdout)["datasets"].keys() == {"seed"}


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("c: seed=1", "A pin is written as 'cube: dataset=version/commit"),
        ("yesterday", "'yesterday' is no time"),
        ("d: seed=1/c", "The pin is of cube 'd'"),
        ("2020-01-01", "There was no dataset of cube 'c' yet"),
    ],
)
def test_what_is_no_moment_is_refused(at: str, message: str) -> None:
    """The message says how it is written, or what is wrong with it."""
    result = run(written().url, "c", "query", "--at", at)
    assert result.exit_code > 0
    assert message in result.stderr


def test_cleanup_spares_what_is_young() -> None:
    """Without a duration, what is younger than a day stays."""
    store = written()
    store.put("c++more/table/p=1/left.parquet", DRAWN)
    assert run(store.url, "c", "cleanup", "--yes").stdout == "✓ there is nothing to delete\n"


def test_copy_to_another_name_and_store() -> None:
    """The copy answers as the cube does; its name, its store and its size are said."""
    store, url = written(), f"memory://{uuids.uuid4().hex}"
    result = run(
        store.url, "c", "copy", "--to-cube", "d", "--to-store", url, "--rename", "seed=s", "--rename", "more=m"
    )
    assert result.exit_code == 0
    assert result.stdout.startswith(f"✓ copied c to d in {url}: 3 datasets, ")
    cube, datasets = discover_cube("d", url)
    assert (cube, set(datasets)) == (CUBE.copy(uuid_prefix="d", seed_dataset="s"), {"s", "m", "names"})
    assert query_cube("d", url).to_arrow() == query_cube("c", store).to_arrow()


def test_copy_tells_programs_what_is_there() -> None:
    """With --json the copies are the document, under their new names."""
    store = written()
    facts = json.loads(run(store.url, "c", "copy", "--to-cube", "d", "--include", "more,seed", "--json").stdout)
    assert (facts["cube"], [one["uuid"] for one in facts["datasets"]]) == ("d", ["d++more", "d++seed"])


def test_copy_replaces_only_when_told() -> None:
    """Existing datasets are an error without --overwrite, and a question with it unless there is --yes."""
    store = written()
    copy = ["c", "copy", "--to-cube", "d"]
    assert run(store.url, *copy, "--overwrite").exit_code == 0  # there is nothing to replace yet
    refused, done = run(store.url, *copy), run(store.url, *copy, "--overwrite", "--yes")
    assert (refused.exit_code, done.exit_code) == (1, 0)
    assert "more, names, seed" in run(store.url, *copy, "--overwrite", input="n\n").stderr
    assert "overwrite" in refused.stderr


def test_a_broken_cube_can_be_saved_and_deleted() -> None:
    """Of a cube without a seed, and of one with an unreadable header, the rest is copied and deleted by name."""
    store = written()
    store.put("c++seed.by-dataset-metadata.json", b"{")
    assert run(store.url, "c", "info").exit_code == 1
    assert run(store.url, "c", "copy", "--to-cube", "d", "--exclude", "seed").exit_code == 0
    assert members(store, "d") == {"more", "names"}
    assert run(store.url, "d", "info").exit_code == 1
    assert run(store.url, "d", "cleanup").exit_code == 0
    assert run(store.url, "d", "check").exit_code == 1
    assert run(store.url, "d", "delete", "--yes").exit_code == 0
    assert run(store.url, "c", "delete", "--exclude", "seed", "--yes").exit_code == 0
    assert (members(store, "d"), members(store)) == (set(), {"seed"})


def test_check_finds_nothing_wrong() -> None:
    """A sound cube is one line, and success."""
    result = run(written().url, "c", "check")
    assert (result.exit_code, result.stdout) == (0, "✓ no problems in c\n")


def test_indices_are_built_and_dropped() -> None:
    """Patterns stand for columns of one dataset; indices on dimensions of the seed stay, as the cube needs them."""
    url = written().url
    built = json.loads(run(url, "c", "index", "build", "more", "x", "v*", "--json").stdout)
    assert [one["column"] for one in built["built"]] == ["x", "v3"]
    assert run(url, "c", "index", "drop", "more", "v?", "--yes").stdout == "✓ dropped the index on v3 of c++more\n"
    assert run(url, "c", "index", "drop", "seed", "*", "--yes").stdout == "✓ dropped the index on i1 of c++seed\n"
    listed = json.loads(run(url, "c", "index", "list", "--json").stdout)["datasets"]
    there = {one["dataset"]: [index["column"] for index in one["indices"]] for one in listed}
    assert there == {"more": ["x"], "names": [], "seed": ["x", "y"]}
    assert check_cube("c", url) == []


def test_an_index_that_the_cube_needs_is_built_again() -> None:
    """A cube that lacks it cannot be opened; the command to build it works all the same."""
    url = written().url
    run(url, "dataset", "c++seed", "index", "drop", "x", "--yes")
    assert run(url, "c", "info").exit_code == 1
    assert run(url, "c", "index", "build", "seed", "x").stdout == "✓ built the index on x of c++seed\n"
    assert run(url, "c", "info").exit_code == 0


def test_explain_measures_when_told() -> None:
    """With --analyze the query is run, and what it read is told beside what was expected."""
    url = written().url
    explain = ["c", "explain", "--where", "v3 > 7", "--json"]
    planned, measured = (json.loads(run(url, *explain, *extra).stdout) for extra in ([], ["--analyze"]))
    assert (planned["cube"], planned["store"]) == ("c", url)
    assert measured != planned


def test_a_dry_run_changes_nothing() -> None:
    """Whatever would go is still there."""
    store = written()
    store.put("c++more/table/p=1/left.parquet", DRAWN)
    before = keys(store)
    for command in (["cleanup", "--older-than", "0s"], ["delete"], ["index", "drop", "seed", "i1"]):
        assert run(store.url, "c", *command, "--dry-run").exit_code == 0
    assert keys(store) == before
