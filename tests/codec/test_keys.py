"""Where objects are stored, and which keys are refused."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.codec import keys
from kubothek.codec.quoting import unquote
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.history import UNKNOWN_TIME


def test_keys_are_those_of_the_format() -> None:
    """The layout by example; it must never change."""
    assert keys.header_keys("c++d") == ("c++d.by-dataset-metadata.json", "c++d.by-dataset-metadata.msgpack.zstd")
    assert keys.schema_key("d", "table") == "d/table/_common_metadata"
    assert keys.data_key("d", "core", "p=1/ab") == "d/core/p=1/ab.parquet"
    assert keys.private_prefix("d", "1f") == "_kubothek/d/1f/"
    when = datetime(2020, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))
    expected = "d/indices/a%2Fb/2020-01-01T12%3A00%3A00.000000.by-dataset-index.parquet"
    assert keys.index_key("d", "a/b", when) == expected


def test_kept_versions_by_example() -> None:
    """Their names sort by version and tell time and commit; the layout must never change."""
    when = datetime(2026, 11, 21, 17, 50, 12, 123456, tzinfo=timezone(timedelta(hours=1)))
    key = keys.version_key("d", "1f", 7, when, "5f2c", "json")
    assert key == "_kubothek/d/1f/history/00000000000000000007-20261121T165012.123456Z-5f2c.json.zst"
    assert key.startswith(keys.history_prefix("d", "1f"))
    assert keys.parse_version_key(key) == (7, when, "5f2c")


@pytest.mark.parametrize("when", [None, UNKNOWN_TIME, datetime(2, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@pytest.mark.parametrize("commit", ["5f2c", "a/b-c.json", "../ü"])
def test_kept_versions_come_back(when: datetime | None, commit: str) -> None:
    """Whatever the commit is called, and whenever it was, the key says so."""
    key = keys.version_key("d", "1f", 2**63 - 1, when, commit, "msgpack")
    assert (key.count("/"), key.endswith(".msgpack.zst")) == (4, True)
    assert keys.parse_version_key(key) == (2**63 - 1, when or UNKNOWN_TIME, commit)


VERSION = "_kubothek/d/1f/history/00000000000000000007-20261121T165012.123456Z-5f2c.json.zst"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("00007", "00000"),
        ("00000000000000000007", "99999999999999999999"),
        ("00000000000000000007", "7"),
        ("00007", "0000\u0667"),
        ("20261121", "20261321"),
        ("T165012", "T245012"),
        ("Z-5f2c", "Z-"),
        ("Z-5f2c", "Z-%ff"),
        (".json", ".csv"),
        (".zst", ".zst.bak"),
        ("history/", "history/x/"),
        ("history/", "staged/"),
        ("_kubothek/", ""),
    ],
)
def test_what_is_no_kept_version(old: str, new: str) -> None:
    """Anything else has no version, no time and no commit."""
    assert keys.parse_version_key(VERSION) is not None
    assert keys.parse_version_key(VERSION.replace(old, new)) is None


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
    for folder in ("indices", "_delta_log"):
        with pytest.raises(InvalidInputError):
            keys.check_table(folder)
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
        "d/a\x7fb",
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


def is_inside(key: str) -> bool:
    """Tell the same of one key."""
    folder, *segments = key.split("/")
    plain = not any(ord(letter) < 32 or ord(letter) == 127 for letter in key)
    return folder == "d" and bool(segments) and plain and not {"", ".", ".."} & {*segments}


@given(
    st.lists(st.one_of(st.none(), st.text("/.a=ü\x1f\x7f\x80~ ", max_size=6).map("d/a".__add__)), max_size=5),
    st.integers(0, 2),
)
def test_keys_are_checked_alike_together_and_alone(found: list[str | None], skipped: int) -> None:
    """Keys lie in one array of letters, where the end of one is beside the beginning of the next."""
    array = pa.array(found, pa.string()).slice(skipped)
    outside = [key for key in found[skipped:] if key is not None and not is_inside(key)]
    with pytest.raises(CorruptDatasetError) if outside else nullcontext() as caught:
        keys.check_keys(pa.chunked_array([array, array[1:]]), "d")
    assert caught is None or caught.value.outside == outside[0]


def test_every_key_of_the_corpus_is_allowed(corpus: Path) -> None:
    """What Kartothek stores passes the check."""
    stored = [
        path.relative_to(store) for store in corpus.glob("*/store") for path in store.glob("*/**/*") if path.is_file()
    ]
    assert len(stored) > 500
    for key in map(str, stored):
        keys.check_keys(pa.array([key]), key.split("/")[0])
