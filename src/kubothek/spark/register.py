"""How a session learns the format ``kubothek``, and to hand it the filters of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubothek.engine.spark import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"
_REDACTED = "spark.sql.redaction.options.regex"
_STORE_OPTIONS = r"(?i)^store\."


def register(spark: SparkSession) -> None:
    """Make datasets and cubes readable and writable as ``format("kubothek")``, and in SQL with ``USING kubothek``.

    Where the package is installed, Spark finds the format by itself. This call makes it known where Spark does not look
    (when the package was sent to a server of Spark Connect), and switches on that filters are pushed to data
    sources written in Python (``spark.sql.python.filterPushdown.enabled``), which Spark does not do by itself; those
    that are loaded with the option ``pushdown`` then take them. Options of stores, which may be secrets, are hidden
    where plans show those of ``CREATE VIEW`` (``spark.sql.redaction.options.regex``).

    Parameters
    ----------
    spark
        The session, classic or Connect.

    Raises
    ------
    InvalidInputError
        This is no session.

    Examples
    --------
    >>> from kubothek import write_dataset
    >>> from kubothek.spark import local_session
    >>> import pyarrow as pa
    >>> import tempfile
    >>> spark, store = local_session("flights"), tempfile.mkdtemp()
    >>> register(spark)
    >>> ds = write_dataset(pa.table({"MONTH": [1, 2], "TEMP": [0.5, 3.0]}), "weather", store, partition_on="MONTH")
    >>> spark.read.format("kubothek").option("dataset", "weather").load(store).where("MONTH = 2").collect()
    [Row(MONTH=2, TEMP=3.0)]
    """
    check_session(spark)
    from kubothek.spark.source.data_source import KubothekSource

    spark.dataSource.register(KubothekSource)
    spark.conf.set(PUSH_DOWN, "true")
    hidden = spark.conf.get(_REDACTED) or ""
    if _STORE_OPTIONS not in hidden:
        spark.conf.set(_REDACTED, "|".join(filter(None, [hidden, _STORE_OPTIONS])))
