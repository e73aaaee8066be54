"""How the colours of a terminal are shown on a page: as spans of classes that the style sheet knows."""

from __future__ import annotations

import html
import re

_CODES = re.compile(r"\x1b\[([\d;]*)m")


def as_html(text: str) -> str:
    r"""Return text with escape sequences of colours as HTML.

    Examples
    --------
    >>> as_html("\x1b[1mcube\x1b[0m a < b")
    '<span class="ansi-1">cube</span> a &lt; b'
    """
    pieces = _CODES.split(text)
    active: set[str] = set()
    out = [html.escape(pieces[0], quote=False)]
    for codes, shown in zip(pieces[1::2], pieces[2::2], strict=True):
        for code in codes.split(";"):
            active = set() if code in ("", "0") else active | {code}
        classes = " ".join(f"ansi-{code}" for code in sorted(active))
        plain = html.escape(shown, quote=False)
        out.append(f'<span class="{classes}">{plain}</span>' if classes and shown else plain)
    return "".join(out)


def terminal(output: str) -> str:
    """Return the output of commands, each on a line that begins with ``$``, as a block of HTML."""
    lines = (
        f'<span class="prompt">$</span> <span class="command">{html.escape(line[2:], quote=False)}</span>'
        if line.startswith("$ ")
        else as_html(line)
        for line in output.rstrip().split("\n")
    )
    return f'<div class="terminal"><pre><code>{"&#10;".join(lines)}</code></pre></div>\n'
