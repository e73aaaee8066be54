"""``python -m tests.release DIRECTORY``: builds what is released, looks at it, and tries it (``make dist``)."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.release.distributions import build, problems, try_wheel


def main(directory: Path) -> int:
    """Build twice; keep what is equal, complete and works."""
    directory.mkdir(parents=True, exist_ok=True)
    made = build(directory)
    with TemporaryDirectory() as other:
        again = {file.name: file.read_bytes() for file in build(Path(other))}
        differing = [file.name for file in made if again.get(file.name) != file.read_bytes()]
        found = [f"{name} is another one each time" for name in differing] + problems(made)
        if not found:
            try_wheel(next(file for file in made if file.suffix == ".whl"), Path(other) / "venv")
    for said in found or [f"built {file}" for file in made]:
        sys.stdout.write(f"{said}\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
