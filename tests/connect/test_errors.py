"""Errors that pass a server of Connect: what a classic session is asked, too."""

from tests.spark.test_errors import (
    test_a_dataset_that_cannot_be_staged_takes_the_others_back,
    test_a_file_that_is_gone,
    test_a_store_in_memory_is_refused,
    test_errors_of_the_caller_stay_what_they_are,
    test_every_error_crosses_processes_whole,
)
