"""How the package reaches executors on which it is not installed: it is sent there, from where the driver has it.

Only its own sources are sent, some hundred kilobytes. What it requires (PyArrow, NumPy, …) holds compiled code and has
to be there already, or to come with an environment (``spark.archives``).
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kubothek.engine.spark import check_session, is_connect
from kubothek.spark.package import package_zip
from kubothek.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ship(spark: SparkSession) -> None:
    """Send the package to the executors of a session, those that are started later too.

    Best at the start of the program: an executor's Python process that has imported another version keeps it. Once
    sent it is found there before an installed one, so that it also brings a cluster to the driver's version. Calling
    it again changes nothing.

    Parameters
    ----------
    spark
        The session, classic or Connect. With Connect the server gets it too, for this session alone.

    Raises
    ------
    InvalidInputError
        This is no session.
    NotFoundError
        Sources of the package cannot be found on the driver.

    Examples
    --------
    >>> from kubothek.spark import local_session
    >>> ship(local_session("flights"))
    """
    check_session(spark)
    if is_connect(spark):
        spark.addArtifacts(str(_zip_file()), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(_zip_file()))


@cache
def _zip_file() -> Path:
    """Write the zip once per process; executors fetch it as long as this lives."""
    folder = Path(tempfile.mkdtemp(prefix="kubothek-ship-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"kubothek-{__version__}.zip"
    path.write_bytes(package_zip())
    return path
