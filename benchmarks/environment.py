"""What figures depend on: the machine and what else it does, versions, the commit, and how they were asked for."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.data import Size

PACKAGES = ("pyspark", "pyarrow", "polars", "duckdb", "deltalake", "pyiceberg")
ELSEWHERE = {"plateau": ".interop-venv", "kartothek": ".kartothek-venv"}
"""Packages that run in environments of their own."""
_ROOT = Path(__file__).parents[1]


def facts(size: Size, command: str, rounds: int, spark: str) -> dict[str, str]:
    """Return them as they are now, by name; each work has its own, as it may be measured on another day."""
    return {
        "measured": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load at its start": f"{os.getloadavg()[0]:.2f}",
        "rounds": str(rounds),
        "command": command,
        "commit": commit(),
        "size": ", ".join(f"{name} {_numbers(value)}" for name, value in asdict(size).items() if name != "rounds"),
        "Spark": spark,
        "machine": machine(),
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }


def commit() -> str:
    """Return the commit of the code, and whether it was changed since."""
    git = shutil.which("git")
    if git is None or not (_ROOT / ".git").exists():
        return "unknown"
    head = _told([git, "rev-parse", "--short", "HEAD"])
    changed = _told([git, "status", "--porcelain", "--", "src", "benchmarks/*.py", "benchmarks/works/*.py"])
    return head + (", changed since" if changed else "")


def machine() -> str:
    """Return what it is, its cores and its memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = platform.machine()
    about = Path("/proc/cpuinfo")
    if about.exists() and (name := re.search(r"^model name\s*:\s*(.+)$", about.read_text("utf-8"), re.MULTILINE)):
        processor = f"{name[1]} ({processor})"
    return f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB of memory, {platform.system()}"


def versions() -> dict[str, str]:
    """Return those of Python and of what is measured with and against; what is not installed is missing."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    for package, environment in ELSEWHERE.items():
        installed = sorted((_ROOT / environment).glob(f"lib/python*/site-packages/{package}*-*.dist-info"))
        found[package.capitalize()] = installed[0].name.split("-")[1].removesuffix(".dist") if installed else "missing"
    return found


def _numbers(value: Any) -> str:
    return " and ".join(map(_numbers, value)) if isinstance(value, tuple) else f"{value:,}"


def _told(command: list[str]) -> str:
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)  # noqa: S603  git
    return done.stdout.strip()
