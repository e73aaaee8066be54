"""How to get a Spark session that works at once: here by default, on a cluster by naming its master or Connect server.

Kubothek itself never makes a session: its functions take the caller's. This helper is for scripts, notebooks, tests
and the command line. It finds a Java (:mod:`kubothek.spark.java`), makes Spark's Python workers run this interpreter,
and keeps everything on the loopback interface, so that a laptop without network is enough. A session of Spark Connect
is a client's: of a server elsewhere, which has its own settings and Python, or of one that Spark starts beside it. The
settings are decided apart, by the arguments and by what this machine is, and can be looked at without a JVM.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kubothek import version
from kubothek.engine.spark import check_session
from kubothek.errors import InvalidInputError
from kubothek.spark.java import java_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GIB = 2**30
_LOOPBACK = "127.0.0.1"
_CONNECT = "sc://"
_LOGGING = Path(__file__).with_name("log4j2.properties")
_DAEMON_SETTING, _DAEMON = "spark.python.daemon.module", "kubothek.spark.daemon"
_ASKED_ONCE = "-Darrow.enable_null_check_for_get=false"
"""Arrow looks once more whether a value is null when Spark, which has asked, takes it: a tenth of Java's time."""
_PATIENCE = 30
"""Seconds for a Python to start."""


def local_session(
    app_name: str = "kubothek",
    *,
    master: str | None = None,
    remote: str | None = None,
    cores: int | None = None,
    memory: str | None = None,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a Spark session for this machine, or for a cluster if its master or its Connect server is named.

    Where a session is active already, Spark returns that one; only settings that can change at run time then apply.
    The variables that Spark's processes need (``JAVA_HOME``, ``PYSPARK_PYTHON``, …) are set in this process.

    Parameters
    ----------
    app_name
        Name of the application.
    master
        Where to run, as Spark names it (``spark://host:7077``, ``yarn``, …); the default is ``local[cores]``. It is
        all that changes from one machine to a cluster.
    remote
        Where to connect to by Spark Connect (``sc://host:15002``), or ``local[2]`` for a server that Spark starts on
        this machine, at port 15002, and ends with the session. Needs ``kubothek[connect]``. The default is Spark's
        own, the variable ``SPARK_REMOTE``, where no master is named.
    cores
        Tasks at a time on this machine; the default is one per core. Not for use with ``master`` or ``remote``.
    memory
        Heap of the JVM in this machine, as Spark writes it (``"4g"``); the default is a quarter of the memory. Not for
        a server elsewhere, which runs already.
    config
        Further settings; they win over those of :func:`session_settings`. The session's time zone is left alone.

    Raises
    ------
    NotFoundError
        There is no Java 17 or newer on this machine; the message says how to install one.
    InvalidInputError
        Arguments contradict each other: ``master``, ``remote`` and ``cores`` each say where to run.

    Examples
    --------
    >>> spark = local_session("flights", memory="2g")
    >>> spark.range(3).count()
    3
    """
    from pyspark.sql import SparkSession

    remote = remote or (None if master or cores else os.environ.get("SPARK_REMOTE"))
    settings = session_settings(master=master, remote=remote, cores=cores, memory=memory, config=config)
    if not _is_elsewhere(remote):
        os.environ.update(java_environment(os.environ))
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if _is_local(settings.get("spark.master") or settings["spark.remote"]):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    builder = SparkSession.builder.appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        if not _is_elsewhere(remote):  # Spark asks a server that it has started with these settings to change to them
            warnings.filterwarnings("ignore", "Failed to set spark")
        return builder.getOrCreate()


def session_settings(
    *,
    master: str | None = None,
    remote: str | None = None,
    cores: int | None = None,
    memory: str | None = None,
    config: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Decide the settings of a session; the arguments are those of :func:`local_session`."""
    _check_place(master, remote, cores, memory)
    settings = {"spark.sql.execution.arrow.pyspark.enabled": "true"}
    if remote is not None:
        settings["spark.remote"] = remote
    else:
        settings["spark.master"] = master = master or (f"local[{cores}]" if cores else "local[*]")
    if not _is_elsewhere(remote):
        settings |= _own_settings(memory)
    if _is_local(remote or master or ""):
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = _LOOPBACK
        # The default of 200 is for clusters; on one machine each task of a shuffle costs more than it saves.
        settings["spark.sql.shuffle.partitions"] = str(max(8, 4 * (cores or os.cpu_count() or 1)))
        if remote is not None:
            settings["spark.connect.grpc.binding.address"] = _LOOPBACK
    settings |= dict(config or {})
    if _DAEMON_SETTING not in settings and _is_local(settings.get("spark.master", "")) and _is_found_by_workers():
        settings[_DAEMON_SETTING] = _DAEMON
    return settings


def _own_settings(memory: str | None) -> dict[str, str]:
    """Return the settings of a JVM that is to be started here."""
    settings = {
        "spark.driver.memory": memory or f"{max(_GIB, memory_of_machine() // 4) // 2**20}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    # A folder of settings may have Java options, which ours would replace, and a configuration of logs.
    if "SPARK_CONF_DIR" in os.environ:
        return settings
    options = [_ASKED_ONCE]
    if _LOGGING.is_file():  # as it is not where the package is a zip
        # Sets the level. The setting spark.log.level does too, but announces it, as log4j does without a configuration.
        options.append(f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}")
    return settings | {"spark.driver.extraJavaOptions": " ".join(options)}


@cache
def _is_found_by_workers() -> bool:
    """Tell whether a Python that Spark starts here imports this very package, rather than none or another one.

    It does not where this process alone knows of it, having changed its own ``sys.path``, or having been started by a
    JVM that told nobody else (``spark-submit --py-files``). Systems other than Linux have libraries that cannot be used
    across a fork.
    """
    if sys.platform != "linux" or not sys.executable or hasattr(sys, "frozen") or "PYSPARK_GATEWAY_PORT" in os.environ:
        return False
    command = [sys.executable, "-c", "from kubothek import version; print(ascii(version.__file__))"]
    try:
        done = subprocess.run(  # noqa: S603  this very interpreter, and words of ours
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.stdout.strip() == ascii(version.__file__)


def active_session(spark: SparkSession | None = None) -> SparkSession:
    """Return the session that is given, or else the one that is active in this thread.

    Raises
    ------
    InvalidInputError
        Neither is there.
    """
    if spark is not None:
        check_session(spark)
        return spark
    from pyspark.sql import SparkSession as Sessions

    found = Sessions.getActiveSession()
    if found is None:
        raise InvalidInputError(
            "There is no active Spark session. Make one first, for example with kubothek.spark.local_session(), or "
            "pass it as spark=."
        )
    return found


def _check_place(master: str | None, remote: str | None, cores: int | None, memory: str | None) -> None:
    """Refuse arguments that say differently where to run."""
    if master is not None and remote is not None:
        raise InvalidInputError(
            f"Both master={master!r} and remote={remote!r} were given. Name the master that this program drives "
            "itself, or the Connect server that does so for this program."
        )
    if master is not None and master.startswith(_CONNECT):
        raise InvalidInputError(f"master={master!r} is the address of a Connect server. Give it as remote={master!r}.")
    if remote is not None and not (remote.startswith(_CONNECT) or _is_local(remote)):
        raise InvalidInputError(
            f"remote={remote!r} is neither the address of a Connect server, as sc://host:15002, nor a server to start "
            "on this machine, as local[2]. A cluster's own address is a master."
        )
    if cores is not None and (master is not None or remote is not None):
        given = f"master={master!r}" if master is not None else f"remote={remote!r}"
        raise InvalidInputError(
            f"Both {given} and cores={cores} were given: cores are those of this machine. "
            "With a master, say how much of it to use in config (spark.executor.cores, spark.cores.max)."
        )
    if memory is not None and _is_elsewhere(remote):
        raise InvalidInputError(
            f"Both remote={remote!r} and memory={memory!r} were given, but that server runs already, with memory of "
            "its own."
        )


def _is_elsewhere(remote: str | None) -> bool:
    """Tell whether nothing is to be started here."""
    return remote is not None and remote.startswith(_CONNECT)


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def memory_of_machine(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Return the bytes of memory of this machine, or of the container that limits it."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(limit.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such limit, or "max"
        return physical
