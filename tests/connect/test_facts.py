"""Facts gathered by tasks of a server of Connect: what a classic session is asked, too."""

from tests.spark.test_facts import (
    test_errors_keep_their_types,
    test_footers_are_those_of_this_process,
    test_hashes_are_those_of_this_process,
    test_indices_are_those_of_this_process,
)
