"""Which servers there are: how each is started, gets its bucket, and is named by a store.

Those that others make run in ``.servers``, which ``make servers-env`` makes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

from kubothek.store.interface import Store

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".servers"
BUCKET = "bucket"
_HERE = Path(__file__).parent
_AZURITE = ENVIRONMENT / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
_ACCOUNT = "devstoreaccount1"
_ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Both are the same in every Azurite, and in its documentation."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of server.

    ``command`` gives the command line for a port, ``request`` what makes the bucket at an endpoint (``None`` where each
    is there), ``options`` those of a store for an endpoint.
    """

    name: str
    scheme: str
    command: Callable[[int], list[str]]
    request: Callable[[str], urllib.request.Request | None]
    options: Callable[[str], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs, and where it is reached, be it through others."""

    kind: Kind
    port: int

    @property
    def endpoint(self) -> str:
        """Return where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def store(self, prefix: str, client: dict[str, Any] | None = None, **options: Any) -> Store:
        """Open what lies under a prefix of the bucket; ``client`` is what the HTTP client should know besides."""
        plain = {"allow_http": True, **(client or {})}
        url = f"{self.kind.scheme}://{BUCKET}/{prefix}"
        return Store(url, client_options=plain, **self.kind.options(self.endpoint), **options)

    def make_bucket(self) -> None:
        """Make the bucket."""
        request = self.kind.request(self.endpoint)
        if request is not None:
            urllib.request.urlopen(request, timeout=30).close()  # noqa: S310  a server of ours


def _python(script: str) -> Callable[[int], list[str]]:
    return lambda port: [str(ENVIRONMENT / "bin" / "python"), str(_HERE / script), str(port)]


def _azurite(port: int) -> list[str]:
    start = [str(ENVIRONMENT / "bin" / "node"), str(_AZURITE), "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    return [*start, "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]


def _make_container(endpoint: str) -> urllib.request.Request:
    """Return a request signed with the shared key, which obstore would not make."""
    told = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in told.items())]
    lines += [f"/{_ACCOUNT}/{_ACCOUNT}/{BUCKET}", "restype:container"]
    digest = hmac.digest(base64.b64decode(_ACCOUNT_KEY), "\n".join(lines).encode(), hashlib.sha256)
    told["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}"
    url = f"{endpoint}/{_ACCOUNT}/{BUCKET}?restype=container"
    return urllib.request.Request(url, method="PUT", headers=told)  # noqa: S310  a server of ours


def _google_key(endpoint: str) -> str:
    return json.dumps(
        {"gcs_base_url": endpoint, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    )


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "s3",
            "s3",
            _python("s3.py"),
            lambda endpoint: urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT"),  # noqa: S310  ours
            lambda endpoint: {
                "endpoint": endpoint,
                "region": "us-east-1",
                "access_key_id": "anybody",
                "secret_access_key": "anything",
            },
        ),
        Kind(
            "gcs",
            "gs",
            lambda port: [sys.executable, str(_HERE / "gcs.py"), str(port)],
            lambda _: None,
            lambda endpoint: {"service_account_key": _google_key(endpoint)},
        ),
        Kind(
            "azure",
            "az",
            _azurite,
            _make_container,
            lambda endpoint: {
                "endpoint": f"{endpoint}/{_ACCOUNT}",
                "account_name": _ACCOUNT,
                "account_key": _ACCOUNT_KEY,
            },
        ),
    )
}
