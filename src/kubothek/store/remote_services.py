"""Which services there are behind a network, what a caller and the environment say about one, and where it is then.

Each service has options, which have several names and stand in the environment as well (``AWS_…``, ``GOOGLE_…``,
``AZURE_…``). Here all that is said has one short name, options over environment, so that the rest can be decided on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_PREFIX = re.compile(r"^(?:aws|azure_storage|azure|google)_")
_NOT_PLAIN = {"config", "client_options", "retry_config"}


@dataclass(frozen=True, slots=True)
class Service:
    """A kind of object store.

    ``variables`` is how its environment variables begin, ``hosts`` how the provider's own addresses end, ``endpoints``
    are the options that give another address, the last the strongest, and ``proofs`` are the ways to prove who one is,
    each with its options.
    """

    variables: str
    hosts: tuple[str, ...]
    endpoints: tuple[str, ...]
    proofs: tuple[frozenset[str], ...]


_COMMON = (frozenset({"credential_provider"}), frozenset({"skip_signature"}))
S3 = Service(
    "AWS_",
    (".amazonaws.com", ".amazonaws.com.cn"),
    ("endpoint", "endpoint_url", "endpoint_url_s3"),
    (frozenset({"access_key_id", "secret_access_key"}), *_COMMON),
)
GCS = Service(
    "GOOGLE_",
    (".storage.googleapis.com",),
    ("base_url",),
    (
        frozenset({"service_account", "service_account_path"}),
        frozenset({"service_account_key"}),
        frozenset({"application_credentials"}),
        frozenset({"bearer_token"}),
        *_COMMON,
    ),
)
AZURE = Service(
    "AZURE_",
    (".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".fabric.microsoft.com"),
    ("endpoint",),
    (
        frozenset({"account_key", "access_key", "master_key"}),
        frozenset({"sas_key", "sas_token"}),
        frozenset({"token", "bearer_token"}),
        frozenset({"client_secret"}),
        frozenset({"use_azure_cli"}),
        *_COMMON,
    ),
)
_BY_SCHEME = {"s3": S3, "s3a": S3, "gs": GCS}


def service_of(url: str) -> Service:
    """Return the service that a URL's scheme means; all that are not Amazon's or Google's are Azure's."""
    return _BY_SCHEME.get(url.partition(":")[0].lower(), AZURE)


def given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what options say, those in ``config`` and ``client_options`` included, by short names in small letters.

    Examples
    --------
    >>> given_settings({"aws_region": "eu-west-1", "client_options": {"allow_http": True}})
    {'allow_http': True, 'region': 'eu-west-1'}
    """
    nested = {**(options.get("client_options") or {}), **(options.get("config") or {})}
    return _short_names(nested | {name: value for name, value in options.items() if name not in _NOT_PLAIN})


def environment_settings(service: Service, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the environment says about a service."""
    return _short_names({name: value for name, value in environ.items() if name.startswith(service.variables)})


def all_settings(options: Mapping[str, Any], service: Service, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return all that is said about a store; an option replaces what the environment says, addresses by any name.

    Examples
    --------
    >>> all_settings({"endpoint": "https://a.example"}, S3, {"AWS_ENDPOINT_URL_S3": "https://b.example"})
    {'endpoint': 'https://a.example'}
    """
    given, around = given_settings(options), environment_settings(service, environ)
    if not given.keys().isdisjoint(service.endpoints):
        around = {name: value for name, value in around.items() if name not in service.endpoints}
    return around | given


def endpoint(said: Mapping[str, Any], service: Service) -> str | None:
    """Return the address in place of the provider's own, ``None`` for the latter."""
    named = [str(said[name]) for name in reversed(service.endpoints) if name in said]
    return named[0] if named else None


def is_providers_own(said: Mapping[str, Any], service: Service) -> bool:
    """Tell whether a store is at the provider's own address, where conditional writes are known to be sound.

    Examples
    --------
    >>> is_providers_own({"region": "eu-west-1"}, S3), is_providers_own({"endpoint": "https://s3.example"}, S3)
    (True, False)
    """
    address = endpoint(said, service)
    host = None if address is None else urlsplit(address).hostname or ""
    return (
        (host is None or f".{host}".endswith(service.hosts))
        and str(said.get("conditional_put", "etag")) == "etag"
        and not is_set(said.get("use_emulator"))
        and not _names_server(said)
    )


def is_set(value: Any) -> bool:
    """Tell whether a switch is on, or something is given at all.

    >>> is_set("true"), is_set("a text"), is_set("False"), is_set(None)
    (True, True, False, False)
    """
    return value is not None and str(value).lower() not in ("", "false", "0", "no", "off", "f", "n")


def _short_names(named: Mapping[str, Any]) -> dict[str, Any]:
    return {_PREFIX.sub("", name.lower()): value for name, value in named.items()}


def _names_server(said: Mapping[str, Any]) -> bool:
    """Tell whether Google's account data, given as text or as a file, names another server."""
    paths = [str(said[name]) for name in ("service_account", "service_account_path") if name in said]
    return any('"gcs_base_url"' in text for text in (str(said.get("service_account_key")), *map(_content, paths)))


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # the library says so
