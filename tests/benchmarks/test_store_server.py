from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.store_server import BUCKET, Far

from kubothek import Store


@contextmanager
def served(folder: Path, seconds: float = 0.0) -> Iterator[Far]:
    """Serve a folder from a thread."""
    with Far(folder, seconds) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def store_at(server: Far, prefix: str = "") -> Store:
    """Open the bucket, as any client of S3 does."""
    options: dict[str, Any] = {"region": "us-east-1", "access_key_id": "a", "secret_access_key": "s"}
    where = f"http://127.0.0.1:{server.server_port}"
    return Store(f"s3://{BUCKET}/{prefix}", endpoint=where, client_options={"allow_http": True}, **options)


def used(server: Far) -> dict[str, int]:
    """Ask what was asked."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/-/used", timeout=10) as answer:
        return dict(json.loads(answer.read()))


def fill(folder: Path, *names: str) -> None:
    """Put objects into the bucket whose bytes are digits."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"0123456789")


def test_objects_come_whole_and_by_ranges(tmp_path: Path) -> None:
    """A client reads an object, a part of it, and is told what is missing."""
    fill(tmp_path, "d/a b=1.txt")
    with served(tmp_path) as server:
        store = store_at(server)
        assert bytes(store.get("d/a b=1.txt").data) == b"0123456789"
        assert bytes(store.get_range("d/a b=1.txt", 2, 3)) == b"234"
        with pytest.raises(KeyError):
            store.get("d/other")


def test_listings_have_pages(tmp_path: Path) -> None:
    """A client lists more objects than one answer holds."""
    names = [f"d/{number:04}" for number in range(1100)]
    fill(tmp_path, *names, "other")
    with served(tmp_path) as server:
        first = f"http://127.0.0.1:{server.server_port}/{BUCKET}?list-type=2&prefix=d/"
        with urllib.request.urlopen(first, timeout=10) as answer:
            assert answer.read().count(b"<Contents>") == 1000
        assert sorted(one.key for one in store_at(server).list("d/")) == names


def test_requests_are_counted(tmp_path: Path) -> None:
    """Requests that follow one another are as many round trips; those at once are one."""
    fill(tmp_path, "a", "b")
    with served(tmp_path, 0.05) as server:
        store = store_at(server)
        for _ in range(3):
            store.get("a")
        assert used(server) == {"requests": 3, "bytes": 30, "round_trips": 3}
        both = [threading.Thread(target=store.get, args=(name,)) for name in ("a", "b")]
        for one in both:
            one.start()
        for one in both:
            one.join()
        assert used(server) == {"requests": 2, "bytes": 20, "round_trips": 1}
