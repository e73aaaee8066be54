"""The key of an object tells what it is to a dataset, and whose it is."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kubothek.codec.keys import (
    check_incarnation,
    data_key,
    deletion_key,
    header_keys,
    index_key,
    is_deletion_key,
    private_prefix,
    schema_key,
    version_key,
)
from kubothek.codec.object_kinds import object_kinds
from kubothek.errors import CorruptDatasetError
from kubothek.store.world import WORLD

NAME = "0123456789abcdef" * 2

KINDS: dict[str, tuple[str | None, str | None, bool]] = {
    data_key("u", "table", f"p=1/q=a%2Fb/{NAME}"): ("data", "table", True),
    f"u/table/{NAME}.csv.gz": ("data", "table", True),
    "u/table/L1.csv": ("data", "table", False),
    f"u/table/p=x/y/{NAME.upper()}.parquet": ("data", "table", False),
    schema_key("u", "table"): ("schema", "table", False),
    index_key("u", "a b", WORLD.clock()): ("index", None, False),
    "u.i1.by-dataset-index.parquet": ("index", None, False),
    "u.i.1.by-dataset-index.parquet": ("index", None, False),
    f"{private_prefix('u', 'i')}staged/w/x.arrow": ("passing", "i", False),
    deletion_key("u", "i"): ("passing", "i", False),
    f"{private_prefix('u', 'i')}history/1": ("private", "i", False),
    version_key("u", "i", 1, WORLD.clock(), "c", "json"): ("version", "i", False),
    version_key("u", "i", 2**63 - 1, None, "a/b", "msgpack"): ("version", "i", False),
    f"{version_key('u', 'i', 1, None, 'c', 'json')}.bak": ("private", "i", False),
    header_keys("u")[0]: (None, None, False),
    header_keys("u")[1]: (None, None, False),
    "u/loose.parquet": (None, None, False),
    f"u/indices/i1/{NAME}.parquet": (None, None, False),
    "u/indices/_common_metadata": (None, None, False),
    "u/table/p=1/_common_metadata": (None, None, False),
    "u/table/x.parquet.bak": (None, None, False),
    f"u2/table/{NAME}.parquet": (None, None, False),
    f"xu/table/{NAME}.parquet": (None, None, False),
    f"x/u/table/{NAME}.parquet": (None, None, False),
    "u2.i1.by-dataset-index.parquet": (None, None, False),
    "_kubothek/u": (None, None, False),
    "_kubothek/u2/i/staged/x": (None, None, False),
}


def test_kinds() -> None:
    """Each object has the kind of the key that was made for it; all others have none."""
    found = object_kinds(pa.array(list(KINDS)), "u").to_pylist()
    ours = {key: (one["kind"], one["name"], one["random"]) for key, one in zip(KINDS, found, strict=True)}
    assert {key: (kind, name if kind else None, random) for key, (kind, name, random) in ours.items()} == KINDS


def test_names_are_taken_literally() -> None:
    """Nothing in a dataset's name counts as a pattern, and no name is the beginning of another."""
    keys = pa.array(["a++b/t/x.csv", "aab/t/x.csv", "a/t/x.csv", "a++b2/t/x.csv", "a++b/x+/x.csv"])
    assert object_kinds(keys, "a++b")["kind"].to_pylist() == ["data", None, None, None, "data"]
    assert object_kinds(keys, "a")["kind"].to_pylist() == [None, None, "data", None, None]
    assert object_kinds(keys[:0], "a").num_rows == 0


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../v", "a\n", "a\0"])
def test_incarnations_that_lead_elsewhere(name: str) -> None:
    """What decides where our own objects lie is one segment of a path."""
    with pytest.raises(CorruptDatasetError):
        check_incarnation(name, "u.by-dataset-metadata.json")


def test_deletion_keys() -> None:
    """Only the record itself is one, not what somebody put deeper."""
    assert is_deletion_key(deletion_key("u", "i"))
    assert not is_deletion_key("_kubothek/u/i/staged/deletion.json")
