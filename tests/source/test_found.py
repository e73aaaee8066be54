"""How Spark finds the format: by a package that never fails to be imported."""

from __future__ import annotations

import runpy
import subprocess
import sys

import pytest

import pyspark_kubothek
from kubothek.spark.source.data_source import KubothekSource


def test_spark_finds_the_source_by_the_name_of_a_package() -> None:
    """Spark imports packages whose names begin with ``pyspark_`` and takes their ``DefaultSource``."""
    found = runpy.run_path(pyspark_kubothek.__file__)
    assert found["DefaultSource"] is KubothekSource
    assert KubothekSource.name() == "kubothek"


def test_the_package_is_empty_where_something_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other data sources in Python must work all the same, so that a missing library is a warning."""
    monkeypatch.setitem(sys.modules, "kubothek.spark.source.data_source", None)
    with pytest.warns(ImportWarning, match="Spark cannot have the format 'kubothek' here"):
        found = runpy.run_path(pyspark_kubothek.__file__)
    assert "DefaultSource" not in found


def test_only_the_source_itself_needs_pyspark() -> None:
    """``kubothek.spark`` can be imported where there is no PySpark."""
    program = "import sys; sys.modules['pyspark'] = None; import kubothek.spark"
    subprocess.run([sys.executable, "-c", program], check=True)
