"""``python -m tests.versions [NAME]… [-- TEST…]``: makes environments with other versions, and runs tests in them.

::

    oldest    the lowest versions that pyproject.toml allows, on Python 3.11, with Spark
    3.12      the newest versions that there are, on Python 3.12, with Spark
    3.13      the newest versions that there are, on Python 3.13

They lie in ``.versions/`` and are kept for the next time; delete a folder to have the newest versions of the day. What
is run is ``tests/versions``, and ``tests/spark/test_smoke.py`` where Spark is, or what is given. A Python that this
machine does not have is left out, which is said; at least one must be there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UV = [sys.executable, "-m", "uv"]
NOT_UNDER_TEST = ["duckdb>=1", "hypothesis>=6.100", "pytest>=8.3", "pytest-xdist>=3.6"]


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python, and which versions of what we use."""

    name: str
    python: str
    extras: str
    resolution: str


ENVIRONMENTS = (
    Environment("oldest", "3.11", "java,pandas,polars,spark", "lowest-direct"),
    Environment("3.12", "3.12", "java,pandas,polars,spark", "highest"),
    Environment("3.13", "3.13", "pandas,polars", "highest"),
)


def main(arguments: list[str]) -> int:
    """Run the tests in the environments that are named, or in all."""
    names = arguments[: arguments.index("--")] if "--" in arguments else arguments
    tests = arguments[len(names) + 1 :]
    wanted = [one for one in ENVIRONMENTS if one.name in names or not names]
    found = {one: python for one in wanted if (python := find_python(one.python)) is not None}
    for one in wanted:
        if one not in found:
            say(f"{one.name}: left out, as there is no Python {one.python} on this machine")
    failed = [one.name for one, python in found.items() if not run(one, python, tests)]
    say(f"{len(found)} environments, {', '.join(failed) or 'none'} failed")
    return 1 if failed or not found else 0


def find_python(version: str) -> str | None:
    """Return a Python of this version: this one, one of the path, or one of pyenv's."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    prefix = _output(["pyenv", "prefix", version]) if shutil.which("pyenv") else ""
    for candidate in (f"python{version}", f"{prefix}/bin/python{version}"):
        if shutil.which(candidate) and _output([candidate, "-c", "import venv; print('ok')"]) == "ok":
            return shutil.which(candidate)
    return None


def run(one: Environment, python: str, tests: list[str]) -> bool:
    """Make an environment where there is none, say what is in it, and run the tests."""
    place = ROOT / ".versions" / one.name
    inside = str(place / "bin" / "python")
    stamp = place / ".installed"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        subprocess.run([*UV, "venv", "--quiet", "--clear", "--python", python, str(place)], check=True)
        install = [*UV, "pip", "install", "--quiet", "--python", inside]
        ours = [f"--resolution={one.resolution}", "--editable", f".[{one.extras}]"]
        subprocess.run([*install, *ours], check=True, cwd=ROOT)
        subprocess.run([*install, *NOT_UNDER_TEST], check=True, cwd=ROOT)
        stamp.touch()
    versions = _output([*UV, "pip", "freeze", "--python", inside]).split()
    say(f"{one.name}: {' '.join(said for said in versions if '==' in said)}")
    chosen = tests or ["tests/versions", *(["tests/spark/test_smoke.py"] if "spark" in one.extras else [])]
    done = subprocess.run([inside, "-m", "pytest", "-p", "no:cacheprovider", *chosen], check=False, cwd=ROOT)
    return done.returncode == 0


def say(text: str) -> None:
    """Tell people what goes on, before what others print."""
    sys.stdout.write(f"== {text}\n")
    sys.stdout.flush()


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
