"""The prompt of a cube: a line is a condition, a list of columns, or a command; the answer is a table.

What is asked is one :class:`~kubothek.cli.cube.question.Question`, of which each line changes a part. A mistake is
told and changes nothing. Lines come from a terminal, where they can be edited and names completed, or from a pipe.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import click

from kubothek.cli.cube.formats import WRITERS, format_of, new_file
from kubothek.cli.cube.line_editing import line_editing
from kubothek.cli.cube.preview import show_rows
from kubothek.cli.cube.question import Question, ask, parse_names
from kubothek.cli.cube.rows import read_rows
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.layout import block
from kubothek.cli.terminal import done, open_console
from kubothek.errors import KubothekError
from kubothek.model.display import plural

_ALL = ("*", "__all__")
_LEAVE = ("quit", "exit")
_OPERATOR = re.compile(r"\s*([=!<>]|(in|is|not|between)\b)", re.IGNORECASE)
_HELP = (
    ("CONDITION", 'show the rows that match, such as TEMP < 0 & STATION in ("A", "B"); an empty line shows all'),
    ("A, B", "show these columns, beside dimension and partition columns; * shows all again"),
    ("columns", "list the columns and their types"),
    ("datasets A, B", "look at these datasets only; * looks at all again"),
    ("dimensions A, B", "keep these dimensions, in the order of sorting; * keeps all"),
    ("by A, B", "group the rows by these columns; * does not"),
    ("limit N", "read so many rows at most; * reads all"),
    ("explain", "say what the question so far reads, and why"),
    ("save FILE", "write the rows to a file that ends in .csv, .json or .parquet"),
    ("help", "show this"),
    ("quit", "leave, as Ctrl-D does"),
)


class Prompt:
    """A conversation about one cube; ``question`` and ``limit`` are what the lines so far have made of them.

    Raises
    ------
    KubothekError
        There is no such cube.
    """

    def __init__(self, target: CubeTarget) -> None:
        self.target = target
        self.question = Question()
        self.limit: int | None = None
        self._console = open_console(target.invocation)
        whole = ask(target, self.question)
        self._columns = frozenset(whole.schema.names)
        self._datasets = tuple(source.name for source in whole.explain().sources)
        self._commands: Mapping[str, Callable[[str], None]] = {
            "columns": self._choose_columns,
            "datasets": self._choose_datasets,
            "dimensions": self._choose_dimensions,
            "by": self._choose_groups,
            "limit": self._choose_limit,
            "explain": self._explain,
            "save": self._save,
            "help": self._help,
        }

    def run(self) -> None:
        """Answer line by line until there are no more."""
        if sys.stdin.isatty():
            click.echo(f"Cube {self.target.uuid_prefix}: write a condition, columns or a command; help tells more.")
        with line_editing([*self._columns, *self._datasets, *self._commands, *_LEAVE]):
            for line in self._lines():
                if line in _LEAVE:
                    return
                try:
                    self.answer(line)
                except KubothekError as error:
                    self._tell(str(error))
                except click.ClickException as error:
                    self._tell(error.format_message())
                except KeyboardInterrupt:
                    click.echo(err=True)

    def answer(self, line: str) -> None:
        """Do what one line says; a line that is wrong changes nothing.

        Raises
        ------
        KubothekError, click.ClickException
            It is wrong.
        """
        word, _, rest = line.partition(" ")
        if word in self._commands and not _OPERATOR.match(rest):
            self._commands[word](rest.strip())
        elif line in _ALL or self._are_columns(line):
            self._choose_columns(line)
        else:
            self._show(replace(self.question, where=line or None))

    def _lines(self) -> Iterator[str]:
        """Yield what is written, without blanks around it, until it ends."""
        while True:
            try:
                line = input(f"{self.target.uuid_prefix}> ") if sys.stdin.isatty() else sys.stdin.readline()
            except EOFError:
                click.echo()
                return
            except KeyboardInterrupt:
                click.echo()
                continue
            if not line and not sys.stdin.isatty():
                return
            yield line.strip()

    def _tell(self, message: str) -> None:
        click.echo(f"{click.style('Error:', fg='red', bold=True)} {message}", err=True)

    def _are_columns(self, line: str) -> bool:
        try:
            names = parse_names(line)
        except click.BadParameter:
            return False
        return bool(names) and self._columns.issuperset(names)

    def _show(self, question: Question) -> None:
        asked = ask(self.target, question)
        self.question = question
        rows = read_rows(asked, self.target.store, self.limit)
        show_rows(self._console, asked, rows, self.limit)

    def _choose_columns(self, text: str) -> None:
        if text:
            self._show(replace(self.question, columns=_chosen(text)))
            return
        schema = ask(self.target, replace(self.question, columns=None)).schema
        self._console.print(block("Columns", [(field.name, str(field.type)) for field in schema]))

    def _choose_datasets(self, text: str) -> None:
        if text:
            self._show(replace(self.question, datasets=_chosen(text)))
        else:
            self._console.print(block("Datasets", [(name,) for name in self._datasets]))

    def _choose_dimensions(self, text: str) -> None:
        self._show(replace(self.question, dimension_columns=_chosen(text)))

    def _choose_groups(self, text: str) -> None:
        self._show(replace(self.question, partition_by=_chosen(text) or ()))

    def _choose_limit(self, text: str) -> None:
        if text not in _ALL and not text.isdecimal():
            raise click.UsageError(f"A limit is a number of rows, or * for none, but not {text!r}.")
        self.limit = None if text in _ALL else int(text)
        self._show(self.question)

    def _explain(self, text: str) -> None:
        question = replace(self.question, where=text) if text else self.question
        self._console.print(ask(self.target, question).explain())

    def _save(self, path: str) -> None:
        if not path:
            raise click.UsageError("Name the file: save rows.csv, rows.json or rows.parquet.")
        writer = WRITERS[format_of(path)]
        asked = ask(self.target, self.question)
        with new_file(path) as file:
            count = writer(asked.schema, read_rows(asked, self.target.store, self.limit), file)
        done(self._console, f"{plural(count, 'row')} in {path}")

    def _help(self, _: str) -> None:
        self._console.print(block("What a line may be", _HELP))


def _chosen(text: str) -> tuple[str, ...] | None:
    return None if text in ("", *_ALL) else parse_names(text)
