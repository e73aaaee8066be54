"""The prompt of ``kubothek CUBE query``: what each kind of line does, from a pipe and from a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.test_cube_query import SEED, run

import kubothek as kb
from kubothek.cli.cube.line_editing import completion
from kubothek.cli.cube.question import parse_names


def say(*lines: str) -> Result:
    """Write lines into the prompt."""
    return run(input="".join(f"{line}\n" for line in lines))


def xs(result: Result) -> list[list[int]]:
    """Return the values of x of each table that was shown, as it comes first there."""
    tables = result.stdout.split("──\n")[1:]
    return [[int(line.split()[0]) for line in table.split("\n\n")[0].splitlines()] for table in tables]


ANSWERS: dict[str, tuple[list[str], list[list[int]]]] = {
    "a condition": (["v1 < 0"], [[2]]),
    "an empty line asks for all": ([""], [[1, 2, 3, 4]]),
    "each condition is a question of its own": (["v1 < 0", "v1 > 3"], [[2], [1, 4]]),
    "columns are kept for the next condition": (["i1, v1", "v1 < 0"], [[1, 2, 3, 4], [2]]),
    "all columns again": (["v1 < 0", "v1", "*", "__all__"], [[2]] * 4),
    "a limit": (["limit 1", "x > 1", "limit *"], [[1], [2], [2, 3, 4]]),
    "datasets": (["datasets seed", "datasets *"], [[1, 2, 3, 4]] * 2),
    "dimensions": (["columns x", "dimensions x"], [[1, 2, 3, 4]] * 2),
    "a mistake changes nothing": (["v1 < 0", "v1 <", "zz == 1", "columns zz", "columns v1"], [[2], [2]]),
    "leaving": (["v1 < 0", "quit", "v1 > 3"], [[2]]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_lines_are_answered(name: str) -> None:
    """A line changes a part of the question, and its answer is shown."""
    lines, places = ANSWERS[name]
    result = say(*lines)
    assert (result.exit_code, xs(result)) == (0, places)


def test_no_rows() -> None:
    """An empty answer says so, and shows no table."""
    assert say("x > 99").stdout == "no rows\n"


def test_groups_come_first() -> None:
    """Rows are grouped by a column, which is then the first."""
    assert [line.split()[0] for line in say("by i1").stdout.splitlines()[3:6]] == ["[b]", "a", "a"]


def test_mistakes_are_told_and_the_prompt_goes_on() -> None:
    """Each message goes to standard error."""
    result = say("v1 <", "limit many", "save rows.xlsx", "save", "by v1", "x == 1")
    assert (result.exit_code, result.stderr.count("Error: "), xs(result)) == (0, 5, [[1]])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("help", ["CONDITION", "save FILE", "Ctrl-D"]),
        ("columns", ["größe, in m  string", "v2           double"]),
        ("datasets", ["other", "seed"]),
        ("explain", ["cube c", "other", "left"]),
        ("explain v2 > 0", ["v2 > 0", "inner"]),
    ],
)
def test_commands_tell(line: str, told: list[str]) -> None:
    """What can be written, what there is, and what would be read."""
    assert [text for text in told if text not in say(line).stdout] == []


def test_rows_are_saved(tmp_path: Path) -> None:
    """The rows of the last question go to a file."""
    place = tmp_path / "rows.csv"
    assert say("v1 < 0", "columns v1", f"save {place}").stdout.endswith(f"✓ 1 row in {place}\n")
    assert place.read_text() == '"p","v1","x"\n1,-2,2\n'


def test_columns_may_be_named_as_commands() -> None:
    """What an operator follows is a condition."""
    url = "memory://prompt_names"
    kb.build_cube(SEED.rename_columns(["x", "p", "by", "limit"]), kb.Cube("c", "x", "p"), url)
    assert xs(run(url=url, input="limit == 4\nby is null\nby, limit\n")) == [[4], [3], [3]]


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ()), (" a , b ", ("a", "b")), ("`a,b`, c d", ("a,b", "c d")), ("`a``b`", ("a`b",))],
)
def test_lists_of_names(text: str, names: tuple[str, ...]) -> None:
    """Names stand between commas; odd ones are quoted."""
    assert parse_names(text) == names


def test_names_are_completed() -> None:
    """In any case, also where the backtick is missing, and no further than there are names."""
    words = ["TEMP", "`wind speed`", "WIND"]
    assert [completion(words, "w", number) for number in range(3)] == ["`wind speed`", "WIND", None]
