"""A proxy between clients and a server that makes requests go wrong, as networks and overloaded servers do."""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import unquote

LATE_SECONDS = 1.5
"""How long a late request is held back; clients here give up after a second."""

CONFLICT_SECONDS = 0.2
"""How long one is held back that was refused."""

_RESET = struct.pack("ii", 1, 0)  # close without waiting: the other side gets a reset
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Fault(Enum):
    """What can go wrong with a request."""

    LOSE_REQUEST = "reset, never forwarded"
    LOSE_ANSWER = "forwarded, reset in place of the answer"
    CUT_ANSWER = "forwarded, reset after half of the answer's body"
    FAIL = "forwarded, and answered that the server failed"
    BUSY = "never forwarded, and answered that the server is busy"
    LATE = "forwarded when the client has given up, reset then"
    CONFLICT = "answered, as S3 does, that another request for the object is under way; then forwarded"


READING = (Fault.LOSE_REQUEST, Fault.CUT_ANSWER, Fault.BUSY)
DELETING = (Fault.LOSE_REQUEST, Fault.LOSE_ANSWER, Fault.FAIL, Fault.BUSY)
WRITING = (*DELETING, Fault.LATE)
SWAPPING = (*WRITING, Fault.CONFLICT)

Script = Callable[[str, str], Fault | None]
"""Says from the method and the path of a request what goes wrong with it."""


class Chance:
    """Lets a share of the requests go wrong: one for writes of a dataset's header, one for all others."""

    def __init__(self, seed: int, headers: float, others: float) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._headers, self._others = headers, others

    def __call__(self, method: str, path: str) -> Fault | None:
        """Draw."""
        faults = {"PUT": WRITING, "GET": READING, "HEAD": READING}.get(method, DELETING)
        rate = self._others
        if method == "PUT" and "by-dataset-metadata" in path:
            faults, rate = SWAPPING, self._headers
        with self._lock:
            return self._random.choice(faults) if self._random.random() < rate else None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered; the size that it told is kept where there is no body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    size: str | None


class Proxy(ThreadingHTTPServer):
    """Forwards to a port of this machine what the script lets pass; a context, in which it runs.

    ``faults`` counts what went wrong, by fault.
    """

    request_queue_size = 128

    def __init__(self, target: int, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.script = target, script
        self.faults: Counter[Fault] = Counter()
        self._busy, self._change = 0, threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def port(self) -> int:
        """Return where it listens."""
        return self.server_port

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait for late requests, and end."""
        with self._change:
            self._change.wait_for(lambda: self._busy == 0, timeout=30)
        self.shutdown()
        self._thread.join()
        self.server_close()

    def begin(self, method: str, path: str) -> Fault | None:
        """Take a request on and say what goes wrong with it."""
        fault = self.script(method, unquote(path))
        with self._change:
            self._busy += 1
            if fault is not None:
                self.faults[fault] += 1
        return fault

    def end(self) -> None:
        """Be done with a request."""
        with self._change:
            self._busy -= 1
            self._change.notify_all()

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """Close a connection at once, so that one to be reset is reset."""
        self.close_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that left, as those of late requests did."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Proxy

    def pass_on(self) -> None:
        """Do with a request what the script says."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.begin(self.command, self.path)
        try:
            match fault:
                case Fault.LOSE_REQUEST:
                    self._reset()
                case Fault.BUSY:
                    self._answer(_error(HTTPStatus.SERVICE_UNAVAILABLE))
                case Fault.LATE:
                    time.sleep(LATE_SECONDS)
                    self._forward(body)
                    self._reset()
                case Fault.CONFLICT:
                    self._answer(Reply(HTTPStatus.CONFLICT, [("Connection", "close")], b"", None))
                    time.sleep(CONFLICT_SECONDS)
                    self._forward(body)
                case _:
                    self._answer_or_fail(self._forward(body), fault)
        finally:
            self.server.end()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on  # noqa: N815  names that the library looks for

    def _answer_or_fail(self, reply: Reply, fault: Fault | None) -> None:
        if fault is Fault.LOSE_ANSWER:
            self._reset()
        elif fault is Fault.FAIL:
            self._answer(_error(HTTPStatus.INTERNAL_SERVER_ERROR))
        elif fault is Fault.CUT_ANSWER:
            self._answer(reply, len(reply.body) // 2)
            self._reset()
        else:
            self._answer(reply)

    def _forward(self, body: bytes) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=30)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _HOP:
                connection.putheader(name, value)
        if body or self.command in ("PUT", "POST"):
            connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Connection", "close")
        connection.endheaders(body)
        found = connection.getresponse()
        told = [(name, value) for name, value in found.headers.items() if name.lower() not in _HOP]
        size = found.headers.get("Content-Length") if self.command == "HEAD" else None
        reply = Reply(found.status, told, found.read(), size)
        connection.close()
        return reply

    def _answer(self, reply: Reply, length: int | None = None) -> None:
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", reply.size or str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body[:length])
        self.wfile.flush()

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def _error(status: HTTPStatus) -> Reply:
    return Reply(status, [], b"", None)
