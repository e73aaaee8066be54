"""``kubothek migrate check``: what of an existing store is fine, suspicious or broken."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kubothek.cli.commands import Commands
from kubothek.cli.invocation import Invocation
from kubothek.cli.layout import Trimmed
from kubothek.cli.options import json_option
from kubothek.cli.terminal import open_console, print_json, waiting
from kubothek.cube.survey import survey_store
from kubothek.model.display import plural, printable
from kubothek.model.survey import Finding, Subject, Survey

_MARKS = {"fine": ("✓ ", "green"), "suspicious": ("! ", "yellow"), "broken": ("✗ ", "red"), "note": ("· ", "dim")}


@click.group(cls=Commands)
def migrate() -> None:
    """Look over what other software has written."""


@migrate.command()
@click.argument("name", required=False)
@click.option("--no-files", is_flag=True, help="Look into no file: only headers, schemas and listings are read.")
@json_option
@click.pass_obj
@click.pass_context
def check(ctx: click.Context, invocation: Invocation, name: str | None, no_files: bool, as_json: bool) -> None:
    """Say of each dataset and cube whether it is fine, suspicious or broken, and what to do.

    NAME is a dataset or a cube; without it the whole store is looked over. Nothing is changed. The exit code is 1 when
    anything is suspicious or broken.
    """
    store = invocation.open_store()
    with waiting(f"checking {name or store.url}"):
        survey = survey_store(store, name, files=not no_files)
    if as_json:
        print_json(_facts(survey))
    else:
        console = open_console(invocation)
        for subject in survey.subjects:
            _show(console, subject)
        console.print(Text(_summary(survey), style="bold"))
    if not survey.is_fine:
        ctx.exit(1)


def _facts(survey: Survey) -> dict[str, object]:
    subjects = [{**asdict(subject), "verdict": subject.verdict} for subject in survey.subjects]
    return {"store": survey.store, "fine": survey.is_fine, "subjects": subjects}


def _show(console: Console, subject: Subject) -> None:
    kind = "" if subject.kind == "dataset" else f"{subject.kind} "
    heading = Text.assemble(_MARKS[subject.verdict], f"{kind}", (printable(subject.name), "bold"))
    console.print(heading, soft_wrap=True)
    for finding in subject.findings:
        _show_finding(console, subject, finding)


def _show_finding(console: Console, subject: Subject, finding: Finding) -> None:
    place = "" if finding.key is None or finding.key == f"{subject.name}/" else f"  {printable(finding.key)}"
    said = Text.assemble("  ", _MARKS[finding.severity], f"{finding.severity}: {finding.kind.replace('_', ' ')}{place}")
    console.print(said, soft_wrap=True)
    console.print(Trimmed(Padding(Text(printable(finding.message)), (0, 0, 0, 6), expand=False)))


def _summary(survey: Survey) -> str:
    counts = [f"{survey.count(verdict):,} {verdict}" for verdict in ("fine", "suspicious", "broken")]
    kinds = {kind: sum(one.kind == kind for one in survey.subjects) for kind in ("dataset", "cube", "folder")}
    seen = ", ".join(plural(count, kind) for kind, count in kinds.items() if count) or "nothing"
    return f"{seen} in {printable(survey.store)}: {', '.join(counts)}"
