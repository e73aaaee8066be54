"""How facts about many files are gathered: one task body on pieces of a read plan, in threads or by Spark tasks.

What a body gives for its piece is small beside what it reads (sums, footers, distinct values), because all of it comes
together in this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from kubothek.engine import spark as on_spark
from kubothek.engine.local import map_in_threads
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.tasks import cut_evenly, cut_plan
from kubothek.store.interface import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

_PIECES_PER_THREAD = 8


def gather(
    store: Store,
    plan: ReadPlan,
    body: Callable[[Store, ReadPlan], Iterable[Result]],
    spark: SparkSession | None = None,
    *,
    verb: str,
    evenly: bool = False,
) -> list[Result]:
    """Run a task body on pieces of a plan and return what it gave for all of them, in order.

    Parameters
    ----------
    store
        Where the files are.
    plan
        What to read.
    body
        Reads one piece, which is a plan itself. For Spark it must pickle, and its results too.
    spark
        The session whose tasks run it; ``None`` for threads of this process.
    verb
        What is done, for people who look at Spark's jobs: ``"hash"``.
    evenly
        Cut pieces of as many units each, not of as many bytes.

    Raises
    ------
    InvalidInputError
        ``spark`` is no session.
    """
    cut = cut_evenly if evenly else cut_plan
    if spark is not None:
        on_spark.check_session(spark)
        pieces = cut(plan, on_spark.count_plan_tasks(spark, plan))
        return on_spark.gather(spark, store, pieces, body, f"{verb} {plan.subject}")
    pieces = cut(plan, _PIECES_PER_THREAD * (os.cpu_count() or 1))
    return [one for part in map_in_threads(lambda piece: list(body(store, piece)), pieces) for one in part]
