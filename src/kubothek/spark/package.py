"""Which files are the package, and how they become one zip that Python imports from.

The sources of the packages as they are installed here, those of an editable install included, without bytecode, which
would be of one Python only. The same sources give the same bytes: names in order, no times.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from kubothek.errors import NotFoundError

PACKAGES = ("kubothek", "pyspark_kubothek")
_OLDEST = (1980, 1, 1, 0, 0, 0)
_PLAIN_FILE = 0o100644 << 16


def package_zip() -> bytes:
    """Return the package as a zip, for the search path of a Python that has what it requires.

    Raises
    ------
    NotFoundError
        Sources of the package cannot be found, as where it was made part of a program.

    Examples
    --------
    >>> names = zipfile.ZipFile(io.BytesIO(package_zip())).namelist()
    >>> "kubothek/version.py" in names, "pyspark_kubothek/__init__.py" in names
    (True, True)
    """
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(entry for package in PACKAGES for entry in _files(_folder(package), package)):
            info = zipfile.ZipInfo(name, _OLDEST)
            info.external_attr = _PLAIN_FILE
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return memory.getvalue()


def _folder(package: str) -> Any:
    """Find a package without importing it, in a folder or in a zip."""
    spec = find_spec(package)
    reader = getattr(spec and spec.loader, "get_resource_reader", lambda name: None)(package)
    if reader is None:
        raise NotFoundError(
            f"The sources of the package {package!r} cannot be found here, so they cannot be sent anywhere. "
            "Install kubothek with pip, here and on all machines of the cluster.",
            package=package,
        )
    return reader.files()


def _files(folder: Any, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        inside = f"{path}/{entry.name}"
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry, inside)
        elif not entry.name.endswith((".pyc", ".pyo")):
            yield inside, entry.read_bytes()
