"""Where Spark looks for the format ``kubothek`` by itself: it imports all packages whose names begin with ``pyspark_``.

An error here would keep Spark from every Python data source. So where something that Kubothek requires is missing,
there is a warning and no ``DefaultSource``, and Spark says that it does not know the format.
"""

from __future__ import annotations

import warnings

__all__: list[str] = []

try:
    from kubothek.spark.source.data_source import KubothekSource
except ImportError as error:
    warnings.warn(f"Spark cannot have the format 'kubothek' here: {error}", ImportWarning, stacklevel=1)
else:
    DefaultSource = KubothekSource
    __all__ += ["DefaultSource"]
