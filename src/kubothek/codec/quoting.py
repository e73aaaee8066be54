"""How column names and values become parts of a storage key: percent-encoding.

All bytes of the UTF-8 text other than ASCII letters, digits and ``-._~`` are written as ``%`` and two upper-case
hexadecimal digits. Kartothek left ``/`` as it is, which cut values apart; here it becomes ``%2F``, and Kartothek
reads that.
"""

from __future__ import annotations

import urllib.parse


def quote(text: str) -> str:
    """Return the text percent-encoded.

    Examples
    --------
    >>> quote("São Paulo/1=%")
    'S%C3%A3o%20Paulo%2F1%3D%25'
    """
    return urllib.parse.quote(text, safe="")


def unquote(text: str) -> str:
    """Return the text of which this is the percent-encoded form; ``+`` stays ``+``.

    Raises
    ------
    UnicodeDecodeError
        If the bytes are not UTF-8.

    Examples
    --------
    >>> unquote("a%2fb+c")
    'a/b+c'
    """
    return urllib.parse.unquote(text, errors="strict")
