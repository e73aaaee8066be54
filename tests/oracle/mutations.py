"""How sequences of changes to a cube are carried out: which cube and store each step is about, and what it gives.

A step works on what the one before it left. After a copy, that is the copy, under its new names; after one that
Kartothek refuses, it is still the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from tests.oracle.corpus_values import CaseSet
from tests.oracle.queries import ask_query, compare_groups, cube_of
from tests.oracle.verdicts import Case, Verdict, judge
from tests.oracle.writes import CUBE_WRITES, Step, compare_shapes, copied_store, empty_store

import kubothek as kb
from kubothek.cube.members import find_members

LOOK = "look at the datasets"
"""What is done after each step that may change something."""


class Mutation:
    """A cube that is changed step by step, on a copy of its store."""

    def __init__(self, given: CaseSet) -> None:
        self.given, self.cube, self.store = given, cube_of(given.cases["cube"]), copied_store(given.store)
        self.is_stored = True

    def act(self, step: Step) -> Any:
        """Carry out a step and return what it gives, if anything."""
        op = step["op"]
        if op == "query_cube":
            return ask_query(self.cube, self.store)(step)
        if op == "collect_stats":
            return kb.collect_stats(self.cube, self.store, datasets=step.get("datasets"))
        if op == LOOK:
            return {one: kb.Dataset(found) for one, found in find_members(self.cube.uuid_prefix, self.store).items()}
        if op == "delete_cube":
            return kb.delete_cube(self.cube, self.store, datasets=step.get("datasets"))
        if op == "cleanup_cube":
            return kb.cleanup_cube(self.cube, self.store, older_than=timedelta(0), keep=1)
        if op == "copy_cube":
            return self._copy(step)
        self.is_stored = self.is_stored and op != "append_to_cube"
        return CUBE_WRITES[op](self.given, step, self.cube, self.store)

    def _copy(self, step: Step) -> None:
        names, target = step.get("renamed_datasets", {}), empty_store()
        prefix = step.get("renamed_cube_prefix", self.cube.uuid_prefix)
        kb.copy_cube(
            self.cube,
            self.store,
            to_store=target,
            datasets=step.get("datasets"),
            renamed_cube_prefix=step.get("renamed_cube_prefix"),
            renamed_datasets=step.get("renamed_datasets"),
        )
        if not step["expect"].get("error"):
            seed = names.get(self.cube.seed_dataset, self.cube.seed_dataset)
            self.cube, self.store = self.cube.copy(uuid_prefix=prefix, seed_dataset=seed), target

    def compare(self, step: Case, expected: Mapping[str, Any], answer: Any) -> str | None:
        """Say how what a step gives differs from what Kartothek gave."""
        if step["op"] == "query_cube":
            return compare_groups(self.given, self.cube)(step, expected, answer)
        if step["op"] == "collect_stats":
            return _compare_stats(expected["stats"], answer, with_bytes=self.is_stored)
        return _compare_datasets(step, expected, answer) if step["op"] == LOOK else None


def run_sequence(given: CaseSet, case: Case) -> list[Verdict]:
    """Run the steps of one sequence, each followed by a look at what it left."""
    mutation = Mutation(given)
    return judge("mutation", given.folder.name, _steps(case), mutation.act, mutation.compare)


def _steps(case: Case) -> list[Case]:
    steps: list[Case] = []
    for number, step in enumerate(case["steps"]):
        steps.append({"id": f"{case['id']}.{number}", **step})
        if "datasets_after" in step["expect"]:
            steps.append({"id": f"{case['id']}.{number} left", "op": LOOK, "expect": step["expect"]["datasets_after"]})
    return steps


def _compare_datasets(step: Case, expected: Mapping[str, Any], answer: Mapping[str, kb.Dataset]) -> str | None:
    wanted, found = ({one: self["uuid"] for one, self in expected.items()}, {one: d.uuid for one, d in answer.items()})
    return f"datasets {wanted} expected, {found} found" if wanted != found else compare_shapes(step, expected, answer)


def _compare_stats(
    expected: Mapping[str, Any], answer: Mapping[str, kb.DatasetStats], *, with_bytes: bool
) -> str | None:
    """Compare statistics; bytes are known of files that Kartothek wrote."""
    names: Sequence[tuple[str, str]] = [(name, name) for name in ("partitions", "files", "rows")]
    names = [*names, ("blobsize", "bytes")] if with_bytes else names
    wanted = {one: {name: stats[name] for name, _ in names} for one, stats in expected.items()}
    found = {one: {name: getattr(stats, ours) for name, ours in names} for one, stats in answer.items()}
    return None if wanted == found else f"{wanted} expected, {found} found"
