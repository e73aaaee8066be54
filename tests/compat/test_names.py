"""Every public name of Kartothek 5.3 is here with its parameters; ``kartothek_names.json`` was taken from Kartothek."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

NAMES = json.loads((Path(__file__).parent / "kartothek_names.json").read_text(encoding="utf-8"))
# Made by Kubothek, not by hand; the migration guide says how.
MADE_OTHERWISE = {"Condition", "DatasetMetadata", "DatasetMetadataBase", "KeyValueStore"}
CASES = [
    pytest.param(module, name, told["kind"], told["parameters"], id=f"{module}.{name}")
    for module, names in NAMES.items()
    for name, told in names.items()
]


def ours(module: str, name: str) -> Any:
    """Return what has the name here."""
    return getattr(importlib.import_module(f"kubothek.compat.{module}"), name)


def own_parameters(found: Any) -> list[list[Any]]:
    """Return the parameters that can be given by place, each with its default if it has one."""
    given = inspect.signature(found).parameters.values()
    placed = [one for one in given if one.kind is not one.KEYWORD_ONLY]
    return [[one.name] if one.default is one.empty else [one.name, one.default] for one in placed]


def test_names_are_listed() -> None:
    """The list has all modules that users import, so that the test below cannot pass on nothing."""
    assert {"api.dataset", "api.cube", "api.discover", "api.consistency", "api.serialization"} <= NAMES.keys()
    assert len(CASES) > 150


@pytest.mark.parametrize(("module", "name", "kind", "parameters"), CASES)
def test_each_name_is_here(module: str, name: str, kind: str, parameters: list[list[Any]] | None) -> None:
    """A function or class has Kartothek's parameters, in order and with equal defaults; a value is there."""
    found = ours(module, name)
    if kind != "value" and name not in MADE_OTHERWISE:
        assert own_parameters(found) == parameters


@pytest.mark.parametrize("module", NAMES)
def test_what_is_exported_is_listed(module: str) -> None:
    """A module here exports Kartothek's names, and besides only what is written for Spark."""
    exported = set(importlib.import_module(f"kubothek.compat.{module}").__all__)
    assert exported - NAMES[module].keys() <= {
        "KTK_CUBE_METADATA_PARTITION_COLUMNS",
        "KTK_CUBE_METADATA_SUPPRESS_INDEX_ON",
        "update_cube_from_dataframe",
    }
