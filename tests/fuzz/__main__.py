"""Fuzz the parsers: ``python -m tests.fuzz --minutes 10 --target header_json --folder <where findings go>``.

One target after the other, each in a process with bounded memory that is started again when an input has killed it.
What was found, and how far it went, is in ``summary.txt`` of the folder.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz the targets that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="one, or several; all by default")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"), help="for findings and the summary")
    asked = parser.parse_args()
    if find_spec("atheris") is None:
        parser.error("this needs atheris, of the dependency group 'fuzz', which there is for Linux on x86-64 only")
    lines = []
    for name in asked.target or TARGETS:
        lines.append(_fuzz(name, asked.folder / name, asked.minutes * 60))
        (asked.folder / "summary.txt").write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


def _fuzz(name: str, folder: Path, seconds: float) -> str:
    """Fuzz one target; return a line about it."""
    folder.mkdir(parents=True, exist_ok=True)
    ends, total, deaths, runs = time.monotonic() + seconds, {"executions": 0, "accepted": 0}, 0, 0
    slowest = peak = base = coverage = 0.0
    while (left := int(ends - time.monotonic())) > 0:
        runs += 1
        (folder / "status.json").unlink(missing_ok=True)
        with (folder / "log.txt").open("ab") as log:
            command = [sys.executable, "-m", "tests.fuzz.child", name, str(folder), str(left), str(runs)]
            code = subprocess.run(command, stderr=log, stdout=log, check=False).returncode
        status = json.loads(_read(folder / "status.json") or "{}")
        total = {count: total[count] + status.get(count, 0) for count in total}
        slowest, peak = max(slowest, status.get("slowest", 0)), max(peak, status.get("peak", 0))
        base = status.get("base", base)
        if code:
            deaths += 1
            last = (folder / "last").read_bytes() if (folder / "last").exists() else bytes(8)
            (folder / f"death-{deaths}-{code}.input").write_bytes(last[8 : 8 + int.from_bytes(last[:8], "big")])
            if "executions" not in status and runs > 20:
                break
    found = re.findall(r"cov: (\d+) ft: (\d+)", _read(folder / "log.txt"))
    coverage, features = found[-1] if found else (0, 0)
    findings = sorted(path.stem for path in folder.glob("*.input"))
    return (
        f"{name}: {total['executions']:,} inputs, {total['accepted']:,} accepted, {coverage} edges and {features} "
        f"features seen, slowest {slowest:.2f} s, peak {peak:.0f} MiB (idle {base:.0f}), {deaths} deaths; "
        f"findings: {', '.join(findings) or 'none'}"
    )


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


if __name__ == "__main__":
    main()
