"""What becomes of an object store's options: what contradicts itself is refused, and what is not given gets a default.

Options have the names of the ``obstore`` library, which says which there are. What it does not say, but acts on, is
dealt with here, before anything is opened: options of its HTTP client that stand beside the others (it panics), options
that contradict each other (it silently takes one), and an environment that is stronger than an option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from kubothek.store.remote_services import (
    AZURE,
    S3,
    Service,
    all_settings,
    endpoint,
    environment_settings,
    given_settings,
    is_set,
)

CLIENT_OPTIONS: Mapping[str, Any] = {"connect_timeout": "10s", "read_timeout": "1m", "timeout": "10m"}
"""How long to wait: for a connection, for the next bytes, for a whole answer."""

RETRY_CONFIG: Mapping[str, Any] = {
    "max_retries": 10,
    "retry_timeout": timedelta(minutes=2),
    # With a base of 2, which is the library's, the random pauses do not grow on average, and ten are over in 3 seconds.
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=15), "base": 3},
}
"""How often and how long a request is repeated that failed for want of an answer or of capacity."""

_CLIENT_NAMES = frozenset(
    {
        "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type", "default_headers",
        "http1_only", "http2_keep_alive_interval", "http2_keep_alive_timeout", "http2_keep_alive_while_idle",
        "http2_only", "pool_idle_timeout", "pool_max_idle_per_host", "proxy_ca_certificate", "proxy_excludes",
        "proxy_url", "randomize_addresses", "read_timeout", "root_certificate", "timeout", "user_agent",
    }
)  # fmt: skip
# Azure takes one of several credentials by an order of its own, unless it is told which.
_CREDENTIAL_TYPES = {
    "account_key": "access_key", "access_key": "access_key", "master_key": "access_key", "sas_key": "sas_token",
    "sas_token": "sas_token", "token": "bearer_token", "bearer_token": "bearer_token",
    "client_secret": "client_secret", "use_azure_cli": "azure_cli",
}  # fmt: skip


def arranged(options: Mapping[str, Any], service: Service, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return options as ``obstore`` takes them: those of its client apart, and patience where none was asked for.

    Examples
    --------
    >>> from kubothek.store.remote_services import S3
    >>> arranged({"region": "eu-west-1", "timeout": "5s"}, S3, {})["client_options"]
    {'connect_timeout': '10s', 'read_timeout': '1m', 'timeout': '5s'}
    """
    plain = {name: value for name, value in options.items() if name not in _CLIENT_NAMES}
    beside = {name: value for name, value in options.items() if name in _CLIENT_NAMES}
    # Once it is told one of these, the library looks for none of them in the environment.
    around = {k: v for k, v in environment_settings(service, environ).items() if k in _CLIENT_NAMES}
    return {
        **plain,
        **_outweighing(options, service, environ),
        "client_options": {**CLIENT_OPTIONS, **around, **(options.get("client_options") or {}), **beside},
        "retry_config": {**RETRY_CONFIG, **(options.get("retry_config") or {})},
    }


def option_problems(url: str, options: Mapping[str, Any], service: Service, environ: Mapping[str, str]) -> list[str]:
    """Return what is wrong with options that the library itself would not tell.

    Examples
    --------
    >>> from kubothek.store.remote_services import S3
    >>> option_problems("s3://bucket", {"endpoint": "http://127.0.0.1:9000"}, S3, {})
    ["the endpoint 'http://127.0.0.1:9000' is not encrypted, which needs allow_http=True"]
    """
    twice = sorted(_CLIENT_NAMES & set(options) & set(options.get("client_options") or {}))
    found = [f"{name!r} is given both by itself and in client_options" for name in twice]
    given, around = given_settings(options), environment_settings(service, environ)
    found += _proof_problems(given, around, service)
    said = all_settings(options, service, environ)
    address = endpoint(said, service)
    if address is None:
        return found
    if service is S3 and around.get("endpoint_url_s3", address) != address:
        found.append(
            f"AWS_ENDPOINT_URL_S3 in the environment, {around['endpoint_url_s3']!r}, is stronger than the endpoint "
            f"given, {address!r}; unset the variable"
        )
    return found + _address_problems(address, urlsplit(url).netloc, said)


def _outweighing(options: Mapping[str, Any], service: Service, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what must be said besides, so that options prevail against an environment."""
    given, around = given_settings(options), environment_settings(service, environ)
    more: dict[str, Any] = {}
    if service is S3:
        if "access_key_id" in given and is_set(around.get("skip_signature")):
            more["skip_signature"] = False
    elif service is AZURE and not {"credential_type"} & (given.keys() | around.keys()):
        own = [_CREDENTIAL_TYPES[name] for name in given if name in _CREDENTIAL_TYPES]
        others = [name for name in around if name in _CREDENTIAL_TYPES and name not in given]
        if own and others:
            more["credential_type"] = own[0]
    return more


def _proof_problems(given: Mapping[str, Any], around: Mapping[str, Any], service: Service) -> list[str]:
    found = []
    ways = [sorted(name for name in way if is_set(given.get(name))) for way in service.proofs]
    ways = [way for way in ways if way]
    if len(ways) > 1 and "credential_type" not in given:
        named = " and ".join("/".join(way) for way in ways)
        found.append(f"{named} are different ways to prove who you are; give one of them")
    is_other = "access_key_id" in given and given["access_key_id"] != around.get("access_key_id")
    if service is S3 and is_other and {"session_token", "token"} & around.keys() and "session_token" not in given:
        found.append(
            "the environment has the session token of other credentials (AWS_SESSION_TOKEN or AWS_TOKEN), which would "
            "go with the access_key_id given; give its session_token too, or unset the variable"
        )
    return found


def _address_problems(address: str, bucket: str, said: Mapping[str, Any]) -> list[str]:
    if is_set(said.get("use_emulator")):
        return [
            f"with use_emulator the endpoint {address!r} would be ignored; leave use_emulator out and give "
            "account_name, account_key, allow_http=True, and the account in the endpoint (http://host:port/account)"
        ]
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", address):
        return [f"the endpoint {address!r} is no address such as https://host:port"]
    if parts.scheme == "http" and not is_set(said.get("allow_http")):
        return [f"the endpoint {address!r} is not encrypted, which needs allow_http=True"]
    named = parts.hostname.startswith(bucket.lower() + ".")
    if is_set(said.get("virtual_hosted_style_request")) and not named:
        return [f"with virtual_hosted_style_request the endpoint begins with the bucket: https://{bucket}.…"]
    return []
