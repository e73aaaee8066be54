"""How to get a Spark session that works at once: on this machine by default, on a cluster by naming its master.

Kubothek itself never makes a session: its functions take the caller's. This helper is for scripts, notebooks, tests
and the command line. It finds a Java (:mod:`kubothek.spark.java`), makes Spark's Python workers run this interpreter,
and keeps everything on the loopback interface, so that a laptop without network is enough. The settings are decided
by a pure function and can be looked at without a JVM.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kubothek.errors import InvalidInputError
from kubothek.spark.java import java_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GIB = 2**30
_LOOPBACK = "127.0.0.1"
_LOGGING = Path(__file__).with_name("log4j2.properties")


def local_session(
    app_name: str = "kubothek",
    *,
    master: str | None = None,
    cores: int | None = None,
    memory: str | None = None,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a Spark session for this machine, or for a cluster if its master is named.

    Where a session is active already, Spark returns that one; only settings that can change at run time then apply.
    The variables that Spark's processes need (``JAVA_HOME``, ``PYSPARK_PYTHON``, …) are set in this process.

    Parameters
    ----------
    app_name
        Name of the application.
    master
        Where to run, as Spark names it (``spark://host:7077``, ``yarn``, …); the default is ``local[cores]``. It is
        all that changes from one machine to a cluster.
    cores
        Tasks at a time on this machine; the default is one per core. Not for use with ``master``.
    memory
        Heap of the JVM in this machine, as Spark writes it (``"4g"``); the default is a quarter of the memory.
    config
        Further settings; they win over those of :func:`session_settings`. The session's time zone is left alone.

    Raises
    ------
    NotFoundError
        There is no Java 17 or newer on this machine; the message says how to install one.
    InvalidInputError
        Both ``master`` and ``cores`` were given.

    Examples
    --------
    >>> spark = local_session("flights", memory="2g")
    >>> spark.range(3).count()
    3
    """
    from pyspark.sql import SparkSession

    settings = session_settings(master=master, cores=cores, memory=memory, config=config)
    os.environ.update(java_environment(os.environ))
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if _is_local(settings["spark.master"]):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    builder = SparkSession.builder.appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def session_settings(
    *,
    master: str | None = None,
    cores: int | None = None,
    memory: str | None = None,
    config: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Decide the settings of a session; the arguments are those of :func:`local_session`."""
    if master is not None and cores is not None:
        raise InvalidInputError(
            f"Both master={master!r} and cores={cores} were given: cores are those of this machine. "
            "With a master, say how much of it to use in config (spark.executor.cores, spark.cores.max)."
        )
    master = master or (f"local[{cores}]" if cores else "local[*]")
    settings = {
        "spark.master": master,
        "spark.driver.memory": memory or f"{max(_GIB, memory_of_machine() // 4) // 2**20}m",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if "SPARK_CONF_DIR" not in os.environ:
        # Sets the level. The setting spark.log.level does too, but announces it, as log4j does without a configuration.
        settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
    if _is_local(master):
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = _LOOPBACK
        # The default of 200 is for clusters; on one machine each task of a shuffle costs more than it saves.
        settings["spark.sql.shuffle.partitions"] = str(max(8, 4 * (cores or os.cpu_count() or 1)))
    return settings | dict(config or {})


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def memory_of_machine(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Return the bytes of memory of this machine, or of the container that limits it."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(limit.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such limit, or "max"
        return physical
