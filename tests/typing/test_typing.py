"""What a user's type checker makes of the public list: right calls are right, and wrong ones are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_FOUND = re.compile(r"^.*?:(\d+): (?:error: .*\[(?P<error>[a-z-]+)\]|note: Revealed type is \"(?P<type>.*)\")$")
_EXPECTED = re.compile(r"  # (error: )?(\S.*)$")


@pytest.fixture(scope="module")
def said() -> dict[str, dict[int, str]]:
    """Check all files at once; return what was said, by file and line."""
    output, problems, _ = api.run([f"--config-file={ROOT / 'pyproject.toml'}", *map(str, HERE.glob("[!t]*.py"))])
    found: dict[str, dict[int, str]] = {"accepted": {}, "refused": {}}
    for match in filter(None, map(_FOUND.match, output.splitlines())):
        stem = Path(match[0].partition(":")[0]).stem
        if stem in found:  # what is wrong elsewhere, `make types` says
            found[stem][int(match[1])] = match["error"] or match["type"]
    assert not problems
    return found


@pytest.mark.parametrize("name", ["accepted", "refused"])
def test_the_checker_says_what_is_written_beside(name: str, said: dict[str, dict[int, str]]) -> None:
    """Every line with a remark has it, and no other line has one."""
    lines = (HERE / f"{name}.py").read_text(encoding="utf-8").splitlines()
    remarks = {n: match[2] for n, line in enumerate(lines, 1) if (match := _EXPECTED.search(line))}
    assert len(remarks) > 10
    assert said[name] == remarks
