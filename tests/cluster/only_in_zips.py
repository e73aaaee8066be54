"""What Python runs at its start (as ``sitecustomize``) so that Kubothek is not there unless a zip brings it."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class OnlyInZips:
    """Finds the top of our packages in zips, and makes Python believe that there is nothing else."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find one of the two packages; leave all other modules to others."""
        if name not in ("kubothek", "pyspark_kubothek"):
            return None
        found = PathFinder.find_spec(name, [place for place in sys.path if place.endswith(".zip")])
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found


if "KUBOTHEK_ONLY_IN_ZIPS" in os.environ:
    sys.meta_path.insert(0, OnlyInZips)
