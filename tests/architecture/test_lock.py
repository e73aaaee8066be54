"""The lock file: complete, with hashes, and free of the machine that made it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_every_requirement_has_hashes() -> None:
    """Each pinned version is followed by the hash of at least one file."""
    pinned = re.findall(r"^([a-z0-9-]+)==[^\n]+\\\n    --hash=sha256:", LOCK, re.MULTILINE)
    assert len(pinned) > 30
    assert len(pinned) == len(re.findall(r"^[a-z0-9]", LOCK, re.MULTILINE))


def test_every_dependency_is_locked() -> None:
    """What pyproject.toml names, in the package, its extras and its groups, is pinned."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    groups = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *settings["dependency-groups"].values(),
    ]
    named = {re.match(r"[A-Za-z0-9._-]+", item)[0] for group in groups for item in group} - {"kubothek"}
    assert named
    assert named <= set(re.findall(r"^([a-z0-9-]+)==", LOCK, re.MULTILINE))


def test_no_machine_is_named() -> None:
    """No registry, address or path of the machine that made it is in it."""
    assert not re.search(r"://|^-|\s/", LOCK, re.MULTILINE)
