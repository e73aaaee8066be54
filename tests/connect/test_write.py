"""Writes of Connect DataFrames: what a classic session is asked, too."""

from tests.spark.test_write import (
    test_a_failing_input_leaves_nothing,
    test_a_retried_task_is_committed_once,
    test_buckets,
    test_index_names_the_files_that_hold_a_value,
    test_indices_are_those_of_an_in_process_write,
    test_input_is_evaluated_once,
    test_long_index_values_are_staged_and_cleared,
    test_many_partitions,
    test_nulls_in_a_partition_column_are_refused,
    test_partitions_are_staged_and_committed,
    test_rows_are_written_and_read,
    test_tables_are_paired,
    test_text_that_sorts_as_equal_stays_apart,
    test_update_adds_and_deletes_in_one_commit,
)
