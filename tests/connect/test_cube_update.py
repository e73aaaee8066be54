"""Updates of cubes through Connect: what a classic session is asked, too."""

from tests.spark.test_cube_update import (
    test_a_cell_given_twice_changes_nothing,
    test_updates_are_those_of_an_in_process_call,
)
