"""The proxy does what its faults say, seen from both sides."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from tests.servers.kinds import Server
from tests.servers.proxy import LATE_SECONDS, Fault, Proxy

from kubothek.store.interface import Doubtful, LostRace, Store, SwapOutcome, Swapped

ONCE = {"max_retries": 0, "retry_timeout": timedelta(seconds=5)}


def created(server: Server, fault: Fault) -> tuple[SwapOutcome, Store]:
    """Create an object while a fault hits the request; return the outcome, and the store seen without a proxy."""
    prefix = uuid.uuid4().hex
    with Proxy(server.port, lambda method, path: fault if method == "PUT" else None) as proxy:
        store = Server(server.kind, proxy.port).store(prefix, {"timeout": "1s"}, retry_config=ONCE)
        outcome = store.create("k", b"v")
    assert proxy.faults == {fault: 1}
    return outcome, server.store(prefix)


@pytest.mark.parametrize("fault", [Fault.LOSE_REQUEST, Fault.BUSY], ids=lambda fault: fault.name)
def test_what_is_not_forwarded_is_not_done(server: Server, fault: Fault) -> None:
    """The client is in doubt, and nothing is there."""
    outcome, store = created(server, fault)
    assert isinstance(outcome, Doubtful)
    assert list(store.list()) == []


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.FAIL, Fault.LATE], ids=lambda fault: fault.name)
def test_what_is_forwarded_is_done(server: Server, fault: Fault) -> None:
    """The client is in doubt, and the object is there, now or after the client's patience."""
    outcome, store = created(server, fault)
    assert isinstance(outcome, Doubtful)
    assert store.get("k").data == b"v"


def test_what_is_refused_because_it_is_under_way_is_done(server: Server) -> None:
    """The client is told that it has lost, and the object is there, though not at once."""
    outcome, store = created(server, Fault.CONFLICT)
    assert outcome == LostRace(repeated=True)
    assert store.get("k").data == b"v"


def test_a_late_write_loses_against_its_own_repetition(server: Server) -> None:
    """What a client repeats after its patience is over is done once, whichever comes first."""
    prefix, script = uuid.uuid4().hex, iter([Fault.LATE])
    etag = server.store(prefix).put("k", b"0")
    with Proxy(server.port, lambda method, path: next(script, None)) as proxy:
        store = Server(server.kind, proxy.port).store(prefix, {"timeout": "1s"}, retry_config=ONCE)
        outcomes = [store.replace("k", b"1", etag), store.replace("k", b"1", etag)]
        third = store.replace("k", b"2", outcomes[1].etag)
    assert [type(outcome) for outcome in (*outcomes, third)] == [Doubtful, Swapped, Swapped]
    assert server.store(prefix).get("k").data == b"2"
    assert LATE_SECONDS > 1


def test_half_an_answer_is_read_on(server: Server) -> None:
    """A client that loses the connection amid a body asks for the rest, and gets the whole."""
    prefix, script = uuid.uuid4().hex, iter([Fault.CUT_ANSWER, Fault.CUT_ANSWER])
    server.store(prefix).put("k", bytes(range(256)) * 1000)
    with Proxy(server.port, lambda method, path: next(script, None)) as proxy:
        data = Server(server.kind, proxy.port).store(prefix).get("k").data
    assert (data, proxy.faults) == (bytes(range(256)) * 1000, {Fault.CUT_ANSWER: 2})


def test_without_faults_all_passes(server: Server) -> None:
    """The second to create loses its race through the proxy as without."""
    prefix = uuid.uuid4().hex
    with Proxy(server.port, lambda method, path: None) as proxy:
        store = Server(server.kind, proxy.port).store(prefix)
        assert isinstance(store.create("k", b"v"), Swapped)
        assert store.create("k", b"w") == LostRace()
        assert [info.key for info in store.list()] == ["k"]
        store.delete(["k"])
    assert list(server.store(prefix).list()) == []
