"""The package as a zip: whole, always the same, and as good as the folder that it was made from."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import kubothek
from kubothek.dataset.commit import library
from kubothek.spark.package import package_zip

FOLDER = Path(kubothek.__file__).parent

FROM_ZIP = """
import sys
sys.path.insert(0, sys.argv[1])
import kubothek
from kubothek.dataset.commit import library
from kubothek.spark.package import package_zip
from kubothek.spark.session import session_settings

assert kubothek.__file__.startswith(sys.argv[1])
assert package_zip() == open(sys.argv[1], "rb").read()
print(library(), "log4j2" in session_settings()["spark.driver.extraJavaOptions"])
"""


def test_the_zip_holds_the_sources() -> None:
    """All of them, what lies beside them too, and no bytecode."""
    names = zipfile.ZipFile(io.BytesIO(package_zip())).namelist()
    files = [path.relative_to(FOLDER.parent) for path in FOLDER.rglob("*") if path.is_file()]
    expected = {path.as_posix() for path in files if "__pycache__" not in path.parts}
    assert {name for name in names if name.startswith("kubothek/")} == expected
    assert {"kubothek/py.typed", "kubothek/spark/log4j2.properties", "pyspark_kubothek/__init__.py"} <= {*names}
    assert names == sorted(set(names))


def test_the_same_sources_give_the_same_zip() -> None:
    """No times and no order of a directory are in it."""
    assert package_zip() == package_zip()
    assert {entry.date_time[0] for entry in zipfile.ZipFile(io.BytesIO(package_zip())).infolist()} == {1980}


def test_the_command_writes_a_zip_that_knows_its_version(tmp_path: Path) -> None:
    """It is imported, makes itself anew, and leaves messages to Spark, as the file about them is inside."""
    place = tmp_path / "kubothek.zip"
    subprocess.run([sys.executable, "-m", "kubothek.spark", place], check=True)
    command = [sys.executable, "-c", FROM_ZIP, place]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == f"{library()} False\n"
