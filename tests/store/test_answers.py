"""Whatever a server answers, or does not: each verb ends as the interface promises, on each service."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.store.s3_double import HANG_UP, Answer, S3Double, error, s3_double

from kubothek.errors import ObjectNotFoundError, StoreError
from kubothek.store.interface import Doubtful, LostRace, Store, Swapped

URLS = ["s3://bucket", "gs://bucket", "az://container"]
WRITING = ["create", "replace"]
READING = ["get", "get_range", "info", "get_many"]
OTHERS = ["put", "delete", "copy", "list", "list_level"]

REFUSED = {
    "not signed in": error(401, "InvalidAccessKeyId"),
    "no permission": error(403, "AccessDenied"),
    "bad signature": error(403, "SignatureDoesNotMatch"),
    "no bucket": error(404, "NoSuchBucket"),
    "no container": error(404, "ContainerNotFound"),
    "leased": error(412, "LeaseIdMissing"),
    "wrong region": error(400, "AuthorizationHeaderMalformed"),
    "expired token": error(400, "ExpiredToken"),
    "moved": error(301, "PermanentRedirect"),
    "moved there": Answer(307, "", {"Location": "https://elsewhere.example/k"}),
}
DOUBTFUL = {
    "broken": error(500, "InternalError"),
    "throttled": error(503, "SlowDown"),
    "too many": error(429, "TooManyRequests"),
    "slow upload": error(400, "RequestTimeout"),
    "reset": HANG_UP,
    "nothing in time": Answer(200, after=0.3),
    "no tag": Answer(200),
}


@pytest.fixture(scope="module")
def running() -> Iterator[S3Double]:
    """Run one server."""
    with s3_double() as server:
        yield server


@pytest.fixture
def double(running: S3Double) -> S3Double:
    """Give a server without objects, flaws and script."""
    running.objects.clear()
    running.requests.clear()
    running.script, running.flaw = (lambda _: None), None
    return running


def always(double: S3Double, answer: Answer) -> None:
    """Have a server answer every request alike."""
    double.script = lambda _: answer


def act(store: Store, verb: str) -> object:
    """Carry out a verb."""
    acts: dict[str, Callable[[], object]] = {
        "get": lambda: store.get("k"),
        "get_range": lambda: store.get_range("k", 0, 1),
        "get_many": lambda: store.get_many(["k", "l"]),
        "info": lambda: store.info("k"),
        "put": lambda: store.put("k", b"v"),
        "create": lambda: store.create("k", b"v"),
        "replace": lambda: store.replace("k", b"v", "1"),
        "delete": lambda: store.delete(["k", "l"]),
        "copy": lambda: store.copy("k", "l"),
        "list": lambda: list(store.list()),
        "list_level": store.list_level,
    }
    return acts[verb]()


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_raises(double: S3Double, url: str, name: str) -> None:
    """Where surely nothing was written, both conditional writes raise, and say what the server said."""
    always(double, REFUSED[name])
    for verb in WRITING:
        with pytest.raises(StoreError, match=rf"{verb} of 'k' in {url} failed: .") as caught:
            act(double.store(url), verb)
        assert (caught.value.key, caught.value.operation) == ("k", verb)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("name", DOUBTFUL)
def test_no_answer_or_an_empty_one_is_doubtful(double: S3Double, url: str, name: str) -> None:
    """A server that failed, was busy or fell silent may have written, or may yet."""
    always(double, DOUBTFUL[name])
    store = double.store(url)
    for verb in WRITING:
        outcome = act(store, verb)
        assert isinstance(outcome, Doubtful), outcome
        assert isinstance(outcome.error, StoreError)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(
    ("answer", "repeated"),
    [
        (error(412, "PreconditionFailed"), False),
        (error(409, "BlobAlreadyExists"), False),
        (error(409, "ConditionalRequestConflict"), True),
    ],
    ids=["condition", "exists", "conflict"],
)
def test_a_condition_that_does_not_hold_is_a_lost_race(
    double: S3Double, url: str, answer: Answer, *, repeated: bool
) -> None:
    """So is a write that meets another one under way, which may be itself."""
    always(double, answer)
    assert act(double.store(url), "create") == LostRace(repeated)
    outcome = act(double.store(url), "replace")
    assert outcome == LostRace(repeated or (answer.status == 409 and url == "s3://bucket"))  # the client repeats those


@pytest.mark.parametrize("url", URLS)
def test_nothing_to_replace_is_a_lost_race_and_nowhere_to_create_is_not(double: S3Double, url: str) -> None:
    """An object that is gone was deleted by others; what cannot take a new one refuses it."""
    always(double, error(404, "NoSuchKey"))
    assert act(double.store(url), "replace") == LostRace()
    with pytest.raises(StoreError):
        act(double.store(url), "create")


@pytest.mark.parametrize("verb", WRITING)
@pytest.mark.parametrize("name", ["no permission", "no bucket", "wrong region", "moved"])
def test_a_refusal_after_a_failure_is_doubtful(double: S3Double, verb: str, name: str) -> None:
    """The client repeats by itself what a server failed at, and the first try may have been carried out."""
    answers = iter([error(500, "InternalError"), REFUSED[name]])
    double.script = lambda _: next(answers)
    assert isinstance(act(double.store(), verb), Doubtful)


def test_a_client_that_repeats_loses_against_itself(double: S3Double) -> None:
    """The server fails after it has written: the second try is refused by the first, and the bytes are ours."""
    answers = iter([Answer(500, done=True), None])
    double.script = lambda _: next(answers)
    assert double.store().create("k", b"ours") == LostRace(repeated=True)
    assert double.objects == {"/bucket/k": b"ours"}


@pytest.mark.parametrize("verb", WRITING)
def test_a_conditional_write_is_not_repeated_blindly(double: S3Double, verb: str) -> None:
    """After a lost connection it is up to the commit to look before it writes again."""
    always(double, HANG_UP)
    act(double.store(), verb)
    assert len(double.requests) == 1


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("verb", [*READING, *OTHERS])
@pytest.mark.parametrize(
    "answer", [error(403, "AccessDenied"), error(503, "SlowDown"), error(301, "Moved"), HANG_UP],
    ids=["no permission", "throttled", "moved", "reset"],
)  # fmt: skip
def test_all_else_that_fails_raises(double: S3Double, url: str, verb: str, answer: Answer) -> None:
    """An object that cannot be read is not taken for one that is not there."""
    always(double, answer)
    with pytest.raises(StoreError):
        act(double.store(url), verb)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("verb", ["get", "get_range", "info", "copy"])
def test_an_absent_object_is_told_from_an_absent_bucket(double: S3Double, url: str, verb: str) -> None:
    """The first is not found, the second is a wrong address; a HEAD has no words for the difference."""
    always(double, error(404, "NoSuchKey"))
    with pytest.raises(ObjectNotFoundError):
        act(double.store(url), verb)
    always(double, error(404, "NoSuchBucket"))
    with pytest.raises(ObjectNotFoundError if verb == "info" else StoreError):
        act(double.store(url), verb)


def test_writing_nowhere_is_no_absent_object(double: S3Double) -> None:
    """What is written need not be there before, so something else is missing."""
    always(double, error(404, "NoSuchKey"))
    with pytest.raises(StoreError):
        double.store().put("k", b"v")
    with pytest.raises(StoreError), double.store().create_file("k") as file:
        file.write(b"v")


def test_a_policy_that_forbids_changes_is_no_race(double: S3Double) -> None:
    """Azure words it with the status of one, and trying again would never end."""
    always(double, error(409, "BlobImmutableDueToPolicy"))
    with pytest.raises(StoreError):
        act(double.store("az://container"), "replace")


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:9", "https://{}"], ids=["nobody listens", "no TLS"]
)  # fmt: skip
def test_a_server_that_cannot_be_reached(double: S3Double, endpoint: str) -> None:
    """Nobody there, or not who was asked for: reading raises, writing is in doubt."""
    store = double.store(endpoint=endpoint.format(double.url.removeprefix("http://")))
    with pytest.raises(StoreError):
        store.get("k")
    assert isinstance(store.create("k", b""), Doubtful)


def test_deleting_goes_on_where_some_objects_stay(double: S3Double) -> None:
    """One key that may not be deleted, as a lock or a policy may say, keeps no other."""
    double.objects |= {f"/bucket/{key}": b"" for key in ("a", "b", "c", "d")}
    double.undeletable = {"b", "c"}
    with pytest.raises(StoreError, match="left 2 of 5 objects where they are: 'b', 'c'") as caught:
        double.store().delete(["a", "b", "nothing", "c", "d"])
    double.undeletable = set()
    assert (caught.value.keys, set(double.objects)) == (("b", "c"), {"/bucket/b", "/bucket/c"})


def test_deleting_gives_up_where_nothing_can_be(double: S3Double) -> None:
    """It is not about the keys then, and asking for each would take its time."""
    always(double, error(403, "AccessDenied"))
    with pytest.raises(StoreError, match="left 500 of 500") as caught:
        double.store().delete([f"k{i}" for i in range(500)])
    assert len(caught.value.keys) == 500
    assert len(double.requests) < 40


def test_a_conditional_write_takes_place(double: S3Double) -> None:
    """The double and the client understand each other when nothing is scripted."""
    store = double.store()
    first = store.create("k", b"1")
    assert isinstance(first, Swapped)
    assert isinstance(store.replace("k", b"2", first.etag), Swapped)
    assert store.replace("k", b"3", first.etag) == store.create("k", b"3") == LostRace()
    assert double.objects == {"/bucket/k": b"2"}
