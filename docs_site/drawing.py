"""Shapes of which pictures are made: boxes, texts and arrows in a few colours, written as SVG."""

from __future__ import annotations

import html

INK, FAINT = "#1f2933", "#8795a1"
# Fill and outline: of the seed, of enrichments, of what comes out, of what only holds others, of what is left out.
SEED, ENRICHMENT, RESULT = ("#c6f1e7", "#0f766e"), ("#dbe7fe", "#2f5fc4"), ("#fdeec2", "#b7791f")
PLAIN, LEFT_OUT = ("#f5f7fa", "#8795a1"), ("#ffffff", "#c3ccd5")
Colour = tuple[str, str]

_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    f'<path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>'
)


class Drawing:
    """Shapes on white, in pixels from the left and from the top."""

    def __init__(self, width: int, height: int) -> None:
        self.size = (width, height)
        self.shapes: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, colour: Colour, *, dashed: bool = False) -> None:
        """Draw a rectangle."""
        fill, outline = colour
        dashes = ' stroke-dasharray="3 3"' if dashed else ""
        place = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="4"'
        self.shapes.append(f'<rect {place} fill="{fill}" stroke="{outline}"{dashes}/>')

    def text(
        self, x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", bold: bool = False,
        colour: str = INK, code: bool = False, step: int = 17,
    ) -> None:  # fmt: skip
        """Write lines of text; ``y`` is the base line of the first, and ``step`` how far the next is below."""
        font = f'font-size="{size}" font-family="{"monospace" if code else "sans-serif"}"'
        weight = ' font-weight="bold"' if bold else ""
        for number, line in enumerate(words.split("\n")):
            place = f'x="{x}" y="{y + step * number}" text-anchor="{anchor}"'
            self.shapes.append(f'<text {place} {font} fill="{colour}"{weight}>{html.escape(line, quote=False)}</text>')

    def label(
        self, x: float, y: float, width: float, height: float, words: str, colour: Colour, *, dashed: bool = False,
        bold: bool = False, code: bool = False,
    ) -> None:  # fmt: skip
        """Draw a box with text in its middle."""
        self.box(x, y, width, height, colour, dashed=dashed)
        ink = FAINT if dashed else INK
        self.text(x + width / 2, y + height / 2 + 4.5, words, anchor="middle", bold=bold, code=code, colour=ink)

    def line(self, x: float, y: float, to_x: float, to_y: float, colour: str) -> None:
        """Draw a line from one point to another."""
        self.shapes.append(f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}"/>')

    def arrow(self, x: float, y: float, to_x: float, to_y: float, *, dashed: bool = False) -> None:
        """Draw an arrow from one point to another."""
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        place = f'x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}"'
        self.shapes.append(f'<line {place} stroke="{INK}" stroke-width="1.4"{dashes} marker-end="url(#tip)"/>')

    def svg(self, title: str) -> str:
        """Return the whole as a file."""
        width, height = self.size
        lines = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{html.escape(title, quote=False)}</title>",
            _TIP,
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *self.shapes,
            "</svg>",
        )
        return "\n".join(lines) + "\n"
