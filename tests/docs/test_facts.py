"""What pages tell of the code is what the code is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import nbformat
import pytest
from docs_site import notebook, pictures
from docs_site.pages import DOCS, ROOT, without_chance
from tests.architecture.test_layers import MAY_IMPORT

import kubothek
import kubothek.spark
from kubothek import errors
from kubothek.testing import stores


def page(name: str) -> str:
    """Read a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def documented() -> list[str]:
    """Return what the pages of the reference take from docstrings."""
    return re.findall(r"^::: ([\w.]+)$", "".join(p.read_text() for p in (DOCS / "reference").glob("*.md")), re.M)


def test_the_reference_has_every_public_name_once() -> None:
    """All of the public lists, and the doubles for tests, are in the reference."""
    public = {f"kubothek.{name}" for name in kubothek.__all__}
    doubles = {f"kubothek.testing.stores.{one}" for one in vars(stores) if one.endswith("Store") and one != "Store"}
    assert public | doubles <= set(documented())
    assert {path.split(".")[-1] for path in documented() if ".spark." in path} == set(kubothek.spark.__all__)
    assert len(documented()) == len(set(documented()))


def test_the_page_about_errors_has_the_tree() -> None:
    """Every error is in the table, and in the tree with its parent and the built-in that it derives from."""
    kinds = {n: k for n, k in vars(errors).items() if inspect.isclass(k) and issubclass(k, errors.KubothekError)}
    tree = re.findall(r"^([│ ]*)[├└]── (\w+) *(.*)$", page("reference/errors.md"), re.M)
    assert {name for _, name, _ in tree} == set(kinds) - {"KubothekError"}
    above = errors.KubothekError
    for indent, name, builtins in tree:
        bases = {base.__name__ for base in kinds[name].__bases__}
        assert bases == {above.__name__ if indent else "KubothekError", *builtins.split()}
        above = above if indent else kinds[name]
    told = re.findall(r"^\| `(\w+Error)` \|", page("reference/errors.md"), re.M)
    assert told == [name for _, name, _ in tree]


def test_the_architecture_has_the_layers() -> None:
    """The table of imports is the one that is tested."""
    rows = dict(re.findall(r"^\| `(\w+)` \| (`.*`) \|$", page("architecture.md"), re.M))
    told = {layer: set(re.findall(r"\w+", below)) for layer, below in rows.items()}
    facades = {layer for layer, known in MAY_IMPORT.items() if layer == "facade" or "facade" in known}
    assert told == {layer: known for layer, known in MAY_IMPORT.items() if known and layer not in facades}


def test_paths_that_pages_name_exist() -> None:
    """Modules and tests that the architecture and the guarantees name are there."""
    path = re.compile(r"`((?:kubothek|tests|docs|docs_site|benchmarks|examples)(?:/[\w./]+)?)`")
    named = {*path.findall(page("architecture.md")), *path.findall(page("guarantees.md"))}
    assert len(named) > 50
    assert [path for path in sorted(named) if not any((root / path).exists() for root in (ROOT, ROOT / "src"))] == []


def test_the_index_of_decisions_is_whole() -> None:
    """Each decision is in the index, once, in order."""
    listed = re.findall(r"^\| \[\d+\]\((.+?)\)", page("decisions/README.md"), re.M)
    assert listed == sorted(path.name for path in (DOCS / "decisions").glob("0*.md"))
    assert listed


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_are_as_drawn(name: str) -> None:
    """Each picture is what its function draws, and some page shows it."""
    assert (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == pictures.PICTURES[name]()
    assert any(f"pictures/{name}.svg" in text.read_text(encoding="utf-8") for text in DOCS.rglob("*.md"))


def test_the_notebook_is_the_tutorial_and_runs(tmp_path: Path) -> None:
    """The notebook has the page's cells, and running them prints what it shows."""
    kept = nbformat.read(notebook.NOTEBOOK, as_version=4)
    made = notebook.make_notebook(notebook.PAGE.read_text(encoding="utf-8"))
    assert [(cell.cell_type, cell.source) for cell in kept.cells] == [(c.cell_type, c.source) for c in made.cells]
    notebook.run_notebook(made, tmp_path)
    assert [*map(without_chance, notebook.printed(made))] == [*map(without_chance, notebook.printed(kept))]
