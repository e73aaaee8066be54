"""Which blocks of code a page has, which of them are run, and what each is to print.

A block of ``python`` is run, and prints the block of ``text`` right below it, or nothing. A block of ``console`` is run
line by line: each line that begins with ``$`` is a command, and what follows it its output. Every other block but
``text`` (an output, or a drawing) is not run and says why, in a comment right above it::

    <!-- not run: needs a cluster -->

A page of which nothing is run says so once: ``<!-- nothing here is run: … -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages outside of docs/ that are pages of the site, too; each with its place there.
OUTSIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/pipeline/README.md": "pipeline.md",
}
RUN = ("python", "console")
_NOT_RUN = re.compile(r"\s*<!-- not run: (.+?) -->\s*")
_NOTHING_RUN = re.compile(r"^<!-- nothing here is run: (.+?) -->$", re.MULTILINE)
# Of two runs, machines, or versions of Parquet's writer, these differ; the flights are of 2013.
_DIFFERS = (
    (re.compile(r"[ ~]*\b[\d.,]+ [kMG]?B\b *"), " SIZE "),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\b20[2-9]\d-\d\d-\d\d[ T]\d\d(:|%3A)\d\d((:|%3A)\d\d(\.\d+)?)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b[\d.]+ (µs|ms|s)\b"), "SECONDS"),
    # As many as there are cores.
    (re.compile(r"\d+ tasks? on Spark( with \d+ cores?)?"), "TASKS"),
    # They stand in columns, which are as wide as they.
    (re.compile(r"─+"), "─"),
    (re.compile(r" +"), " "),
    (re.compile(r" $", re.MULTILINE), ""),
)


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code: lines ``begin`` to ``end`` of its page, counted from 0, fences included."""

    language: str
    code: str
    begin: int
    end: int
    not_run: str | None = None
    shown: str | None = None
    shown_end: int | None = None

    @property
    def is_run(self) -> bool:
        """Whether it is code that is run."""
        return self.language in RUN and self.not_run is None


def all_pages() -> tuple[Path, ...]:
    """Return every page of the documentation."""
    return (*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in OUTSIDE))


def needs_spark(text: str) -> bool:
    r"""Tell whether a page can only be run with Spark.

    Examples
    --------
    >>> needs_spark("```python\nspark = local_session()\n```"), needs_spark("`local_session` starts Spark.")
    (True, False)
    """
    return any(block.is_run and "local_session(" in block.code for block in find_blocks(text))


def find_blocks(text: str) -> tuple[Block, ...]:
    r"""Find the blocks of code of a page, in order; outputs belong to the code above them.

    Examples
    --------
    >>> [python] = find_blocks("```python\nprint(1)\n```\n\n```text\n1\n```")
    >>> python.code, python.shown
    ('print(1)\n', '1\n')
    """
    everywhere = _NOTHING_RUN.search(text)
    tokens = MarkdownIt("commonmark").parse(text)
    found: list[Block] = []
    outputs: set[int] = set()
    for position, token in enumerate(tokens):
        if token.type not in ("fence", "code_block") or position in outputs:
            continue
        following = _output(tokens[position + 1 : position + 2]) if token.info == "python" else None
        if following is not None:
            outputs.add(position + 1)
        reason = everywhere or (_NOT_RUN.fullmatch(tokens[position - 1].content) if position else None)
        found.append(_block(token, reason[1] if reason else None, following))
    return tuple(found)


def without_chance(text: str) -> str:
    """Replace what differs from run to run: sizes of files, ids, times.

    Examples
    --------
    >>> without_chance("3 files, 1.3 kB, in 0.2 s at 2026-01-01 12:00 "), without_chance("  1 file  32.1 MB  2 rows")
    ('3 files, SIZE , in SECONDS at TIME', '1 file SIZE 2 rows')
    """
    for pattern, replacement in _DIFFERS:
        text = pattern.sub(replacement, text)
    return text.strip()


def replace_lines(text: str, replacements: Iterable[tuple[int, int, str]]) -> str:
    r"""Return a text in which ranges of lines (begin, end, instead) are replaced.

    Examples
    --------
    >>> replace_lines("a\nb\nc\n", [(0, 1, "x\n"), (2, 2, "y\n")])
    'x\nb\ny\nc\n'
    """
    lines = text.splitlines(keepends=True)
    for begin, end, instead in sorted(replacements, reverse=True):
        lines[begin:end] = [instead]
    return "".join(lines)


def _output(following: Sequence[Token]) -> Token | None:
    return next((token for token in following if token.type == "fence" and token.info == "text"), None)


def _block(token: Token, reason: str | None, output: Token | None) -> Block:
    begin, end = token.map or (0, 0)
    shown = (output.content, (output.map or (0, 0))[1]) if output else (None, None)
    return Block(token.info.strip(), token.content, begin, end, reason, *shown)
