"""Incremental pipelines on a server of Connect: what a classic session is asked, too."""

from tests.spark.test_refresh import (
    test_refreshes_on_spark,
    test_what_spark_computes_reads_stale_partitions_alone,
)
