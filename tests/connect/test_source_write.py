"""Writing by the data source on a server of Connect: what a classic session is asked, too."""

from tests.spark.test_source_write import (
    registered,
    test_a_task_that_fails_leaves_nothing,
    test_modes_and_options,
    test_rows_that_cannot_be_stored,
    test_sql_inserts_into_a_view,
    test_what_spark_reads_it_can_append,
)
