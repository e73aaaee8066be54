"""Writes the package as a zip for ``spark-submit --py-files``: ``python -m kubothek.spark kubothek.zip``."""

from __future__ import annotations

import argparse
from pathlib import Path

from kubothek.spark.package import package_zip


def main() -> None:
    """Write the zip where the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m kubothek.spark", description="Write kubothek as a zip for spark-submit --py-files."
    )
    parser.add_argument("zip", type=Path, help="the file to write, such as kubothek.zip")
    parser.parse_args().zip.write_bytes(package_zip())


if __name__ == "__main__":
    main()
