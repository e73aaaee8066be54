"""Which versions of a cube's datasets a query has seen, as a value that can be kept in a text and asked for again.

::

    flights: seed=7/5f2c…, weather=3/91ab…        cube: dataset=version/commit, …; commits in full

The commit says which of the versions with this number is meant: a dataset that was deleted and written again counts
from 1 again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kubothek.errors import InvalidInputError
from kubothek.model.cube import check_name

_ID = re.compile(r"[a-zA-Z0-9\-_][a-zA-Z0-9+\-_]*")  # as other software may name one, too
_COMMIT = re.compile(r"[a-zA-Z0-9_\-]{1,128}")
_ENTRY = re.compile(rf"\s*({_ID.pattern})=([0-9]{{1,19}})/({_COMMIT.pattern})\s*")
_LARGEST_VERSION = 2**63 - 1
_SHOWN = 60
_FORM = "A pin is written as 'cube: dataset=version/commit, …', as str() of one gives it"


@dataclass(frozen=True, slots=True, order=True)
class PinnedDataset:
    """One version of a dataset of a cube, and the id of the commit that made it.

    Raises
    ------
    InvalidInputError
        These cannot be an id of a dataset, a version (from 1) and an id of a commit.
    """

    dataset_id: str
    version: int
    commit: str

    def __post_init__(self) -> None:
        """Check what comes from outside."""
        whole = isinstance(self.version, int) and not isinstance(self.version, bool)
        version = whole and 1 <= self.version <= _LARGEST_VERSION
        if not (_matches(_ID, self.dataset_id) and version and _matches(_COMMIT, self.commit)):
            raise InvalidInputError(
                f"A pin holds a dataset's id, a version from 1 and a commit's id, and not {_cut(self.dataset_id)}, "
                f"{_cut(self.version)} and {_cut(self.commit)}."
            )

    def __str__(self) -> str:
        """Write it as it stands in a pin."""
        return f"{self.dataset_id}={self.version}/{self.commit}"


@dataclass(frozen=True, slots=True)
class Pin:
    """Which versions of a cube's datasets were seen together; made by :meth:`kubothek.Query.pin`.

    ``str()`` gives one line, which :meth:`parse` reads back, and so does what :meth:`to_dict` gives to JSON.

    Parameters
    ----------
    uuid_prefix
        Name of the cube.
    datasets
        One for each dataset, sorted by id here.

    Raises
    ------
    InvalidInputError
        The name is none of a cube, there is no dataset, one occurs twice, or it is no :class:`PinnedDataset`.

    Examples
    --------
    >>> pin = Pin("flights", (PinnedDataset("weather", 3, "91ab"), PinnedDataset("seed", 7, "5f2c")))
    >>> str(pin)
    'flights: seed=7/5f2c, weather=3/91ab'
    >>> Pin.parse(str(pin)) == Pin.parse(pin.to_dict()) == pin
    True
    """

    uuid_prefix: str
    datasets: tuple[PinnedDataset, ...]

    def __post_init__(self) -> None:
        """Sort the datasets and check them."""
        check_name(self.uuid_prefix, "uuid_prefix")
        given = self.datasets
        if not isinstance(given, (tuple, list)) or not all(isinstance(one, PinnedDataset) for one in given):
            raise InvalidInputError(f"The datasets of a pin are a tuple of PinnedDataset, and not {_cut(given)}.")
        ordered = tuple(sorted(given))
        doubled = next((one.dataset_id for one, after in pairwise(ordered) if one.dataset_id == after.dataset_id), None)
        if not ordered or doubled is not None:
            said = "names no dataset" if doubled is None else f"names dataset {doubled!r} more than once"
            raise InvalidInputError(f"The pin of cube {self.uuid_prefix!r} {said}.")
        object.__setattr__(self, "datasets", ordered)

    @classmethod
    def parse(cls, value: Any) -> Pin:
        """Read a pin back from its text, or from what :meth:`to_dict` has given.

        Raises
        ------
        InvalidInputError
            It is neither.
        """
        if isinstance(value, str):
            cube, colon, entries = value.partition(":")
            if colon:
                return cls(cube.strip(), tuple(_parse(entry) for entry in entries.split(",")))
        elif isinstance(value, Mapping) and value.keys() == {"cube", "datasets"}:
            return cls(value["cube"], tuple(_from_mapping(value["datasets"])))
        raise InvalidInputError(f"{_FORM}, and is not {_cut(value)}.")

    def to_dict(self) -> dict[str, Any]:
        """Return the pin as values that JSON can hold: ``cube``, and ``datasets`` with version and commit by id."""
        datasets = {one.dataset_id: {"version": one.version, "commit": one.commit} for one in self.datasets}
        return {"cube": self.uuid_prefix, "datasets": datasets}

    def __str__(self) -> str:
        """Write it in one line."""
        return f"{self.uuid_prefix}: {', '.join(map(str, self.datasets))}"


def _parse(entry: str) -> PinnedDataset:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise InvalidInputError(f"{_FORM}, and not with {_cut(entry.strip())}.")
    return PinnedDataset(found[1], int(found[2]), found[3])


def _from_mapping(datasets: Any) -> Iterator[PinnedDataset]:
    if not isinstance(datasets, Mapping):
        raise InvalidInputError(f"The datasets of a pin are a mapping of ids, and not {_cut(datasets)}.")
    for dataset_id, pinned in datasets.items():
        if not isinstance(pinned, Mapping) or pinned.keys() != {"version", "commit"}:
            raise InvalidInputError(f"A pin has version and commit of {_cut(dataset_id)}, and not {_cut(pinned)}.")
        yield PinnedDataset(dataset_id, pinned["version"], pinned["commit"])


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _cut(value: Any) -> str:
    """Show a value that may be of any length."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
