"""The lock files: complete, with hashes, and free of the machine that made them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("requirements*.lock")}
LOCK = LOCKS["requirements.lock"]
NPM_LOCK = ROOT / "tests" / "servers" / "package-lock.json"


@pytest.mark.parametrize("name", [f"requirements{which}.lock" for which in ("", "-interop", "-kartothek", "-servers")])
def test_every_requirement_has_hashes(name: str) -> None:
    """Each pinned version is followed by the hash of at least one file."""
    pinned = re.findall(r"^([a-z0-9-]+)==[^\n]+\\\n    --hash=sha256:", LOCKS[name], re.MULTILINE)
    assert len(pinned) > 20
    assert len(pinned) == len(re.findall(r"^[a-z0-9]", LOCKS[name], re.MULTILINE))


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


@pytest.mark.parametrize("name", LOCKS)
def test_no_machine_is_named(name: str) -> None:
    """No registry, address or path of the machine that made it is in it."""
    assert not re.search(r"://|^-|\s/", LOCKS[name], re.MULTILINE)


def test_npm_packages_have_hashes_and_no_address() -> None:
    """Each package is pinned to a version and a hash, and none to a place that it comes from."""
    packages = json.loads(NPM_LOCK.read_text(encoding="utf-8"))["packages"]
    assert packages.pop("")["dependencies"] == {"azurite": packages["node_modules/azurite"]["version"]}
    assert len(packages) > 20
    for package in packages.values():
        assert package["integrity"].startswith("sha512-")
        assert re.fullmatch(r"[0-9][0-9A-Za-z.+-]*", package["version"])
        assert "resolved" not in package
