"""What a look over a whole store has found: for each dataset and cube what is noteworthy, suspicious or broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "suspicious", "broken"]
Verdict = Literal["fine", "suspicious", "broken"]
SubjectKind = Literal["dataset", "cube", "folder"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    severity
        ``note`` where it is well and should be known, ``suspicious`` where answers may not be what was meant or
        something is left over, ``broken`` where something cannot be read or gives wrong answers.
    kind
        What it is: a kind of :class:`~kubothek.Problem`, or one of those that :mod:`kubothek.plan.survey` names.
    key
        The object in the store that has it, where it is one.
    message
        What was found, what follows from it and what to do.
    """

    severity: Severity
    kind: str
    key: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A dataset, a cube, or a folder that belongs to neither, and what was found of it."""

    name: str
    kind: SubjectKind
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of what was found; notes are fine.

        Examples
        --------
        >>> Subject("weather", "dataset", (Finding("note", "several_tables", None, "It has two."),)).verdict
        'fine'
        """
        found = {finding.severity for finding in self.findings}
        return "broken" if "broken" in found else "suspicious" if "suspicious" in found else "fine"


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look over a store has found, by subject: datasets and cubes by name, then folders."""

    store: str
    subjects: tuple[Subject, ...]

    def count(self, verdict: Verdict) -> int:
        """Count the subjects of a verdict."""
        return sum(subject.verdict == verdict for subject in self.subjects)

    @property
    def is_fine(self) -> bool:
        """Whether nothing is suspicious or broken."""
        return self.count("fine") == len(self.subjects)
