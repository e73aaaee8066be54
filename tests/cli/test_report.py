"""``kubothek CUBE report``: the page in a file, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from tests.cli.stored import put_cube, run

URL = "memory://report_command"


@pytest.fixture(scope="module", autouse=True)
def _stored() -> None:
    """Put a cube, which no test changes."""
    put_cube(URL)


def test_a_page_is_written(tmp_path: Path) -> None:
    """The page of the cube is in the file, complete, and the command says where."""
    place = tmp_path / "cube.html"
    done = run(URL, "c", "report", "--output", str(place), "--where", 'i1 == "N1"')
    assert (done.exit_code, done.output) == (0, f"✓ cube c in {place}\n")
    page = place.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "where i1 == &quot;N1&quot;" in page


def test_without_a_name_the_page_has_that_of_the_cube(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies in the working directory; the sign before it is coloured where that is asked for."""
    monkeypatch.chdir(tmp_path)
    done = run(URL, "--color", "always", "c", "report")
    assert (tmp_path / "c.html").is_file()
    assert "\x1b[32m✓" in done.output
    assert click.unstyle(done.output) == "✓ cube c in c.html\n"


def test_a_question_that_does_not_fit_writes_nothing(tmp_path: Path) -> None:
    """An unknown column is told, and what was there stays."""
    place = tmp_path / "cube.html"
    place.write_text("before", encoding="utf-8")
    done = run(URL, "c", "report", "--output", str(place), "--where", "nowhere == 1")
    assert done.exit_code == 1
    assert "nowhere" in done.output
    assert place.read_text(encoding="utf-8") == "before"
