"""Where objects are stored, and which keys are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from kubothek.codec import keys
from kubothek.codec.quoting import unquote
from kubothek.errors import CorruptDatasetError, InvalidInputError


def test_keys_are_those_of_the_format() -> None:
    """The layout by example; it must never change."""
    assert keys.header_keys("c++d") == ("c++d.by-dataset-metadata.json", "c++d.by-dataset-metadata.msgpack.zstd")
    assert keys.schema_key("d", "table") == "d/table/_common_metadata"
    assert keys.data_key("d", "core", "p=1/ab") == "d/core/p=1/ab.parquet"
    assert keys.private_prefix("d", "1f") == "_kubothek/d/1f/"
    when = datetime(2020, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))
    expected = "d/indices/a%2Fb/2020-01-01T12%3A00%3A00.000000.by-dataset-index.parquet"
    assert keys.index_key("d", "a/b", when) == expected


@pytest.mark.parametrize("uuid", ["", "a b", "a/b", "..", "ü", "a\n", None])
def test_names_that_would_not_be_one_part_of_a_key_are_refused(uuid: str) -> None:
    """Checked before anything is written."""
    for check in (keys.check_uuid, keys.check_table):
        with pytest.raises(InvalidInputError):
            check(uuid)


def test_names_may_hold_what_cubes_need() -> None:
    """A dataset of a cube has two plus signs in its name; nothing takes the folders of the indices and of our own."""
    keys.check_uuid("flights-2_x++seed")
    keys.check_table("core")
    with pytest.raises(InvalidInputError):
        keys.check_table("indices")
    with pytest.raises(InvalidInputError):
        keys.check_uuid("_kubothek")


@pytest.mark.parametrize("column", [".", ".."])
def test_an_index_never_leaves_its_folder(column: str) -> None:
    """A column can have any name."""
    key = keys.index_key("d", column, datetime(2020, 1, 1, tzinfo=UTC))
    keys.check_index_key(key, "d")
    assert unquote(key.split("/")[2]) == column


@pytest.mark.parametrize(
    "key",
    [
        "/d/table/f",
        "d",
        "d/",
        "d/../e/f",
        "d/table/..",
        "d/./f",
        "d//f",
        "d/f/",
        "e/table/f",
        "dd/f",
        "../d/f",
        "d/a\0b",
        "d/a\nb",
        "d.i1\n.by-dataset-index.parquet",
        "",
    ],
)
def test_keys_outside_of_the_dataset_are_corrupt(key: str) -> None:
    """Nobody reads or deletes by them; the error names the object that held the key."""
    with pytest.raises(CorruptDatasetError) as caught:
        keys.check_keys(pa.array(["d/table/f", key]), "d", "d.by-dataset-metadata.json")
    assert (caught.value.key, caught.value.outside) == ("d.by-dataset-metadata.json", key)
    with pytest.raises(CorruptDatasetError):
        keys.check_index_key(key, "d")


def test_keys_with_dots_in_names_are_fine() -> None:
    """Only whole segments of dots lead elsewhere."""
    keys.check_keys(pa.chunked_array([["d/table/p=../f.parquet", None], ["d/.../f", "d/a..b/.f"]]), "d")
    keys.check_index_key("d.i1.by-dataset-index.parquet", "d")


def test_every_key_of_the_corpus_is_allowed(corpus: Path) -> None:
    """What Kartothek stores passes the check."""
    stored = [
        path.relative_to(store) for store in corpus.glob("*/store") for path in store.glob("*/**/*") if path.is_file()
    ]
    assert len(stored) > 500
    for key in map(str, stored):
        keys.check_keys(pa.array([key]), key.split("/")[0])
