"""Runs a task body as one Spark job whose results come back, and says in Spark's UI what the job is for.

Both kinds of session show the text as the name of the function that the tasks run. A classic one also takes it as the
description of the job, for the thread that waits for it; on a server of Connect, which describes jobs itself, it is a
tag, by which ``spark.interruptTag`` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kubothek.engine.spark.payload import Batches, unpickled
from kubothek.engine.spark.session import context
from kubothek.engine.spark.travel import travelling
from kubothek.errors import KubothekError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

_DESCRIPTION = "spark.job.description"


def named(text: str) -> str:
    """Return what a text about a job looks like in Spark's UI."""
    return f"kubothek: {text}"


def run_tasks(frame: DataFrame, body: Callable[[Batches], Batches], text: str) -> tuple[Any, ...]:
    """Run a task body on the rows of a DataFrame and return what the tasks gave, in order.

    The body yields rows as :func:`~kubothek.engine.spark.payload.descriptors` makes them; the first error among them is
    raised. ``text`` says what for: ``write dataset weather``.
    """
    with described(frame.sparkSession, text):
        rows = frame.mapInArrow(travelling(body, named(text)), "descriptor binary").collect()
    results = [unpickled(bytes(row[0])) for row in rows]
    for result in results:
        if isinstance(result, KubothekError):
            raise result
    return tuple(results)


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Say what the jobs of this thread are for, for a while, unless somebody has said so."""
    found = context(spark)
    if found is None:
        with _tagged(spark, named(text).replace(",", ";")):
            yield
    elif found.getLocalProperty(_DESCRIPTION) is not None:
        yield
    else:
        with _set(found, named(text)):
            yield


@contextmanager
def _set(context: SparkContext, description: str) -> Iterator[None]:
    context.setJobDescription(description)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, None)  # type: ignore[arg-type]  # which takes it away


@contextmanager
def _tagged(spark: SparkSession, tag: str) -> Iterator[None]:
    """Tag operations; a tag must not have commas, and one that is there already stays."""
    if tag in spark.getTags():
        yield
        return
    spark.addTag(tag)
    try:
        yield
    finally:
        spark.removeTag(tag)
