"""``python -m docs_site.notebook`` makes the tutorial's notebook from its page, runs it, and keeps its outputs.

Text becomes cells of Markdown, blocks of Python become cells of code; outputs come from running them, so that the page
is the only source. Commands stay text, as a notebook's shell is not the page's. What only a notebook can show is a cell
of it alone, and a comment on the page::

    <!-- in the notebook: query.explain() -->
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import v4

from docs_site.pages import DOCS, find_blocks
from docs_site.running import same_environment

PAGE, NOTEBOOK = DOCS / "tutorial.md", DOCS / "tutorial.ipynb"
_SHOWN = re.compile(r"^<!-- in the notebook: (.+) -->$", re.MULTILINE)


def make_notebook(text: str) -> Any:
    r"""Return the notebook of a page, not run.

    Examples
    --------
    >>> notebook = make_notebook("# Title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nEnd.\n")
    >>> [(cell.cell_type, cell.source) for cell in notebook.cells]
    [('markdown', '# Title'), ('code', 'print(1)'), ('markdown', 'End.')]
    """
    lines = text.splitlines(keepends=True)
    cells: list[Any] = []
    position = 0
    for block in find_blocks(text):
        if block.is_run and block.language == "python":
            cells += _text_cells("".join(lines[position : block.begin]))
            cells.append(v4.new_code_cell(block.code.rstrip()))
            position = block.shown_end or block.end
    cells += _text_cells("".join(lines[position:]))
    cells = [cell for cell in cells if cell.source]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # the same each time
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _text_cells(text: str) -> list[Any]:
    """Return cells of text, and of what the notebook shows in their midst."""
    pieces = _SHOWN.split(text)
    return [
        v4.new_code_cell(piece) if number % 2 else v4.new_markdown_cell(piece.strip())
        for number, piece in enumerate(pieces)
    ]


def run_notebook(notebook: Any, directory: Path) -> None:
    """Run the cells in a kernel of its own, in a directory; an error in one of them is raised."""
    with same_environment():
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(directory)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times


def printed(notebook: Any) -> list[str]:
    """Return what each cell of code printed, and the text of what it ended with."""
    return [
        "".join(output.text if output.output_type == "stream" else output.data["text/plain"] for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


if __name__ == "__main__":
    made = make_notebook(PAGE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        run_notebook(made, Path(folder))
    nbformat.validate(made)
    NOTEBOOK.write_text(nbformat.writes(made), encoding="utf-8")
