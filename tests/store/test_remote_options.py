"""Options of object stores: what they mean together with the environment, and which mistakes are told at once."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.store.s3_double import Answer, S3Double, error, s3_double

from kubothek.errors import InvalidInputError, StoreError
from kubothek.store.interface import Store
from kubothek.store.remote import RemoteStore
from kubothek.store.remote_options import CLIENT_OPTIONS, RETRY_CONFIG

KEY = base64.b64encode(b"a key of an account").decode()
ACCOUNT = {"account_name": "account"}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out what the machine's own environment may say."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def double() -> Iterator[S3Double]:
    """Run a server."""
    with s3_double() as server:
        yield server


@pytest.mark.parametrize(
    ("url", "options", "says"),
    [
        ("s3://b", {"colour": "x"}, "'colour' is not valid"),
        ("gs://b", {"region": "x"}, "'region' is not valid"),
        ("s3://b", {"access_key_id": "x"}, "Missing SecretAccessKey"),
        ("s3://b", {"region": "x", "aws_region": "y"}, "Duplicate key"),
        ("s3://b", {"bucket": "other"}, "Duplicate key"),
        ("s3://b", {"skip_signature": 1}, "not an instance"),
        ("s3://b", {"timeout": "soon"}, "Duration"),
        ("s3://b", {"retry_config": {"max_retries": -1}}, "negative"),
        ("s3://b", {"client_options": {"colour": "x"}}, "Invalid key"),
        ("s3://b", {"timeout": "1s", "client_options": {"timeout": "2s"}}, "'timeout' is given both"),
        ("s3://b", {"endpoint": "http://127.0.0.1:1"}, "not encrypted"),
        ("s3://b", {"endpoint": "localhost:9000"}, "no address"),
        ("s3://b", {"endpoint": "https://a b"}, "no address"),
        ("s3://b", {"endpoint": "https://s3.example", "virtual_hosted_style_request": True}, "begins with the bucket"),
        ("s3://b", {"access_key_id": "x", "secret_access_key": "y", "skip_signature": True}, "different ways"),
        ("gs://b", {"base_url": "ftp://x"}, "no address"),
        ("gs://b", {"bearer_token": "x", "service_account_key": "{}"}, "different ways"),
        ("az://c", {}, "Account must be specified"),
        ("az://c", {"account_key": KEY, "sas_key": "sv=1&sig=x", **ACCOUNT}, "account_key and sas_key are different"),
        ("az://c", {"account_key": "!", **ACCOUNT}, "Invalid Access Key"),
        ("az://c", {"use_emulator": True, "endpoint": "http://127.0.0.1:1/account"}, "would be ignored"),
        ("abfss://c@account.dfs.core.windows.net", {"account_name": "other"}, "Duplicate key"),
        ("s3://user@b", {}, "holds no user"),
        ("s3://", {}, "recognise"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_when_the_store_is_made(url: str, options: dict[str, Any], says: str) -> None:
    """Unknown, malformed and contradictory options are errors before anything is sent."""
    with pytest.raises(InvalidInputError, match=says):
        Store(url, **options)


def test_all_mistakes_are_told_together() -> None:
    """Who mends one need not come back for the next."""
    with pytest.raises(InvalidInputError, match=r"different ways.*not encrypted"):
        Store("az://c", account_key=KEY, sas_key="sv=1&sig=x", endpoint="http://127.0.0.1:1/account", **ACCOUNT)


def test_a_backend_takes_no_options() -> None:
    """It has its own, so more would do nothing."""
    with pytest.raises(InvalidInputError, match="region would do nothing"):
        RemoteStore("s3://b", backend=object(), region="x")


@pytest.mark.parametrize(
    ("url", "options"),
    [("s3a://b/p", {}), ("s3://b", {"config": {"region": "x"}}), ("s3://my_bucket.x", {"skip_signature": True}),
     ("s3://b", {"endpoint": "https://b.s3.example", "virtual_hosted_style_request": "true"}),
     ("gs://my_bucket/p", {"skip_signature": "true"}), ("adl://c", ACCOUNT), ("azure://c/p", ACCOUNT),
     ("abfs://c/p", ACCOUNT), ("abfss://c@account.dfs.core.windows.net/p", {}), ("az://c", {"use_emulator": True}),
     ("az://c", {"account_key": KEY, "sas_key": "sv=1&sig=x", "credential_type": "sas_token", **ACCOUNT})],
)  # fmt: skip
def test_what_is_sound_is_taken(url: str, options: dict[str, Any]) -> None:
    """Variants of schemes, nested options, public buckets and emulators."""
    assert Store(url, **options).url == url


def test_patience_has_defaults_that_can_be_replaced_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself or in its mapping, and the environment counts as well."""
    made = RemoteStore(
        "s3://b", timeout="5s", client_options={"user_agent": "me"}, retry_config={"max_retries": 2}
    )._made
    assert made.client_options == {**CLIENT_OPTIONS, "timeout": "5s", "user_agent": "me"}
    assert made.retry_config == {**RETRY_CONFIG, "max_retries": 2, "backoff": {**RETRY_CONFIG["backoff"], "base": 3.0}}
    assert made.retry_config["retry_timeout"] == timedelta(minutes=2)
    monkeypatch.setenv("AWS_READ_TIMEOUT", "3s")
    assert RemoteStore("s3://b")._made.client_options["read_timeout"] == "3s"


SENT = Answer(200, "", {"ETag": '"x"', "x-goog-generation": "1"})


@pytest.mark.parametrize(
    ("url", "environment", "options", "sent"),
    [
        ("az", {"AZURE_STORAGE_ACCOUNT_KEY": KEY}, {"sas_key": "sv=1&sig=x"}, "sv=1&sig=x"),
        ("az", {"AZURE_STORAGE_TOKEN": "other"}, {"account_key": KEY}, "SharedKey account"),
        ("az", {"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=x"}, {}, "sv=1&sig=x"),
        ("s3", {"AWS_SKIP_SIGNATURE": "true"}, {"access_key_id": "me", "secret_access_key": "x"}, "Credential=me/"),
        ("s3", {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "x"}, {}, "Credential=me/"),
        ("gs", {"GOOGLE_BEARER_TOKEN": "me"}, {}, "Bearer me"),
    ],
    ids=str,
)
def test_an_option_outweighs_the_environment(
    double: S3Double,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    environment: dict[str, str],
    options: dict[str, Any],
    sent: str,
) -> None:
    """Who gives a credential is not surprised by another, and what is not given comes from the environment."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    where = {
        "az": {"endpoint": f"{double.url}/account", **ACCOUNT},
        "s3": {"endpoint": double.url},
        "gs": {"base_url": double.url},
    }
    double.script = lambda _: SENT
    Store(f"{url}://c", allow_http=True, **where[url], **options).put("k", b"")
    (request,) = double.requests
    assert sent in f"{request.headers.get('authorization')} {request.query}"


def test_a_session_token_of_others_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token in the environment goes with the keys there, not with those given."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "other")
    keys = {"access_key_id": "me", "secret_access_key": "x"}
    with pytest.raises(InvalidInputError, match="AWS_SESSION_TOKEN"):
        Store("s3://b", **keys)
    Store("s3://b", **keys, session_token="mine")  # noqa: S106  nobody's
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    Store("s3://b", **keys)


def test_an_endpoint_of_the_environment_is_looked_at(double: S3Double, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same mistakes, and stores there are tried out before they are written to."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", double.url)
    with pytest.raises(InvalidInputError, match="not encrypted"):
        Store("s3://b")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    double.script = lambda _: error(403, "AccessDenied")
    with pytest.raises(StoreError, match="AccessDenied"):
        Store("s3://b", skip_signature=True).check_swap()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://s3.example")
    with pytest.raises(InvalidInputError, match=r"AWS_ENDPOINT_URL_S3.*is stronger"):
        Store("s3://b", endpoint=double.url)


@pytest.mark.parametrize("kind", ["service_account", "service_account_key"])
def test_an_account_file_may_name_another_server(double: S3Double, tmp_path: Any, kind: str) -> None:
    """Google's emulators are reached so, and are tried out."""
    account = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
    text = json.dumps({"gcs_base_url": double.url, "disable_oauth": True, **account})
    (tmp_path / "account.json").write_text(text)
    value = text if kind == "service_account_key" else str(tmp_path / "account.json")
    double.script = lambda _: error(403, "AccessDenied")
    with pytest.raises(StoreError, match="AccessDenied"):
        Store("gs://b", allow_http=True, **{kind: value}).check_swap()
