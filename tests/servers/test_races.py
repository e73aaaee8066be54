"""Two processes append to one dataset, on each server and in a directory: no row is lost and none is doubled.

``RACE_ROWS`` says how many rows each appends through the proxy, and ``RACE_SEED`` which of the requests go wrong there.
"""

from __future__ import annotations

import os
import uuid
from datetime import timedelta
from pathlib import Path

from tests.appending import appended, check
from tests.servers.kinds import Server
from tests.servers.proxy import SWAPPING, Chance, Fault, Proxy

from kubothek.store.interface import Store

ROWS = 100
ROWS_WITH_FAULTS = int(os.environ.get("RACE_ROWS", "30"))
SEED = int(os.environ.get("RACE_SEED", "1"))
IMPATIENT = {"max_retries": 10, "backoff": {"init_backoff": timedelta(milliseconds=10), "base": 2}}
"""Tries as often as usual, but waits less between."""


def race(store: Store) -> None:
    """Let two processes append at the same time, and look at what is there."""
    tally = appended(store, "ab", ROWS)
    assert (len(tally.acknowledged), tally.refused, tally.unknown) == (2 * ROWS, frozenset(), frozenset())
    check(store, tally)


def test_on_a_server(store: Store) -> None:
    """Two times a hundred appends are there, once each."""
    race(store)


def test_in_a_directory(tmp_path: Path) -> None:
    """Likewise."""
    race(Store(tmp_path))


def test_on_a_server_that_fails(server: Server) -> None:
    """Where three of ten writes of the header go wrong, and one of twenty other requests, it is no different."""
    prefix = uuid.uuid4().hex
    with Proxy(server.port, Chance(SEED, headers=0.3, others=0.05)) as proxy:
        seen = Server(server.kind, proxy.port).store(prefix, {"timeout": "1s"}, retry_config=IMPATIENT)
        tally = appended(seen, "ab", ROWS_WITH_FAULTS)
    assert len(tally.acknowledged) == 2 * ROWS_WITH_FAULTS
    assert set(proxy.faults) >= {*SWAPPING, Fault.CUT_ANSWER}
    check(server.store(prefix), tally)
