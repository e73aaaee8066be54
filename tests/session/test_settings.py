"""What a session is made with, without making one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kubothek
from kubothek.errors import InvalidInputError
from kubothek.spark.session import memory_of_machine, session_settings

OWN_PATH = """
import sys
sys.path.insert(0, sys.argv[1])
import kubothek
from kubothek.spark.session import session_settings

print(kubothek.__file__, "spark.python.daemon.module" in session_settings())
"""


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


def test_workers_are_forked_from_what_has_been_imported_on_this_machine_only() -> None:
    """Executors elsewhere need not have the package when they start, and clients of a server bring their own."""
    assert session_settings(cores=2)["spark.python.daemon.module"] == "kubothek.spark.daemon"
    for elsewhere in ({"master": "yarn"}, {"remote": "local[2]"}, {"config": {"spark.master": "yarn"}}):
        assert "spark.python.daemon.module" not in session_settings(**elsewhere)


def test_a_program_that_spark_has_started_leaves_workers_to_it() -> None:
    """``spark-submit`` tells its program alone where the files lie that were submitted with it."""
    command = [sys.executable, "-c", OWN_PATH, "nowhere"]
    environment = os.environ | {"PYSPARK_GATEWAY_PORT": "1"}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert said.endswith(" False\n")


def test_a_package_that_only_this_program_finds_leaves_workers_to_spark(tmp_path: Path) -> None:
    """A daemon that cannot be imported would end every Python task; ``ship`` mends what Spark's own can not find."""
    (tmp_path / "kubothek").symlink_to(Path(kubothek.__file__).parent)
    command = [sys.executable, "-c", OWN_PATH, tmp_path]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == f"{tmp_path / 'kubothek' / '__init__.py'} False\n"


def test_arrow_is_asked_once_in_the_jvm_that_is_started_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others have started has its own options, and so has a folder with settings of Spark."""
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    assert "-Darrow.enable_null_check_for_get=false" in session_settings()["spark.driver.extraJavaOptions"].split()
    assert "spark.driver.extraJavaOptions" not in session_settings(remote="sc://host:15002")
    monkeypatch.setenv("SPARK_CONF_DIR", "/settings")
    assert "spark.driver.extraJavaOptions" not in session_settings()


def test_config_wins() -> None:
    """Any setting can be replaced by the caller."""
    assert session_settings(config={"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"


def test_time_zone_is_left_alone() -> None:
    """The zone of a session is the user's choice."""
    assert "spark.sql.session.timeZone" not in session_settings()


CONTRADICTIONS = {
    "cores of a cluster": ({"master": "yarn", "cores": 2}, r"spark\.executor\.cores"),
    "cores of a server": ({"remote": "sc://host", "cores": 2}, "remote='sc://host' and cores=2"),
    "memory of a server": ({"remote": "sc://host", "memory": "4g"}, "runs already"),
    "master and server": ({"master": "yarn", "remote": "sc://host"}, "Name the master"),
    "server as master": ({"master": "sc://host:15002"}, "remote='sc://host:15002'"),
    "master as server": ({"remote": "spark://host:7077"}, "is a master"),
}


@pytest.mark.parametrize(("arguments", "told"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_places_that_contradict_each_other_are_refused(arguments: dict, told: str) -> None:
    """A session runs in one place, and what belongs to this machine is not asked of others."""
    with pytest.raises(InvalidInputError, match=told):
        session_settings(**arguments)


def test_server_elsewhere_keeps_its_own_settings() -> None:
    """A client of Connect asks for what a session can change, and starts nothing."""
    assert session_settings(remote="sc://host:15002", config={"spark.sql.ansi.enabled": "true"}) == {
        "spark.remote": "sc://host:15002",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.ansi.enabled": "true",
    }


def test_server_on_this_machine_is_set_up_like_a_session_and_listens_to_it_alone() -> None:
    """The same settings as without Connect; Spark takes the master from ``remote`` and must not be given both."""
    without = session_settings(master="local[2]", memory="1g")
    for own in ("spark.master", "spark.python.daemon.module"):
        without.pop(own, None)
    added = {"spark.remote": "local[2]", "spark.connect.grpc.binding.address": "127.0.0.1"}
    assert session_settings(remote="local[2]", memory="1g") == without | added


@pytest.mark.parametrize(("content", "limited"), [("1048576\n", True), ("max\n", False), (None, False)])
def test_memory_is_that_of_the_container(tmp_path: Path, content: str | None, limited: bool) -> None:
    """A limit on the container counts, where there is one."""
    limit = tmp_path / "memory.max"
    if content is not None:
        limit.write_text(content)
    assert (memory_of_machine(limit) == 1048576) is limited
