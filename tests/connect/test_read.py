"""The helpers of Spark on a server of Connect: what a classic session is asked, too."""

from tests.spark.test_read import (
    store,
    test_a_query_may_not_run_jobs,
    test_columns_are_those_asked_for,
    test_columns_that_a_query_needs,
)
