"""What the site does to pages while MkDocs builds it.

Pages that live outside of ``docs/`` join it; links that are right in the repository become right in the site; and what
commands print is shown as they print it on a terminal, by running the page. A page that would load something from
the network is an error.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs_site.colours import terminal
from docs_site.pages import DOCS, OUTSIDE, ROOT, find_blocks, needs_spark, replace_lines
from docs_site.running import run_page

_REMOTE = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*(?:src|href)=["']?(?:https?:)?//[^>]*>""")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that live elsewhere in the repository."""
    for source, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Show commands as on a terminal, and set links right."""
    elsewhere = {place: source for source, place in OUTSIDE.items()}
    place = page.file.src_uri
    source = elsewhere.get(place, f"docs/{place}")
    return site_links(with_terminals(markdown, source), source, place)


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Refuse a page that loads anything from elsewhere."""
    if remote := _REMOTE.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from the network: {remote[0]}")
    return output


def with_terminals(text: str, source: str) -> str:
    """Return a page with what its commands print now, coloured; pages that need Spark stay as they are."""
    if needs_spark(text) or not any(block.is_run and block.language == "console" for block in find_blocks(text)):
        return text
    with tempfile.TemporaryDirectory() as directory:
        ran = list(run_page(text, source, Path(directory), coloured=True))
    consoles = [(block.begin, block.end, terminal(out)) for block, out in ran if block.language == "console"]
    return replace_lines(text, consoles)


def site_links(text: str, source: str, place: str) -> str:
    """Return a page whose links to files of the repository lead to pages of the site, or are plain text.

    Examples
    --------
    >>> site_links("[stores](docs/stores.md#s3), [law](LICENSE)", "README.md", "readme.md")
    '[stores](stores.md#s3), law'
    >>> site_links("[a pipeline](../examples/pipeline/README.md)", "docs/spark.md", "spark.md")
    '[a pipeline](pipeline.md)'
    """

    def replaced(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        if ":" in target:
            return match[0]
        there = os.path.normpath(PurePosixPath(source).parent / target)
        inside = OUTSIDE.get(there) or (there.removeprefix("docs/") if (ROOT / there).is_relative_to(DOCS) else None)
        if inside is None:
            return words
        return f"[{words}]({os.path.relpath(inside, PurePosixPath(place).parent)}{anchor})"

    return _LINK.sub(replaced, text)
