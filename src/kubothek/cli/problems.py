"""Problems that a check has found, as a terminal and a program are told of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kubothek.cli.layout import Trimmed
from kubothek.cli.terminal import done
from kubothek.model.display import plural, printable
from kubothek.model.problem import Problem


def problem_facts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return problems for JSON."""
    return [asdict(problem) for problem in problems]


def show_problems(console: Console, subject: str, problems: Sequence[Problem]) -> None:
    """Show problems of a dataset or cube, and how many they are."""
    for problem in problems:
        mark = ("✓ repaired ", "green") if problem.repaired else ("✗ ", "red")
        place = problem.key if problem.key is not None else "" if problem.subject == subject else problem.subject
        console.print(
            Text.assemble(mark, (problem.kind.replace("_", " "), "bold"), f"  {printable(place)}".rstrip()),
            soft_wrap=True,
        )
        console.print(Trimmed(Padding(Text(printable(problem.message)), (0, 0, 1, 2), expand=False)))
    repaired = sum(problem.repaired for problem in problems)
    if not problems:
        done(console, f"no problems in {subject}")
    elif repaired == len(problems):
        done(console, f"{plural(repaired, 'problem')} of {subject} repaired")
    else:
        more = f", {repaired:,} repaired" if repaired else ""
        console.print(Text(f"{plural(len(problems), 'problem')} in {subject}{more}", style="bold"))
