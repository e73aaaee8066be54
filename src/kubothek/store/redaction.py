"""What of a message must nobody see: secrets, taken out by what they look like and by what they are.

Servers and libraries put more into their messages than they should: signed addresses, tokens that they did not like,
the header that they could not read. Some such places are known by their form; and where a secret is known (an option,
an environment variable), it is taken out wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote

HIDDEN = "[hidden]"

_SHORTEST = 6
"""A shorter value is no secret, and its letters occur in other words."""

_QUERY = (
    "x-(?:amz|goog)-(?:signature|security-token|credential)|sig|signature|credential|account_?key|shared_?access_?key"
    "|access_token|refresh_token|id_token|client_secret|client_assertion|assertion|password"
)
_FIELDS = (
    "access_token|refresh_token|id_token|client_secret|private_key|secret_?access_?key|session_?token|account_key"
    "|sas_(?:key|token)|password|token"
)
_ELEMENTS = "Token-?[0-9]*|SecurityToken|SessionToken|SecretAccessKey|AWSAccessKeyId|SignatureProvided"
_FORMS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement)
    for pattern, replacement in (
        (rf"\b((?:{_QUERY})(?:=|%3D))[^&\s\"'<>;,]+", rf"\1{HIDDEN}"),
        (rf"(\"(?:{_FIELDS})\"\s*:\s*\")(?:[^\"\\]|\\.)*", rf"\1{HIDDEN}"),
        (rf"<({_ELEMENTS})>[^<]*", rf"<\1>{HIDDEN}"),
        (r"\b(bearer|basic|sharedkey(?:lite)?) +[^\s\"'<>,]{20,}", rf"\1 {HIDDEN}"),
        (r"(signature found in the HTTP request ')[^']*", rf"\1{HIDDEN}"),
        (r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)", rf"\1{HIDDEN}"),
        (r"(://)[^/@\s\"']+:[^/@\s\"']*@", rf"\1{HIDDEN}@"),
    )
)
_NAMES = re.compile(r"key|secret|token|sas|password|authorization", re.IGNORECASE)
_INSIDE = re.compile(r"(?:sig=|\"private_key\"\s*:\s*\")([^&\"]+)")
_NO_NAMES = re.compile(r"(?:_id|_file|_path|_ur[il]|_host|_enabled)$", re.IGNORECASE)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without what nobody may see.

    Parameters
    ----------
    text
        What somebody else wrote.
    secrets
        Values that are known to be secret.

    Examples
    --------
    >>> redacted("GET https://a.example/k?sv=2024&sig=abc%3D failed for hunter2-xyz", ["hunter2-xyz"])
    'GET https://a.example/k?sv=2024&sig=[hidden] failed for [hidden]'
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            for form in (secret, quote(secret, safe=""), unquote(secret)):
                text = text.replace(form, HIDDEN)
    for pattern, replacement in _FORMS:
        text = pattern.sub(replacement, text)
    return text


def secret_values(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Return those values of named settings that are secrets by their names, and what in them is secret by itself.

    Examples
    --------
    >>> secret_values({"region": "eu-west-1", "access_key_id": "AKIA", "sas_key": "sv=1&sig=hunter2"})
    ('sv=1&sig=hunter2', 'hunter2')
    """
    found: list[str] = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found += secret_values(value)
        elif isinstance(value, str) and _NAMES.search(name) and not _NO_NAMES.search(name):
            found += [value, *_INSIDE.findall(value)]
    return tuple(found)
