"""Which texts are keys: what every store demands of a name before it touches anything.

A key is unicode text, relative to the store's root, with ``/`` between its segments. It is literal: ``%2F``, ``%20``
and ``=`` stand for themselves and are never decoded. Keys also come out of files that others wrote, so a key that
could lead out of the root (absolute, ``.`` or ``..``), or that some store could not hold (an empty segment, a control
character, a lone surrogate), is refused here, once, for all stores.
"""

from __future__ import annotations

import re

from kubothek.errors import InvalidInputError

_FORBIDDEN = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f\ud800-\udfff]")
_REASON = (
    "A key is relative, its segments between '/' are neither empty nor '.' nor '..', and it holds no control characters"
)


def is_key(text: str) -> bool:
    """Tell whether a text can be a key.

    >>> is_key("flights++seed/table/MONTH=1%2F2/a b.parquet"), is_key("../secret"), is_key("/etc/passwd")
    (True, False, False)
    """
    # Most keys are told so, in a tenth of the time that the pattern takes; data files are many.
    plain = text.isprintable() and "//" not in text and "/." not in text
    return (plain and text[:1] not in ("", ".", "/") and text[-1] != "/") or _FORBIDDEN.search(text) is None


def check_key(key: str) -> str:
    """Return the key.

    Raises
    ------
    InvalidInputError
        The text cannot be a key; ``key`` holds it.
    """
    if not isinstance(key, str) or not is_key(key):
        raise InvalidInputError(f"{key!r} is not a key. {_REASON}.", key=key)
    return key


def check_prefix(prefix: str) -> str:
    """Return the folder part of a prefix: ``"a/b/c"`` gives ``"a/b/"``, ``"a"`` gives ``""``.

    Raises
    ------
    InvalidInputError
        No key can begin with this text.
    """
    folder, slash, name = prefix.rpartition("/")
    if (slash and not is_key(folder)) or not is_key("x" + name):
        raise InvalidInputError(f"No key begins with {prefix!r}. {_REASON}.", key=prefix)
    return folder + slash
