"""How wheel and source distribution are built, the same bytes each time, and what must and must not be in them."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

IN_WHEEL = ("kubothek/__init__.py", "kubothek/py.typed", "kubothek/cli/__init__.py", "pyspark_kubothek/__init__.py")
IN_SOURCES = ("LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "Makefile", "pyproject.toml", "requirements.lock")
IN_SOURCES += ("src/kubothek/__init__.py", "tests/conftest.py", "docs/types.md")
ONLY_IN_WHEEL = ("kubothek/", "pyspark_kubothek/", "kubothek-")
NOWHERE = ("__pycache__", ".pyc", ".egg-info", ".venv", "artifacts", "spark-warehouse")


def build(directory: Path) -> list[Path]:
    """Build both into a directory, from what the working directory holds, with the tools that are installed here.

    Times in the archives are those of the last commit, where there is one.
    """
    asked = ["git", "log", "-1", "--format=%ct"]
    epoch = subprocess.run(asked, check=False, cwd=ROOT, capture_output=True, text=True)
    dated = {"SOURCE_DATE_EPOCH": epoch.stdout.strip() or "1577836800"}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(ROOT)]
    subprocess.run(command, check=True, env=dated | dict(os.environ), capture_output=True)
    return sorted(file for file in directory.iterdir() if file.suffix in (".whl", ".gz"))


def problems(files: list[Path]) -> list[str]:
    """Return what is missing in the two distributions, and what should not be there."""
    [sources] = [names(file) for file in files if file.suffix == ".gz"]
    [wheel] = [names(file) for file in files if file.suffix == ".whl"]
    sources = {name.partition("/")[2] for name in sources}
    found = [f"the wheel lacks {name}" for name in IN_WHEEL if name not in wheel]
    found += [f"the wheel has {name}" for name in sorted(wheel) if not name.startswith(ONLY_IN_WHEEL)]
    found += [] if any(name.endswith("/licenses/LICENSE") for name in wheel) else ["the wheel lacks its licence"]
    found += [f"the sources lack {name}" for name in IN_SOURCES if name not in sources]
    return found + [f"{name} was left behind" for name in sorted(wheel | sources) if any(x in name for x in NOWHERE)]


def names(file: Path) -> set[str]:
    """Return the files in an archive."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            return {name for name in archive.namelist() if not name.endswith("/")}
    with tarfile.open(file) as archive:
        return {member.name for member in archive.getmembers() if member.isfile()}


def try_wheel(wheel: Path, environment: Path) -> None:
    """Install the wheel with what it needs into a new environment, and use it there."""
    uv = [sys.executable, "-m", "uv"]
    python = environment / "bin" / "python"
    write = "kb.write_dataset(pa.table({'x': [1]}), 'u', 'memory://x').scan().to_arrow()"
    use = f"import pyarrow as pa, kubothek as kb; assert {write}.num_rows == 1"
    for command in (
        [*uv, "venv", "--quiet", "--python", sys.executable, str(environment)],
        [*uv, "pip", "install", "--quiet", "--python", str(python), str(wheel)],
        [str(python), "-I", "-W", "error", "-c", use],
        [str(environment / "bin" / "kubothek"), "--version"],
    ):
        subprocess.run(command, check=True, cwd=environment.parent)
