"""What the page about stores shows."""

from __future__ import annotations

from pathlib import Path

from kubothek.store.remote_options import CLIENT_OPTIONS, RETRY_CONFIG

PAGE = Path(__file__).parents[2] / "docs" / "stores.md"


def test_the_defaults_are_those() -> None:
    """The numbers of the page are those of the code."""
    text = PAGE.read_text(encoding="utf-8")
    assert CLIENT_OPTIONS == {"connect_timeout": "10s", "read_timeout": "1m", "timeout": "10m"}
    assert (RETRY_CONFIG["max_retries"], RETRY_CONFIG["retry_timeout"].total_seconds()) == (10, 120)
    rows = (
        "| to get a connection | 10 s |",
        "bytes come | 60 s |",
        "its answer | 10 min |",
        "connections | 10 |",
        "| 2 min",
    )
    assert all(row in text for row in rows)
