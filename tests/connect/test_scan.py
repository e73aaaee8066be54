"""Scans through Connect: what a classic session is asked, too."""

from tests.spark.test_scan import (
    dataset,
    test_a_frame_keeps_its_version,
    test_a_large_row_group_passes_in_pieces,
    test_answers_are_the_in_process_ones,
    test_names_that_differ_in_case,
    test_spark_filters_and_projects_further,
    test_spark_reads_the_planned_files_itself,
)
