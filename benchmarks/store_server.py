"""A bucket in a directory, served as S3 is, so far away that every request takes as long as it is told to.

    python -m benchmarks.store_server FOLDER MILLISECONDS

Prints its port when it is ready, and ends with its standard input. It answers what reading needs: objects whole and by
ranges, their size, and listings. ``GET /-/used`` tells what was asked since it was last asked this, and takes no time:
requests, bytes of the answers, and round trips that had to follow one another, which are as many requests as can be
found of which each began after the one before was answered.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"
_ZONE = "http://s3.amazonaws.com/doc/2006-03-01/"
_PAGE = 1000


class Far(ThreadingHTTPServer):
    """The server, and what was asked of it."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.seconds = folder, seconds
        self._asked: list[tuple[float, float, int]] = []
        self._lock = threading.Lock()

    def note(self, start: float, size: int) -> None:
        """Note a request."""
        with self._lock:
            self._asked.append((start, time.monotonic(), size))

    def used(self) -> dict[str, int]:
        """Tell what was asked, and forget it."""
        with self._lock:
            asked, self._asked = self._asked, []
        ends, last = 0, float("-inf")
        for start, end, _ in sorted(asked, key=lambda one: one[1]):
            if start >= last:
                ends, last = ends + 1, end
        return {"requests": len(asked), "bytes": sum(size for *_, size in asked), "round_trips": ends}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Far
    asked_at: float | None = None
    """When the request came that is noted before it is answered, so that who has the answer finds it noted."""

    def do_GET(self) -> None:
        """Answer with an object, a range of it, or a listing."""
        if self.path == "/-/used":
            self.asked_at = None
            self._send(HTTPStatus.OK, json.dumps(self.server.used()).encode())
            return
        self.asked_at = time.monotonic()
        time.sleep(self.server.seconds)
        url = urlsplit(self.path)
        key = unquote(url.path).removeprefix(f"/{BUCKET}").lstrip("/")
        if "list-type" in url.query:
            self._list(parse_qs(url.query))
        else:
            self._object(key)

    do_HEAD = do_GET  # noqa: N815

    def _object(self, key: str) -> None:
        path = self.server.folder / key
        if not key or not path.is_file():
            code = "<Error><Code>NoSuchKey</Code><Message>There is no such key.</Message></Error>"
            self._send(HTTPStatus.NOT_FOUND, code.encode(), {"Content-Type": "application/xml"})
            return
        told = path.stat()
        headers = {
            "ETag": f'"{told.st_mtime_ns:x}-{told.st_size:x}"',
            "Last-Modified": formatdate(told.st_mtime, usegmt=True),
            "Accept-Ranges": "bytes",
            "Content-Type": "binary/octet-stream",
        }
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            body = b"" if self.command == "HEAD" else path.read_bytes()
            self._send(HTTPStatus.OK, body, headers, told.st_size)
            return
        first, last = asked.groups()
        start = int(first) if first else max(told.st_size - int(last), 0)
        end = min(int(last) + 1, told.st_size) if first and last else told.st_size
        with path.open("rb") as file:
            file.seek(start)
            body = file.read(end - start)
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{told.st_size}"
        self._send(HTTPStatus.PARTIAL_CONTENT, body, headers)

    def _list(self, asked: dict[str, list[str]]) -> None:
        prefix, delimiter = (asked.get(name, [""])[0] for name in ("prefix", "delimiter"))
        after = asked.get("continuation-token", asked.get("start-after", [""]))[0]
        keys = [key for key in self._keys(prefix) if key.startswith(prefix) and key > after]
        folders: dict[str, None] = {}
        objects: list[str] = []
        for key in keys:
            head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            if found:
                folders[prefix + head + delimiter] = None
            else:
                objects.append(key)
        page, more = objects[:_PAGE], len(objects) > _PAGE
        lines = [f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><MaxKeys>{_PAGE}</MaxKeys>"]
        lines.append(f"<KeyCount>{len(page) + len(folders)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>")
        lines += [f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"] if more else []
        lines += map(self._entry, page)
        lines += [f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in folders]
        body = f'<ListBucketResult xmlns="{_ZONE}">{"".join(lines)}</ListBucketResult>'
        self._send(HTTPStatus.OK, body.encode(), {"Content-Type": "application/xml"})

    def _keys(self, prefix: str) -> list[str]:
        """Return the keys below the last folder that a prefix names."""
        top = self.server.folder / prefix.rpartition("/")[0]
        return sorted(one.relative_to(self.server.folder).as_posix() for one in top.rglob("*") if one.is_file())

    def _entry(self, key: str) -> str:
        told = (self.server.folder / key).stat()
        when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(told.st_mtime))
        tag = f"<ETag>&quot;{told.st_mtime_ns:x}-{told.st_size:x}&quot;</ETag><Size>{told.st_size}</Size>"
        return f"<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified>{tag}</Contents>"

    def _send(
        self, status: HTTPStatus, body: bytes, headers: dict[str, str] | None = None, size: int | None = None
    ) -> None:
        if self.asked_at is not None:
            self.server.note(self.asked_at, 0 if self.command == "HEAD" else len(body))
        self.send_response_only(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def main(folder: str, milliseconds: str) -> None:
    """Serve until standard input ends."""
    with Far(Path(folder), int(milliseconds) / 1000) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
