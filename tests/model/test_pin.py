"""Pins of cubes: what they are as a text, as JSON and in another process, and what is none."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.errors import InvalidInputError
from kubothek.model.pin import Pin, PinnedDataset

COMMIT = "5f2c" * 8
PIN = Pin("c", (PinnedDataset("seed", 7, COMMIT), PinnedDataset("w-2_+", 10**17, "c")))
TEXT = f"c: seed=7/{COMMIT}, w-2_+=100000000000000000/c"


def test_a_pin_is_one_line() -> None:
    """Datasets come by id, whatever order they were given in, each with its version and its commit in full."""
    assert str(PIN) == str(Pin("c", PIN.datasets[::-1])) == TEXT


@pytest.mark.parametrize("text", [TEXT, f" {TEXT}\n", TEXT.replace(" ", ""), TEXT.replace(",", " ,  ")])
def test_a_text_is_read_back(text: str) -> None:
    """Blanks do not matter."""
    assert Pin.parse(text) == PIN


def test_json_is_read_back() -> None:
    """What goes into a JSON document comes back from it."""
    assert Pin.parse(json.loads(json.dumps(PIN.to_dict()))) == PIN


def test_a_pin_is_a_value() -> None:
    """It crosses processes, can be the key of a mapping, and cannot be changed."""
    assert {pickle.loads(pickle.dumps(PIN)): 1}[PIN] == 1
    with pytest.raises(AttributeError):
        PIN.uuid_prefix = "d"  # type: ignore[misc]  # wrong on purpose


HOSTILE: list[Any] = [
    "",
    "c",
    "c:",
    "c: ",
    f"{TEXT},",
    f"{TEXT}, seed=8/c",
    "c++d: seed=1/c",
    ": seed=1/c",
    "c: seed=0/c",
    "c: seed=-1/c",
    "c: seed=\u0661/c",
    "c: seed=1.0/c",
    f"c: seed={'9' * 10_000}/c",
    f"c: seed=1/{'c' * 10_000}",
    "c: seed=1/",
    "c: seed=1/../c",
    "c: seed=1/c/d",
    "c: seed=1/c\x1b[2J",
    "c: +seed=1/c",
    "c: =1/c",
    "c: seed=1/c; weather=1/c",
    "x" * 100_000,
    "c: " + "a=1/c " * 10_000,
    None,
    7,
    b"c: seed=1/c",
    {},
    {"cube": "c", "datasets": {}},
    {"cube": "c", "datasets": []},
    {"cube": 1, "datasets": {"seed": {"version": 1, "commit": "c"}}},
    {"cube": "c", "datasets": {"seed": 1}},
    {"cube": "c", "datasets": {1: {"version": 1, "commit": "c"}}},
    {"cube": "c", "datasets": {"seed": {"version": "1", "commit": "c"}}},
    {"cube": "c", "datasets": {"seed": {"version": True, "commit": "c"}}},
    {"cube": "c", "datasets": {"seed": {"version": 1, "commit": ["c"]}}},
    {"cube": "c", "datasets": {"seed": {"version": 1, "commit": "c", "more": 1}}},
    {"cube": "c", "datasets": {"seed": {"version": 2**63, "commit": "c"}}},
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:40])
def test_what_is_no_pin_is_refused(value: Any) -> None:
    """The message says how pins are written, or what is wrong, and shows the beginning of it."""
    with pytest.raises(InvalidInputError) as refused:
        Pin.parse(value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("datasets", [None, "seed", ("seed",), [1], {"seed": 1}, ()], ids=repr)
def test_a_pin_is_made_of_pinned_datasets(datasets: Any) -> None:
    """Anything else is refused as such, not by what it lacks."""
    with pytest.raises(InvalidInputError, match="pin"):
        Pin("c", datasets)


def test_the_largest_version_can_be_pinned() -> None:
    """Each version that a header can have is read back from the text of its pin."""
    pin = Pin("c", (PinnedDataset("seed", 2**63 - 1, "c"),))
    assert Pin.parse(str(pin)) == Pin.parse(pin.to_dict()) == pin


@given(st.text(alphabet="c:=/,1 +-\n", max_size=40) | st.text())
def test_any_text_is_a_pin_or_refused(text: str) -> None:
    """Nothing else happens, and what is read is written and read as the same."""
    try:
        pin = Pin.parse(text)
    except InvalidInputError:
        return
    assert Pin.parse(str(pin)) == pin
