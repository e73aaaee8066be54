"""What has to be imported before kubothek can be used, or asked for help: nothing that takes long."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import kubothek

# Each of these takes longer than everything that help and completion need.
HEAVY = {"fsspec", "msgspec", "numpy", "obstore", "pandas", "polars", "pyarrow", "pyspark", "rich"}

_TOLD = "import atexit, sys; atexit.register(lambda: print('loaded', *sys.modules, file=sys.stderr)); "
_COMMAND = _TOLD + "from kubothek.cli import main; main(prog_name='kubothek')"


def loaded(code: str, *arguments: str, **environment: str) -> set[str]:
    """Run a program in a process of its own and name the packages that it has imported."""
    command = [sys.executable, "-c", code, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment)
    return {name.partition(".")[0] for name in result.stderr.rpartition("loaded ")[2].split()}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["dataset", "--help"], ["flights", "--help"]], ids=" ".join
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    """Whoever asks what there is to do does not wait for the library."""
    found = loaded(_COMMAND, *arguments)
    assert "kubothek" in found
    assert found & HEAVY == set()


def test_completion_loads_nothing_heavy() -> None:
    """Options and commands are completed at once; only names in a store need the library."""
    typed = {"COMP_WORDS": "kubothek --st", "COMP_CWORD": "1"}
    found = loaded(_COMMAND, _KUBOTHEK_COMPLETE="bash_complete", **typed)
    assert "kubothek" in found
    assert found & HEAVY == set()


@pytest.mark.parametrize("code", ["import kubothek", "from kubothek import Cube, Problem"])
def test_import_loads_nothing_heavy(code: str) -> None:
    """A name brings only what it needs."""
    found = loaded(_TOLD + code)
    assert "kubothek" in found
    assert found & HEAVY == set()


def test_every_name_has_its_module() -> None:
    """The modules that names are imported from are complete, and are those that define them."""
    assert set(kubothek._HOMES) == set(kubothek.__all__)
    defined = {name: getattr(getattr(kubothek, name), "__module__", None) for name in kubothek.__all__}
    assert defined == {name: f"kubothek.{module}" for name, module in kubothek._HOMES.items()}


def test_names_are_seen_before_they_are_imported() -> None:
    """``dir`` and a star import give the whole public list, and an unknown name is no attribute."""
    code = "import kubothek as kb; a = set(kb.__all__) <= {*dir(kb)}; from kubothek import *; print(a, open_dataset)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.startswith("True <function open_dataset")
    assert not hasattr(kubothek, "open_datset")
