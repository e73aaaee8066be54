"""Streams on a server of Connect: what a classic session is asked, too."""

from tests.spark.test_stream_sink import test_each_batch_is_one_commit
from tests.spark.test_stream_source import test_columns_and_conditions
