"""Every store under one suite: a directory, memory, and the remote store over obstore's own memory and local stores."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import obstore.store
import pytest

from kubothek.store.interface import Store
from kubothek.store.remote import RemoteStore
from kubothek.testing.stores import WrappedStore


def local(folder: Path) -> Store:
    """Make a remote store over files, as obstore keeps them."""
    return RemoteStore("s3://bucket/local", backend=obstore.store.LocalStore(folder, mkdir=True))


SWAPPING: dict[str, Callable[[Path], Store]] = {
    "directory": lambda folder: Store(folder / "root"),
    "memory": lambda _: Store(f"memory://{uuid.uuid4()}"),
    "remote": lambda _: RemoteStore("s3://bucket/prefix", backend=obstore.store.MemoryStore()),
    "wrapped": lambda _: WrappedStore(f"memory://{uuid.uuid4()}"),
}
ALL = {**SWAPPING, "remote over files": lambda folder: local(folder / "root")}


@pytest.fixture(params=ALL)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Give an empty store of each kind."""
    return ALL[request.param](tmp_path)


@pytest.fixture(params=SWAPPING)
def swapping_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Give an empty store of each kind that can swap."""
    return SWAPPING[request.param](tmp_path)
