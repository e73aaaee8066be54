"""``python -m docs_site.pictures`` draws the pictures of the documentation, as SVG, into ``docs/pictures``.

Each picture is a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docs_site.drawing import ENRICHMENT, FAINT, INK, LEFT_OUT, PLAIN, RESULT, SEED, Drawing
from docs_site.pages import DOCS

FOLDER = DOCS / "pictures"


def dataset() -> str:
    """A header, and what it names."""
    drawing = Drawing(760, 300)
    drawing.box(16, 40, 258, 176, RESULT)
    drawing.text(28, 62, "weather.by-dataset-metadata.json", code=True, bold=True)
    names = "partitions: MONTH=1/287f…,\nMONTH=2/91c0…, …\nindices: ORIGIN\nmetadata, schema, version"
    drawing.text(28, 88, names, code=True, step=19)
    drawing.text(28, 180, "The header. A commit replaces it,\nand changes no other object.")
    for row in range(3):
        y = 40 + 44 * row
        drawing.label(400, y, 344, 32, f"weather/table/MONTH={row + 1}/….parquet", ENRICHMENT, code=True)
        drawing.arrow(274, 84 + 8 * row, 396, y + 16)
    drawing.text(572, 182, "…", anchor="middle", size=16)
    drawing.label(400, 194, 344, 32, "weather/indices/ORIGIN/….parquet", SEED, code=True)
    drawing.arrow(274, 122, 396, 208)
    drawing.label(400, 248, 344, 32, "_kubothek/weather/…/history/….zst", PLAIN, code=True)
    drawing.text(384, 262, "headers of earlier versions:\nthey can be opened and brought back", anchor="end")
    drawing.text(400, 28, "data and index files: written once, never changed", colour=FAINT)
    return drawing.svg("A dataset: one header names data files and index files")


_COLUMNS = ("ORIGIN", "CARRIER", "FLIGHT", "HOUR", "DELAY", "TEMP", "VISIB", "AIRLINE")
_UNKNOWN = "\N{EN DASH}"
_CELLS = (
    ("EWR", "UA", "1545", "05:00", "2", "39.0", "10", "United"),
    ("LGA", "UA", "1714", "05:00", "4", "39.9", "10", "United"),
    ("JFK", "B6", "725", "06:00", "-1", _UNKNOWN, _UNKNOWN, "JetBlue"),
    ("EWR", "AA", "1141", "07:00", "33", "37.0", "0.2", "American"),
)
# Each dataset with its columns, and from where to where it reaches.
_PARTS = (
    ("flights: the seed", range(5), 16, 400, SEED),
    ("weather", range(5, 7), 422, 602, ENRICHMENT),
    ("airlines", range(7, 8), 622, 726, RESULT),
)
_LEFT = (26, 108, 194, 270, 340, 432, 532, 632)
_ABOUT_CELLS = f"""\
A row is a cell of the seed. An enrichment adds columns where it knows the cell, by the dimensions that it has;
where it does not ({_UNKNOWN}), the columns are null. Each dataset is written and versioned on its own."""


def cube() -> str:
    """The wide table that a cube is, and where its columns come from."""
    drawing = Drawing(760, 290)
    for name, columns, begin, end, colour in _PARTS:
        drawing.box(begin, 36, end - begin, 170, colour)
        drawing.text((begin + end) / 2, 26, name, anchor="middle", bold=True, size=13)
        for column in columns:
            drawing.text(_LEFT[column], 58, _COLUMNS[column], size=11, bold=True, code=True)
            for row, cells in enumerate(_CELLS):
                ink = FAINT if cells[column] == _UNKNOWN else INK
                drawing.text(_LEFT[column], 86 + 30 * row, cells[column], code=True, colour=ink)
    drawing.text(16, 232, "dimensions identify the cell", colour=SEED[1])
    drawing.text(422, 232, "joined on ORIGIN, HOUR", colour=ENRICHMENT[1])
    drawing.text(622, 232, "joined on CARRIER", colour=RESULT[1])
    drawing.text(16, 262, _ABOUT_CELLS)
    return drawing.svg("A cube: the seed's cells, with the columns of enrichments beside them")


_MONTHS_READ = (2, 7)
_WHY_DROPPED = """\
dropped by partition values, by an index,
by statistics, or as no dataset that restricts
the result has a file there"""
_WHERE_READ = """\
in threads of this process, or in tasks of Spark:
the same code; nothing is shuffled between units"""
_CONDITION = "where: VISIB < 1 (weather restricts: inner join); airlines only add their column (left join)"


def query() -> str:
    """Which files a query reads, and what becomes of them."""
    drawing = Drawing(760, 300)
    for x, heading in (
        (16, "1  plan: nothing is read but headers and index entries"),
        (418, "2  read and join by month"),
        (652, "3  rows"),
    ):
        drawing.text(x, 24, heading, bold=True, size=13)
    _draw_plan(drawing)
    for row, month in enumerate(_MONTHS_READ):
        _draw_unit(drawing, 44 + 84 * row, month)
    drawing.text(418, 236, _WHERE_READ)
    drawing.text(16, 284, _CONDITION)
    return drawing.svg("A query: files are dropped by the plan; those left are joined unit by unit")


def _draw_plan(drawing: Drawing) -> None:
    drawing.text(96, 48, "MONTH", size=11, code=True)
    for row, (name, colour) in enumerate((("flights", SEED), ("weather", ENRICHMENT))):
        y = 58 + 40 * row
        drawing.text(16, y + 20, name, bold=True)
        for month in range(1, 9):
            is_read = month in _MONTHS_READ
            x = 60 + 36 * month
            drawing.label(x, y, 30, 28, str(month), colour if is_read else LEFT_OUT, dashed=not is_read)
    drawing.text(16, 158, "airlines", bold=True)
    drawing.box(96, 138, 30, 28, RESULT)
    drawing.text(150, 157, "one file, for all months", colour=FAINT)
    drawing.text(96, 196, _WHY_DROPPED, colour=FAINT)


def _draw_unit(drawing: Drawing, y: float, month: int) -> None:
    drawing.arrow(386, y + 35, 414, y + 35)
    drawing.box(418, y, 186, 70, PLAIN)
    drawing.label(430, y + 12, 32, 26, str(month), SEED)
    drawing.label(470, y + 12, 32, 26, str(month), ENRICHMENT)
    drawing.box(510, y + 12, 32, 26, RESULT)
    drawing.text(556, y + 30, "\N{BOWTIE}", size=20)
    drawing.text(430, y + 58, "matched by sorted keys")
    drawing.arrow(604, y + 35, 648, y + 35)
    drawing.box(652, y + 6, 92, 58, RESULT)
    for line in range(3):
        drawing.line(660, y + 20 + 15 * line, 736, y + 20 + 15 * line, RESULT[1])


def commit() -> str:
    """Two writers whose commits meet."""
    drawing = Drawing(760, 240)
    both = "Both writers' rows are in version 9. B's files were staged once and are used as they are."
    drawing.text(16, 28, both, size=13)
    for y, name in ((70, "writer A"), (130, "header"), (190, "writer B")):
        drawing.text(16, y + 5, name, bold=True, size=13)
        drawing.line(100, y, 744, y, LEFT_OUT[1])
    drawing.arrow(127, 114, 150, 78)
    drawing.arrow(127, 146, 160, 182)
    drawing.arrow(248, 70, 338, 112)
    drawing.arrow(258, 190, 400, 148, dashed=True)
    drawing.arrow(364, 134, 452, 174)
    drawing.arrow(568, 190, 622, 148)
    for x, version in ((110, "7"), (330, "8"), (610, "9")):
        drawing.label(x, 114, 34, 32, version, RESULT, bold=True)
    drawing.label(152, 56, 96, 28, "stages files", SEED)
    drawing.label(162, 176, 96, 28, "stages files", ENRICHMENT)
    drawing.label(440, 176, 128, 28, "applies to 8", ENRICHMENT)
    drawing.text(306, 62, "swap 7 for 8: done")
    drawing.text(276, 222, "swap 7 for 8: refused, as 7 is not there any more")
    drawing.text(596, 222, "swap 8 for 9: done")
    return drawing.svg("Two commits at once: the second is refused, applied to what the first left, and swapped again")


_LAYERS = (
    (
        ("kubothek/__init__", "the public list", PLAIN),
        ("cli/", "the command line", PLAIN),
        ("compat/", "Kartothek's names", PLAIN),
    ),
    (("spark/", "data source, session, streams", PLAIN),),
    (("cube/", "workflows on cubes", RESULT),),
    (("dataset/", "workflows on datasets: load, decide, do", RESULT),),
    (("engine/", "the body of one read task and one write task; runs them here or on Spark", ENRICHMENT),),
    (
        ("store/", "verbs on objects", ENRICHMENT),
        ("codec/", "bytes to values and back", ENRICHMENT),
        ("display/", "pages drawn from facts", SEED),
    ),
    (("plan/", "decisions: pure functions", SEED),),
    (("model/, errors.py", "frozen values, the error tree", SEED),),
)


def layers() -> str:
    """The folders of the code, each above those that it may import."""
    drawing = Drawing(760, 336)
    for number, row in enumerate(_LAYERS):
        width, y = (640 - 8 * (len(row) - 1)) / len(row), 12 + 40 * number
        for column, (folder, does, colour) in enumerate(row):
            x = 16 + column * (width + 8)
            drawing.box(x, y, width, 32, colour)
            if len(row) == 1:
                drawing.text(x + 12, y + 21, folder, bold=True, code=True)
                drawing.text(x + 180, y + 21, does)
            else:
                drawing.text(x + width / 2, y + 14, folder, bold=True, code=True, anchor="middle")
                drawing.text(x + width / 2, y + 27, does, size=11, anchor="middle")
    drawing.arrow(690, 20, 690, 322)
    drawing.text(702, 160, "imports\npoint\ndown")
    return drawing.svg("The layers of the code")


PICTURES: dict[str, Callable[[], str]] = {
    "dataset": dataset,
    "cube": cube,
    "query": query,
    "commit": commit,
    "layers": layers,
}


def draw(folder: Path) -> None:
    """Write all pictures into a folder."""
    for name, picture in PICTURES.items():
        (folder / f"{name}.svg").write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    draw(FOLDER)
