"""How what is ours reaches an executor: it looks first whether Kubothek is there, and whether it is the driver's.

Spark pickles what its tasks run. A function or object of ours names modules of ours, and without them an executor would
fail while it unpickles, with a message that only says so; with other ones it would run, and do who knows what. So what
travels is closed up in bytes, and a function that needs nothing but Python opens them once all is well::

    driver     body -> bytes, version          executor     same version here?     no: what to do about it
                                                                                   yes: bytes -> body, which runs
"""

from __future__ import annotations

import importlib
import pickle
import platform
import sys
from collections.abc import Callable
from typing import Any

from kubothek.engine.spark.payload import Batches
from kubothek.version import __version__


def travelling(body: Callable[[Batches], Batches], name: str = "run") -> Callable[[Batches], Batches]:
    """Return a task body as ``mapInArrow`` can send it anywhere; plans show it under the name.

    In a task, ``ImportError`` tells that Kubothek or what it needs is missing there, or of another version.
    """
    packed, version, opened = _packed(body), __version__, _opener()

    def run(batches: Batches) -> Batches:
        yield from opened(packed, version)(batches)

    run.__name__ = name
    return run


class Traveller:
    """An object that Spark pickles for its tasks, such as a reader of the data source; it arrives as they do."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a function that makes it anew, where it can be; only Spark's own pickler knows such functions."""
        return _opener(), (_packed(_Contents(type(self), vars(self))), __version__)


class _Contents:
    """What becomes an object again when it is unpickled."""

    def __init__(self, kind: type, state: dict[str, Any]) -> None:
        self._made = _made_anew, (kind, state)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made


def _made_anew(kind: type, state: dict[str, Any]) -> Any:
    made: Any = object.__new__(kind)
    vars(made).update(state)
    return made


def _packed(something: object) -> bytes:
    from pyspark import cloudpickle

    data: bytes = cloudpickle.dumps(something)
    return data


def _opener() -> Callable[[bytes, str], Any]:
    """Return the function that opens what arrived. It is made here so that its code travels, and not its name."""

    def opened(packed: bytes, version: str) -> Any:
        here = f"on {platform.node()}, Python {platform.python_version()} at {sys.executable}"
        remedy = (
            "Call kubothek.spark.ship(spark) at the start of the program, which sends the driver's own to all "
            f"executors, or install kubothek=={version} for the Python that they run."
        )
        try:
            found = importlib.import_module("kubothek.version").__version__
            importlib.import_module("kubothek.dataset.dataset")  # which imports whatever kubothek requires
        except ImportError as error:
            if isinstance(error, ModuleNotFoundError) and error.name in ("kubothek", "kubothek.version"):
                raise ImportError(f"This task needs Kubothek, and there is none {here}. {remedy}") from None
            raise ImportError(
                f"This task needs Kubothek, which is there but cannot be imported {here}: {error}. Install what "
                "kubothek requires for the Python that the executors run, or send them an environment that has it "
                "(spark.archives)."
            ) from error
        if found != version:
            raise ImportError(f"The driver has Kubothek {version}, and this task found {found} {here}. {remedy}")
        return pickle.loads(packed)  # noqa: S301  made by the driver of this very session

    return opened
