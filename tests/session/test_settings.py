"""What a session is made with, without making one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubothek.errors import InvalidInputError
from kubothek.spark.session import memory_of_machine, session_settings


@pytest.mark.parametrize(
    ("arguments", "master"),
    [({}, "local[*]"), ({"cores": 3}, "local[3]"), ({"master": "spark://host:7077"}, "spark://host:7077")],
    ids=["default", "cores", "cluster"],
)
def test_master(arguments: dict, master: str) -> None:
    """A session runs on this machine unless a master is named."""
    assert session_settings(**arguments)["spark.master"] == master


@pytest.mark.parametrize("setting", ["spark.driver.host", "spark.driver.bindAddress"])
def test_loopback_is_for_this_machine_only(setting: str) -> None:
    """Executors elsewhere must reach the driver, so its address is left to Spark then."""
    assert session_settings()[setting] == "127.0.0.1"
    assert setting not in session_settings(master="yarn")


def test_config_wins() -> None:
    """Any setting can be replaced by the caller."""
    assert session_settings(config={"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"


def test_time_zone_is_left_alone() -> None:
    """The zone of a session is the user's choice."""
    assert "spark.sql.session.timeZone" not in session_settings()


def test_cores_and_master_exclude_each_other() -> None:
    """Cores of this machine make no sense for a cluster."""
    with pytest.raises(InvalidInputError, match=r"spark\.executor\.cores"):
        session_settings(master="yarn", cores=2)


@pytest.mark.parametrize(("content", "limited"), [("1048576\n", True), ("max\n", False), (None, False)])
def test_memory_is_that_of_the_container(tmp_path: Path, content: str | None, limited: bool) -> None:
    """A limit on the container counts, where there is one."""
    limit = tmp_path / "memory.max"
    if content is not None:
        limit.write_text(content)
    assert (memory_of_machine(limit) == 1048576) is limited
