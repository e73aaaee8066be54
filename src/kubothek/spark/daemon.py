"""The process that forks Spark's Python workers on this machine, with what their tasks import imported once before.

Spark ends workers that had nothing to do for a minute, and a new one that has to import Arrow, pandas and Kubothek
takes longer for that than for most tasks: after a pause, a cube query of a second took more than twice as long. Spark's
own daemon imports nothing, so that it has a single thread when it forks; of those that are here then, one of jemalloc
and, if tasks have several cores, some of OpenBLAS, both libraries take care themselves.

Spark runs this module by its setting ``spark.python.daemon.module``, once for each kind of worker, and names the kind;
only the one that runs tasks is made ready. :func:`kubothek.spark.local_session` sets it for sessions of this machine,
where what is imported is what the driver has. It holds some 150 MiB, most of which its workers share.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys

import numpy as np
from pyspark.daemon import manager

_TASKS = "pyspark.worker"
_IMPORTED = (
    _TASKS,
    "pyarrow.acero",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "kubothek.dataset.dataset",
    "kubothek.engine.spark",
    "kubothek.spark.source.data_source",
)


def make_ready() -> None:
    """Import what tasks need, and take it out of the garbage collector's sight, which looks around after each task."""
    for module in _IMPORTED:
        importlib.import_module(module)
    own = os.getpid()

    def seed() -> None:
        if os.getppid() == own:
            np.random.seed()

    os.register_at_fork(after_in_child=seed)  # of NumPy's own state, every worker would have the same
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    if sys.argv[1:] == [_TASKS]:
        make_ready()
    manager()
