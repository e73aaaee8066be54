"""Types on a server of Connect: what a classic session is asked, too."""

from tests.spark.test_type_table import (
    arrow_to_spark,
    by_arrow,
    by_spark,
    frame,
    in_new_york,
    spark_to_spark,
    test_spark_reads_most_types_itself,
    test_the_example_has_the_type,
    test_types_that_spark_lacks_are_named,
    test_what_arrow_has_is_seen_on_spark,
    test_what_spark_wrote_comes_back,
    test_what_spark_wrote_is_stored,
    test_what_was_read_is_taken_back,
    written,
)
