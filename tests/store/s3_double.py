"""An object store of a few lines that answers as a script says: S3's language, spoken over a socket of this machine.

It keeps objects in a dictionary and knows conditional writes. A script sees each request first and may answer in its
place, hang up, or wait. Flaws are what servers of that kind are known to do wrong. Addresses of Google and Azure end up
here as well, which is enough for answers that are scripted.
"""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.etree import ElementTree

from kubothek.store.interface import Store

_RESET = struct.pack("ii", 1, 0)  # close without waiting: the other side gets a reset
_MODIFIED = "Fri, 21 Nov 2025 12:00:00 GMT"
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Request:
    """What came in."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What goes out: a status, a body, headers; ``None`` for the status hangs up."""

    status: int | None
    body: str | bytes = ""
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0
    done: bool = False
    """Whether the request is carried out before."""


class Flaw(Enum):
    """What servers do wrong."""

    IGNORES = "conditions are ignored"
    IGNORES_TAGS = "only the condition that nothing is there holds"
    REFUSES = "no update is ever allowed, however right its tag"
    NO_TAGS = "reading gives no ETag"
    WEAK_TAGS = "reading gives a weak ETag"
    NEW_TAGS = "each reading gives another ETag"
    ONE_TAG = "all contents have one ETag"
    REVIVES = "an update brings a deleted object back"
    PRETENDS = "nothing is ever written, and all is well"


Script = Callable[[Request], Answer | None]
HANG_UP = Answer(None)


def error(status: int, code: str, more: str = "") -> Answer:
    """Answer with an error as S3 words it."""
    return Answer(status, f"<Error><Code>{code}</Code><Message>No.</Message>{more}</Error>")


class S3Double(ThreadingHTTPServer):
    """The server; ``script`` and ``flaw`` may be changed while it runs, ``requests`` lists what came in."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.script: Script = lambda _: None
        self.flaw: Flaw | None = None
        self.undeletable: set[str] = set()
        self.opened: dict[str, Store] = {}
        self.lock = threading.Lock()
        self.readings = 0

    @property
    def url(self) -> str:
        """Return the address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def store(self, url: str = "s3://bucket", **options: Any) -> Store:
        """Open a store that does not wait long; without options always the same, as that is quicker."""
        return self._open(url, **options) if options else self._once(url)

    def _once(self, url: str) -> Store:
        if url not in self.opened:
            self.opened[url] = self._open(url)
        return self.opened[url]

    def _open(self, url: str, **options: Any) -> Store:
        given = {
            "s3": {"endpoint": self.url, "access_key_id": "anybody", "secret_access_key": "anything"},
            "gs": {"base_url": self.url, "bearer_token": "anything"},
            "az": {"endpoint": f"{self.url}/account", "account_name": "account", "sas_key": "sv=1&sig=anything"},
        }[url.partition(":")[0]]
        quick = {"max_retries": 1, "backoff": {"init_backoff": _MS, "max_backoff": _MS, "base": 2}}
        return Store(url, **{"allow_http": True, "timeout": "150ms", "retry_config": quick, **given, **options})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are part of the play."""

    def answer(self, request: Request) -> Answer:
        """Do what a request asks for, one at a time."""
        with self.lock:
            act = {"GET": self._read, "HEAD": self._read, "PUT": self._write, "POST": self._delete_many}
            if request.method == "DELETE":
                return Answer(204 if self.objects.pop(request.path, None) is not None else 404)
            return act[request.method](request)

    def _read(self, request: Request) -> Answer:
        if "list-type" in request.query:
            return self._list(request)
        if request.path not in self.objects:
            return error(404, "NoSuchKey")
        data = self.objects[request.path]
        self.readings += 1
        flawed = {
            Flaw.NO_TAGS: {},
            Flaw.WEAK_TAGS: {"ETag": f"W/{self._tag(data)}"},
            Flaw.NEW_TAGS: {"ETag": f'"{self.readings}"'},
        }
        headers = flawed.get(self.flaw, {"ETag": self._tag(data)})  # type: ignore[arg-type]
        headers["Last-Modified"] = _MODIFIED
        if "range" not in request.headers:
            return Answer(200, data, headers)
        first, last = request.headers["range"].removeprefix("bytes=").split("-")
        start = int(first) if first else max(len(data) - int(last), 0)
        part = data[start : int(last) + 1 if first and last else None]
        return Answer(206, part, {**headers, "Content-Range": f"bytes {start}-{start + len(part) - 1}/{len(data)}"})

    def _list(self, request: Request) -> Answer:
        asked = dict(parse_qsl(request.query))
        prefix = f"{request.path.rstrip('/')}/{asked.get('prefix', '')}"
        names = sorted(path for path in self.objects if path.startswith(prefix))
        deeper: set[str] = set()
        if "delimiter" in asked:
            deeper = {path[: path.index("/", len(prefix)) + 1] for path in names if "/" in path[len(prefix) :]}
            names = [path for path in names if "/" not in path[len(prefix) :]]
        told = [f"<Contents>{_listed(path, self.objects[path])}</Contents>" for path in names]
        told += [f"<CommonPrefixes><Prefix>{_key(path)}</Prefix></CommonPrefixes>" for path in sorted(deeper)]
        return Answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(told)}</ListBucketResult>")

    def _write(self, request: Request) -> Answer:
        found = self.objects.get(request.path)
        wanted = request.headers.get("if-match")
        if self.flaw is Flaw.IGNORES or (self.flaw is Flaw.IGNORES_TAGS and wanted):
            allowed = True
        elif wanted:
            there = found is not None and wanted.removeprefix("W/") == self._tag(found)
            allowed = self.flaw is not Flaw.REFUSES and (there or (found is None and self.flaw is Flaw.REVIVES))
        else:
            allowed = found is None or "if-none-match" not in request.headers
        if not allowed:
            return error(412, "PreconditionFailed")
        if self.flaw is not Flaw.PRETENDS:
            self.objects[request.path] = request.body
        return Answer(200, "", {"ETag": self._tag(request.body)})

    def _delete_many(self, request: Request) -> Answer:
        body = ElementTree.fromstring(request.body)  # noqa: S314  what our own client wrote
        keys = [one.text for one in body.iter() if one.tag.endswith("Key")]
        stay = [key for key in keys if key in self.undeletable]
        for key in set(keys) - set(stay):
            self.objects.pop(f"{request.path.rstrip('/')}/{key}", None)
        told = [f"<Error><Key>{key}</Key><Code>AccessDenied</Code><Message>No.</Message></Error>" for key in stay]
        told += [f"<Deleted><Key>{key}</Key></Deleted>" for key in keys if key not in stay]
        return Answer(200, f"<DeleteResult>{''.join(told)}</DeleteResult>")

    def _tag(self, data: bytes) -> str:
        return '"one"' if self.flaw is Flaw.ONE_TAG else f'"{hashlib.sha256(data).hexdigest()[:8]}"'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: S3Double

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, unquote(address.path), address.query, headers, body)
        self.server.requests.append(request)
        scripted = self.server.script(request)
        answer = scripted or self.server.answer(request)
        if scripted is not None and scripted.done:
            self.server.answer(request)
        time.sleep(answer.after)
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        if answer.status is None:
            self.close_connection = True
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.connection.close()
            return
        data = answer.body.encode() if isinstance(answer.body, str) else answer.body
        lines = [f"HTTP/1.1 {answer.status} scripted", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode()
        self.wfile.write(head if self.command == "HEAD" else head + data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _any  # noqa: N815  the library's names


@contextmanager
def s3_double() -> Iterator[S3Double]:
    """Run a server."""
    server = S3Double()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def _listed(path: str, data: bytes) -> str:
    return f"<Key>{_key(path)}</Key><Size>{len(data)}</Size><LastModified>2025-11-21T12:00:00Z</LastModified>"


def _key(path: str) -> str:
    return path.split("/", 2)[2]
