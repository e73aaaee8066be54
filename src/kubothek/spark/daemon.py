"""The process that forks Spark's Python workers on this machine, with what their tasks import imported once before.

Spark ends workers that had nothing to do for a minute, and a new one that has to import Arrow, pandas and Kubothek
takes longer for that than for most tasks: after a pause, a cube query of a second took more than twice as long. Spark's
own daemon imports nothing, so that it has a single thread when it forks; of those that are here then, one of jemalloc
and, if tasks have several cores, some of OpenBLAS, both libraries take care themselves.

Spark runs this module by its setting ``spark.python.daemon.module``. :func:`kubothek.spark.local_session` sets it.
"""

from __future__ import annotations

import gc
import os

import numpy as np
import pyarrow.acero
import pyarrow.dataset
import pyarrow.parquet  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import kubothek.dataset.dataset
import kubothek.engine.spark
import kubothek.spark.source.data_source  # noqa: F401

if __name__ == "__main__":
    os.register_at_fork(after_in_child=np.random.seed)  # of NumPy's own state, every worker would have the same
    gc.collect()
    gc.freeze()  # neither does a worker look through all of this after each task, nor copy it for that
    manager()
