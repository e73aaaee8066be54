"""Options of the data source: texts as Spark gives them, with all problems told at once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubothek import C
from kubothek.errors import InvalidInputError
from kubothek.spark.source.options import read_options, write_options
from kubothek.store.open import open_store

READ = {"store": "/data", "dataset": "d"}
VALUES: dict[str, tuple[dict[str, str], str, Any]] = {
    "list": ({"columns": "x, y"}, "columns", ("x", "y")),
    "list as JSON": ({"columns": '["x", "a, b"]'}, "columns", ("x", "a, b")),
    "text condition": ({"where": "x == 1"}, "where", C("x") == 1),
    "JSON condition": ({"where": '{"column": "x", "op": "==", "value": 1}'}, "where", C("x") == 1),
    "lists of conditions": ({"where": '[[["x", "==", 1]]]'}, "where", C("x") == 1),
    "version": ({"at": "3"}, "at", 3),
    "time": ({"at": "2026-07-01T12:00:00+00:00"}, "at", datetime(2026, 7, 1, 12, tzinfo=UTC)),
    "flag": ({"pushdown": "True"}, "pushdown", True),
    "no flag": ({}, "pushdown", None),
    "any case": ({"TABLE": "t"}, "table", "t"),
}


@pytest.mark.parametrize(("given", "name", "value"), VALUES.values(), ids=VALUES)
def test_texts_become_values(given: dict[str, str], name: str, value: Any) -> None:
    """Each option of a read has one form for people and, where names may hold a comma, one in JSON."""
    assert getattr(read_options(READ | given), name) == value


def test_options_of_a_write_have_defaults() -> None:
    """What is not said is left to the dataset, or has the default of the functions."""
    options = write_options(
        {"path": "/data", "dataset": "d", "partitionOn": "p,q", "metadata": '{"a": 1}'}, overwrite=True
    )
    assert (options.store, options.partition_on, options.metadata) == (open_store("/data"), ("p", "q"), {"a": 1})
    assert (options.secondary_indices, options.compression, options.partition_overwrite) == (None, "zstd", None)


def test_a_path_names_the_store(tmp_path: Path) -> None:
    """``load(path)`` and ``store`` are the same, and may say the same."""
    named = [{"path": str(tmp_path)}, {"store": str(tmp_path)}, {"path": str(tmp_path), "store": str(tmp_path)}]
    assert {read_options({"dataset": "d"} | one).store for one in named} == {open_store(tmp_path)}


def test_options_of_the_store_go_to_it(tmp_path: Path) -> None:
    """What begins with ``store.`` is an option of the store, with truth values as such."""
    store = read_options({"store": str(tmp_path), "dataset": "d", "store.unsafe_single_writer": "true"}).store
    assert store.unsafe_single_writer


PROBLEMS = {
    "nothing named": ({"store": "/data"}, "either 'dataset' or 'cube'"),
    "both named": (READ | {"cube": "c"}, "either 'dataset' or 'cube'"),
    "no store": ({"dataset": "d"}, "name the 'store'"),
    "two stores": (READ | {"path": "/other"}, "different places, '/data' and '/other'"),
    "memory": (READ | {"store": "memory://x"}, "lives in this process"),
    "unknown": (READ | {"colums": "x"}, "'colums' is unknown; did you mean 'columns'?"),
    "unlike all others": (READ | {"zzz": "x"}, "'zzz' is unknown; to read, there are at, columns, cube"),
    "twice": (READ | {"columns": "x,x"}, "names x more than once"),
    "no name": (READ | {"columns": "x,"}, "a list of names"),
    "no JSON": (READ | {"columns": "[x"}, "'columns': it is no JSON"),
    "deep JSON": (READ | {"where": "[" * 100_000}, "'where': its JSON is nested too deeply"),
    "no condition": (READ | {"where": "x =="}, "'where': Cannot read the condition"),
    "no flag": (READ | {"pushdown": "yes"}, "'true' or 'false', and not 'yes'"),
    "no moment": (READ | {"at": "yesterday"}, "number of a version or a time"),
    "version of a cube": ({"store": "/data", "cube": "c", "at": "3"}, "a time or a pin"),
    "table of a cube": ({"store": "/data", "cube": "c", "table": "t"}, "'table' goes with a dataset"),
    "option of another store": (READ | {"store.region": "x"}, "A directory has the options"),
    "catalog": (READ | {"provider": "kubothek", "owner": "me"}, "CREATE TEMPORARY VIEW"),
}


@pytest.mark.parametrize(("given", "told"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_cannot_be_read_is_told(given: dict[str, str], told: str) -> None:
    """A message says which option is at fault and how it is written."""
    with pytest.raises(InvalidInputError) as caught:
        read_options(given)
    assert told in str(caught.value)


def test_all_problems_are_told_together() -> None:
    """One error lists all that is wrong with the options of a write."""
    given = {"rowsPerRowGroup": "0", "partitionOverwriteMode": "all", "metadata": "[]", "header_format": "xml", "x": ""}
    with pytest.raises(InvalidInputError) as caught:
        write_options(given, overwrite=False)
    assert len(caught.value.problems) == 7
