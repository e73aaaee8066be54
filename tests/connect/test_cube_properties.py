"""Random cubes through Connect: what a classic session is asked, too."""

from tests.spark.test_cube_properties import (
    test_queries_on_spark_find_what_plain_python_finds,
)
