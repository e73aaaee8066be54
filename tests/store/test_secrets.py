"""Secrets are seen by nobody: not in errors, their causes and tracebacks, not in reprs, and not in other processes."""

from __future__ import annotations

import base64
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from tests.store.s3_double import Answer, Request, S3Double, s3_double
from tests.store.test_answers import OTHERS, READING, WRITING, act

from kubothek.errors import InvalidInputError
from kubothek.store.interface import Doubtful, Store
from kubothek.store.open import open_store
from kubothek.store.redaction import redacted

KEY = base64.b64encode(b"PLANTED-account-key").decode()
PLANTED = {
    "s3": {"access_key_id": "somebody", "secret_access_key": "PLANTED/secret+x=", "session_token": "PLANTED-session"},
    "gs": {"bearer_token": "PLANTED-bearer"},
    "az": {"sas_key": "sv=1&sp=rw&sig=PLANTED%2Bsignature"},
    "az with key": {"account_key": KEY},
    "s3 with headers": {"skip_signature": True, "default_headers": {"authorization": "Basic PLANTED-header"}},
}


@pytest.fixture(scope="module")
def double() -> Iterator[S3Double]:
    """Run a server that tells in each error what it was sent."""

    def tell(request: Request) -> Answer:
        body = f"{request.path}?{request.query} {request.headers} <Token-0>PLANTED-session</Token-0>"
        return Answer(400, f"<Error><Code>ExpiredToken</Code><Message>{body}</Message></Error>")

    with s3_double() as server:
        server.script = tell
        yield server


def opened(double: S3Double, kind: str) -> Store:
    """Open a store that has secrets."""
    scheme = kind[:2]
    where: dict[str, Any] = {
        "s3": {"endpoint": double.url},
        "gs": {"base_url": double.url},
        "az": {"endpoint": f"{double.url}/account", "account_name": "account"},
    }[scheme]
    return Store(f"{scheme}://bucket", allow_http=True, **where, **PLANTED[kind])  # type: ignore[arg-type]


def all_of(error: BaseException | None) -> str:
    """Give everything that anybody could print of an error."""
    if error is None:
        return ""
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(error.__dict__)
    return told + all_of(error.__cause__) + all_of(error.__context__)


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("verb", [*WRITING, *READING, *OTHERS])
def test_no_error_tells_a_secret(double: S3Double, kind: str, verb: str) -> None:
    """Though the server sends back whatever it got, nothing planted comes out, causes included."""
    store = opened(double, kind)
    try:
        outcome = act(store, verb)
        failed = outcome.error if isinstance(outcome, Doubtful) else None
    except OSError as error:
        failed = error
    told = all_of(failed)
    assert "ExpiredToken" in told or verb == "info"
    assert "PLANTED" not in told
    assert KEY not in told
    assert "PLANTED" not in repr(store)


def test_a_store_that_cannot_be_made_tells_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a secret was put by mistake."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "PLANTED-environment")
    for url, options in [
        ("s3://b", {"secret_access_key": "PLANTED-x", "colour": "x"}),
        ("s3://b", {"secret_access_key": "PLANTED-x", "timeout": "PLANTED-x"}),
        ("s3://b", {"conditional_put": "PLANTED-environment"}),
        ("s3://b", {"endpoint": "http://me:PLANTED@host"}),
        ("s3://me:PLANTED@b", {}),
        ("s3://PLANTED@b", {}),
        ("az://c?sv=1&sig=PLANTED", {}),
        ("az://c", {"account_name": "a", "account_key": "PLANTED not base64"}),
        ("gs://b", {"service_account_key": '{"private_key": "PLANTED"'}),
        ("memory://", {"token": "PLANTED"}),
        ("/data", {"token": "PLANTED"}),
    ]:
        with pytest.raises(InvalidInputError) as caught:
            Store(url, **options)
        assert "PLANTED" not in all_of(caught.value)
    options: Any = {"secret_access_key": "PLANTED"}
    with pytest.raises(InvalidInputError) as caught:
        open_store(options)
    assert "PLANTED" not in all_of(caught.value)


def test_the_environment_stays_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle has the options that were given, and nothing that the environment said."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "PLANTED")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "PLANTED")
    assert b"PLANTED" not in pickle.dumps(Store("s3://bucket", region="eu-west-1"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https://a.example/c/k?sp=r&sig=abc%2Bd%3D&se=1", "https://a.example/c/k?sp=r&sig=[hidden]&se=1"),
        ("?X-Amz-Credential=A%2Fs3&X-Amz-Signature=ab", "?X-Amz-Credential=[hidden]&X-Amz-Signature=[hidden]"),
        ("X-Goog-Signature=ab X-Amz-Security-Token=cd", "X-Goog-Signature=[hidden] X-Amz-Security-Token=[hidden]"),
        ("AccountName=a;AccountKey=abc==;Endpoint=e", "AccountName=a;AccountKey=[hidden];Endpoint=e"),
        ('{"access_token": "ab\\"c", "expires": 1}', '{"access_token": "[hidden]", "expires": 1}'),
        ("<Token-0>abc</Token-0><Code>X</Code>", "<Token-0>[hidden]</Token-0><Code>X</Code>"),
        ("authorization: Bearer ya29.abcdefghijklmnopqrst", "authorization: Bearer [hidden]"),
        ("SharedKey account:abcdefghijklmnopqrstuvwxyz=", "SharedKey [hidden]"),
        ("MAC signature found in the HTTP request 'abc=' is", "MAC signature found in the HTTP request '[hidden]' is"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END", "-----BEGIN PRIVATE KEY-----[hidden]-----END"),
        ("http://me:pass@host/k", "http://[hidden]@host/k"),
        ("no bearer token; use basic authentication", "no bearer token; use basic authentication"),
        ("known-secret and known%2Dsecret stay not", "[hidden] and known%2Dsecret stay not"),
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_goes(text: str, left: str) -> None:
    """Forms of services, libraries and signed addresses; ordinary words stay."""
    assert redacted(text, ["known-secret", "e"]) == left
