"""What all tests share: the unpacked corpus and how hypothesis searches."""

from __future__ import annotations

import gc
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Comparisons that tests share tell what they found, too.
pytest.register_assert_rewrite("tests.appending")

CORPUS = Path(__file__).parent / "corpus" / "kartothek-corpus.tar.xz"

# Times vary on shared machines, so none is a failure; no database, so that a run leaves nothing behind and depends on
# nothing. Where nobody watches, the same examples every time: a change must not fail for what it did not touch.
_COMMON = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("local", max_examples=30, **_COMMON)
settings.register_profile("ci", max_examples=30, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("thorough", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the corpus once per process and return its ``public`` directory; see ``corpus/README.md``."""
    folder = tmp_path_factory.mktemp("corpus")
    with tarfile.open(CORPUS) as archive:
        archive.extractall(folder, filter="data")
    public = folder / "public"
    assert (public / "index.json").is_file(), f"{CORPUS} holds no public/index.json"
    return public


def pytest_sessionfinish() -> None:
    """Show the collector again what tasks that ran in this process have hidden from it; DuckDB counts what is left."""
    gc.unfreeze()
