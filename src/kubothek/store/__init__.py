"""Object stores behind one interface, conditional put included.

Importing this makes the stores known to ``Store(url)``.
"""

from kubothek.store import directory, memory, remote

__all__ = ["directory", "memory", "remote"]
