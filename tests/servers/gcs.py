"""A server of our own that speaks what object-store clients use of Google Cloud Storage's XML API.

Objects live in memory. Each write gives an object a new generation, and ``x-goog-if-generation-match`` makes it happen
only at this one, or with 0 only where nothing is, as the documentation of the XML API says. Every request takes effect
at one moment. It proves how our side behaves, not how Google's does.
"""

from __future__ import annotations

import hashlib
import re
import sys
import threading
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree as ET

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Stored:
    """An object; a new one for every write."""

    data: bytes
    generation: int
    modified: datetime

    def headers(self) -> dict[str, str]:
        """Return what every answer about the object says."""
        return {
            "ETag": f'"{hashlib.sha256(self.data).hexdigest()}"',
            "Last-Modified": format_datetime(self.modified, usegmt=True),
            "x-goog-generation": str(self.generation),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with; without a body where ``size`` is given."""

    status: HTTPStatus
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    size: int | None = None


class Bucket:
    """The objects of one bucket, and what is being uploaded in parts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = 1_700_000_000_000_000
        self._objects: dict[str, Stored] = {}
        self._uploads: dict[str, dict[int, bytes]] = {}

    def get(self, name: str, wanted: str | None) -> Answer:
        """Return an object, or the range of it that a header asks for."""
        stored = self._objects.get(name)
        if stored is None:
            return refused(HTTPStatus.NOT_FOUND, "NoSuchKey")
        if wanted is None:
            return Answer(HTTPStatus.OK, stored.data, stored.headers())
        first, last = _bounds(wanted, len(stored.data))
        if first > last:
            return refused(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "InvalidRange")
        told = {"Content-Range": f"bytes {first}-{last}/{len(stored.data)}"}
        return Answer(HTTPStatus.PARTIAL_CONTENT, stored.data[first : last + 1], stored.headers() | told)

    def head(self, name: str) -> Answer:
        """Tell about an object."""
        stored = self._objects.get(name)
        if stored is None:
            return Answer(HTTPStatus.NOT_FOUND)
        return Answer(HTTPStatus.OK, headers=stored.headers(), size=len(stored.data))

    def put(self, name: str, data: bytes, at: str | None) -> Answer:
        """Write an object, where a condition is given only if it holds."""
        with self._lock:
            return self._put(name, data, at)

    def copy(self, source: str, name: str, at: str | None) -> Answer:
        """Write an object with another's content."""
        with self._lock:
            stored = self._objects.get(source)
            if stored is None:
                return refused(HTTPStatus.NOT_FOUND, "NoSuchKey")
            answer = self._put(name, stored.data, at)
        return Answer(answer.status, answer.body or _xml("CopyObjectResult"), answer.headers)

    def delete(self, name: str) -> Answer:
        """Remove an object."""
        with self._lock:
            if self._objects.pop(name, None) is None:
                return refused(HTTPStatus.NOT_FOUND, "NoSuchKey")
        return Answer(HTTPStatus.NO_CONTENT)

    def begin(self) -> Answer:
        """Begin an upload in parts."""
        upload = uuid.uuid4().hex
        self._uploads[upload] = {}
        return Answer(HTTPStatus.OK, _xml("InitiateMultipartUploadResult", UploadId=upload))

    def part(self, upload: str, number: int, data: bytes) -> Answer:
        """Take a part."""
        if upload not in self._uploads:
            return refused(HTTPStatus.NOT_FOUND, "NoSuchUpload")
        self._uploads[upload][number] = data
        return Answer(HTTPStatus.OK, headers={"ETag": f'"{hashlib.sha256(data).hexdigest()}"'})

    def finish(self, upload: str, name: str, at: str | None) -> Answer:
        """Make an object of all parts."""
        with self._lock:
            if upload not in self._uploads:
                return refused(HTTPStatus.NOT_FOUND, "NoSuchUpload")
            parts = self._uploads.pop(upload)
            answer = self._put(name, b"".join(parts[number] for number in sorted(parts)), at)
        told = _xml("CompleteMultipartUploadResult", ETag=answer.headers.get("ETag", ""))
        return Answer(answer.status, answer.body or told, answer.headers)

    def abort(self, upload: str) -> Answer:
        """Forget an upload."""
        self._uploads.pop(upload, None)
        return Answer(HTTPStatus.NO_CONTENT)

    def list(self, prefix: str, delimiter: str, after: str, page: int) -> Answer:
        """List a page of names, those with the delimiter after the prefix by their beginning alone."""
        with self._lock:
            objects = dict(self._objects)
        result, told, folder = ET.Element("ListBucketResult"), 0, ""
        for name in sorted(name for name in objects if name.startswith(prefix) and name > after):
            if folder and name.startswith(folder):
                after = name
                continue
            if told == page:
                ET.SubElement(result, "NextContinuationToken").text = after
                break
            cut = name.find(delimiter, len(prefix)) if delimiter else -1
            folder = name[: cut + len(delimiter)] if cut >= 0 else ""
            if folder:
                ET.SubElement(ET.SubElement(result, "CommonPrefixes"), "Prefix").text = folder
            else:
                _describe(result, name, objects[name])
            told, after = told + 1, name
        return Answer(HTTPStatus.OK, ET.tostring(result))

    def _put(self, name: str, data: bytes, at: str | None) -> Answer:
        stored = self._objects.get(name)
        if at is not None and int(at) != (0 if stored is None else stored.generation):
            return refused(HTTPStatus.PRECONDITION_FAILED, "PreconditionFailed")
        self._generation += 1
        self._objects[name] = Stored(data, self._generation, datetime.now(UTC))
        return Answer(HTTPStatus.OK, headers=self._objects[name].headers())


class Handler(BaseHTTPRequestHandler):
    """One connection. Every bucket that is asked for is there."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    buckets: dict[str, Bucket] = {}  # noqa: RUF012  what the server holds, by name

    def answer(self) -> None:
        """Do what the request says."""
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        bucket, _, name = url.path.removeprefix("/").partition("/")
        asked = {key: values[0] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        found = self._do(self.buckets.setdefault(unquote(bucket), Bucket()), unquote(name), asked, body)
        self.send_response(found.status)
        for key, value in found.headers.items():
            self.send_header(key, value)
        if found.status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(found.body) if found.size is None else found.size))
        self.end_headers()
        self.wfile.write(found.body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815  names that the library looks for

    def _do(self, bucket: Bucket, name: str, asked: dict[str, str], body: bytes) -> Answer:
        at, upload = self.headers.get("x-goog-if-generation-match"), asked.get("uploadId", "")
        match self.command, name, upload:
            case "GET", "", _:
                after = asked.get("continuation-token") or asked.get("start-after", "")
                page = int(asked.get("max-keys", _PAGE))
                return bucket.list(asked.get("prefix", ""), asked.get("delimiter", ""), after, page)
            case "GET", _, _:
                return bucket.get(name, self.headers.get("Range"))
            case "HEAD", _, _:
                return bucket.head(name)
            case "PUT", _, "":
                source = self.headers.get("x-goog-copy-source")
                if source is None:
                    return bucket.put(name, body, at)
                return bucket.copy(unquote(source).removeprefix("/").partition("/")[2], name, at)
            case "PUT", _, _:
                return bucket.part(upload, int(asked["partNumber"]), body)
            case "POST", _, "":
                return bucket.begin()
            case "POST", _, _:
                return bucket.finish(upload, name, at)
            case "DELETE", _, "":
                return bucket.delete(name)
            case _:
                return bucket.abort(upload)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def refused(status: HTTPStatus, code: str) -> Answer:
    """Return an error as the XML API tells it."""
    return Answer(status, _xml("Error", Code=code, Message=status.phrase))


def _bounds(wanted: str, size: int) -> tuple[int, int]:
    found = _RANGE.fullmatch(wanted)
    assert found is not None, wanted
    first, last = found.groups()
    if not first:
        return max(size - int(last), 0), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


def _describe(result: ET.Element, name: str, stored: Stored) -> None:
    told = ET.SubElement(result, "Contents")
    ET.SubElement(told, "Key").text = name
    ET.SubElement(told, "LastModified").text = stored.modified.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    ET.SubElement(told, "ETag").text = stored.headers()["ETag"]
    ET.SubElement(told, "Size").text = str(len(stored.data))


def _xml(root: str, **texts: str) -> bytes:
    element = ET.Element(root)
    for tag, text in texts.items():
        ET.SubElement(element, tag).text = text
    return ET.tostring(element)


class Listener(ThreadingHTTPServer):
    """Takes connections, many at once."""

    request_queue_size = 128


def main() -> None:
    """Serve on a port until killed."""
    Listener(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()


if __name__ == "__main__":
    main()
