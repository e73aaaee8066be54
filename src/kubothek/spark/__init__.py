"""What only concerns Spark: a session that works at once."""

from kubothek.spark.session import local_session

__all__ = ["local_session"]
