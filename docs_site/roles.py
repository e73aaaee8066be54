"""How references in docstrings (``:func:`~kubothek.build_cube```) become links of the site, or code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

import kubothek

_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([^`]+)`")


class Roles(Extension):
    """Rewrites the docstring of every object that is shown."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Replace the references of one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = linked(obj.docstring.value)


def linked(text: str) -> str:
    """Return a docstring with links to what the public list has, and the names of all else as code.

    Examples
    --------
    >>> linked("See :func:`~kubothek.build_cube` and :mod:`kubothek.plan`.")
    'See [`build_cube`][kubothek.build_cube] and `kubothek.plan`.'
    """
    return _ROLE.sub(lambda match: _reference(match[1]), text)


def _reference(path: str) -> str:
    name = path.removeprefix("kubothek.")
    return f"[`{name}`][kubothek.{name}]" if name in kubothek.__all__ else f"`{path}`"
