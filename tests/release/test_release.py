"""What is released is the same each time it is built, and complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.release.distributions import build, names, problems


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[Path]]:
    """Build everything, twice."""
    return build(tmp_path_factory.mktemp("first")), build(tmp_path_factory.mktemp("second"))


def test_builds_are_equal(built: tuple[list[Path], list[Path]]) -> None:
    """Wheel and sources have the same names and bytes in two builds."""
    first, second = ({file.name: file.read_bytes() for file in files} for files in built)
    assert len(first) == 2
    assert first == second


def test_nothing_is_missing_or_too_much(built: tuple[list[Path], list[Path]]) -> None:
    """The wheel has the packages, the mark of types and the licence, and no tests; the sources have the tests too."""
    assert problems(built[0]) == []
    assert not any("tests/" in name for name in names(next(file for file in built[0] if file.suffix == ".whl")))


def test_the_wheel_is_a_package(built: tuple[list[Path], list[Path]]) -> None:
    """It can be imported as it is, and its files are those of the source tree."""
    wheel = next(file for file in built[0] if file.suffix == ".whl")
    code = "import kubothek, sys; kubothek.write_dataset; sys.stdout.write(kubothek.__file__)"
    command = [sys.executable, "-W", "error", "-c", code]
    found = subprocess.run(command, check=True, env={"PYTHONPATH": str(wheel)}, capture_output=True, text=True)
    assert found.stdout.startswith(str(wheel))
