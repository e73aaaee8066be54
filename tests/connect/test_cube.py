"""Cubes through Connect: what a classic session is asked, too."""

from tests.spark.test_cube import (
    in_process,
    on_spark,
    test_append_overlays_cells,
    test_indices_and_files_are_those_of_an_in_process_build,
    test_queries_answer_as_in_process,
    test_queries_answer_as_sql_joins,
    test_queries_are_lazy,
    test_types_survive_the_join,
)
