"""What only concerns Spark: a session that works at once, reading and writing as Spark users are used to, progress."""

from kubothek.spark.progress_bar import show_progress
from kubothek.spark.read import read_cube, read_dataset
from kubothek.spark.register import register
from kubothek.spark.session import local_session
from kubothek.spark.ship import ship

__all__ = ["local_session", "read_cube", "read_dataset", "register", "ship", "show_progress"]
