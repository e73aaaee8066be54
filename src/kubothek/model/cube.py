"""What a cube is: several datasets that share dimension columns, under one name prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kubothek.errors import InvalidInputError
from kubothek.model.markup import notebook_facts
from kubothek.model.names import column_names

SEPARATOR = "++"
_NAME = re.compile(r"[a-zA-Z0-9+\-_]+\Z")
_UUID = re.compile(r"(.+?)\+\+([^+].*)\Z")


@dataclass(frozen=True, slots=True, init=False)
class Cube:
    """The specification of a cube; the data is in the store.

    Parameters
    ----------
    uuid_prefix
        Name of the cube. Dataset ``d`` of it is stored as ``<uuid_prefix>++d``.
    dimension_columns
        Columns that identify a cell; each dataset has at least one of them, the seed has all.
    partition_columns
        Columns by which the seed is partitioned physically.
    seed_dataset
        Dataset that says which cells exist.
    index_columns
        Further columns to keep a secondary index on, wherever they occur.
    suppress_index_on
        Dimension columns of the seed that need no index.

    Raises
    ------
    InvalidInputError
        A name is not allowed, or the column lists contradict each other.

    Examples
    --------
    >>> cube = Cube(uuid_prefix="flights", dimension_columns=["ORIGIN", "TIME_HOUR"], partition_columns="MONTH")
    >>> cube.dataset_uuid("weather")
    'flights++weather'
    """

    uuid_prefix: str
    dimension_columns: tuple[str, ...]
    partition_columns: tuple[str, ...]
    seed_dataset: str
    index_columns: tuple[str, ...]
    suppress_index_on: tuple[str, ...]

    def __init__(
        self,
        uuid_prefix: str,
        dimension_columns: str | Iterable[str],
        partition_columns: str | Iterable[str],
        seed_dataset: str = "seed",
        index_columns: str | Iterable[str] | None = (),
        suppress_index_on: str | Iterable[str] | None = (),
    ) -> None:
        given = {
            "dimension_columns": dimension_columns,
            "partition_columns": partition_columns,
            "index_columns": index_columns,
            "suppress_index_on": suppress_index_on,
        }
        object.__setattr__(self, "uuid_prefix", uuid_prefix)
        object.__setattr__(self, "seed_dataset", seed_dataset)
        for attribute, names in given.items():
            object.__setattr__(self, attribute, column_names(names, attribute))
        check_name(self.uuid_prefix, "uuid_prefix")
        check_dataset_id(self.seed_dataset, "seed_dataset")
        for attribute in ("dimension_columns", "partition_columns"):
            if not getattr(self, attribute):
                raise InvalidInputError(f"{attribute} of cube {self.uuid_prefix!r} must not be empty.")
        self._disjoint("partition_columns", "dimension_columns")
        self._disjoint("index_columns", "dimension_columns")
        self._disjoint("index_columns", "partition_columns")
        unknown = sorted(set(self.suppress_index_on) - set(self.dimension_columns))
        if unknown:
            raise InvalidInputError(
                f"suppress_index_on may only name dimension columns ({', '.join(self.dimension_columns)}), "
                f"but names {', '.join(unknown)}.",
                columns=tuple(unknown),
            )

    def _disjoint(self, left: str, right: str) -> None:
        shared = sorted(set(getattr(self, left)) & set(getattr(self, right)))
        if shared:
            raise InvalidInputError(f"{left} and {right} both name {', '.join(shared)}.", columns=tuple(shared))

    def dataset_uuid(self, dataset_id: str) -> str:
        """Return the uuid under which a dataset of the cube is stored."""
        check_dataset_id(dataset_id, "dataset id")
        return member_uuid(self.uuid_prefix, dataset_id)

    def _repr_html_(self) -> str:
        """Show the specification in a notebook."""
        facts = {
            "seed": self.seed_dataset,
            "dimension columns": ", ".join(self.dimension_columns),
            "partition columns": ", ".join(self.partition_columns),
            "index columns": ", ".join(self.index_columns),
            "no index on": ", ".join(self.suppress_index_on),
        }
        return notebook_facts(f"cube {self.uuid_prefix}", {name: told for name, told in facts.items() if told})

    def copy(self, **changes: Any) -> Cube:
        """Return this specification with some attributes changed."""
        return replace(self, **changes)


def cube_prefix(cube: Cube | str) -> str:
    """Return the name of a cube that is given by its specification or by its name.

    Raises
    ------
    InvalidInputError
        It is neither, or the name is not allowed.
    """
    if isinstance(cube, Cube):
        return cube.uuid_prefix
    if not isinstance(cube, str):
        raise InvalidInputError(f"A cube is given by a Cube or by its name, not by a {type(cube).__name__}.")
    check_name(cube, "uuid_prefix")
    return cube


def check_name(name: Any, what: str) -> None:
    """Raise ``InvalidInputError`` unless ``name`` can be a cube's prefix; ids of datasets are like it."""
    if not isinstance(name, str) or not _NAME.match(name) or SEPARATOR in name:
        raise InvalidInputError(
            f"{what} {name!r} is not allowed: use letters, digits, '+', '-' and '_', and not {SEPARATOR!r}, "
            f"which separates the cube's name from the dataset's."
        )


def check_dataset_id(name: Any, what: str) -> None:
    """Raise ``InvalidInputError`` unless ``name`` can be the id of a cube's dataset."""
    check_name(name, what)
    if name.startswith("+"):
        raise InvalidInputError(
            f"{what} {name!r} is not allowed: it must not begin with '+', or the dataset would seem to belong to "
            "another cube, whose name ends with '+'."
        )


def member_uuid(uuid_prefix: str, dataset_id: str) -> str:
    """Return the uuid of a cube's dataset; names that are not ours to give are not checked.

    Examples
    --------
    >>> member_uuid("flights", "weather")
    'flights++weather'
    """
    return uuid_prefix + SEPARATOR + dataset_id


def split_uuid(uuid: str) -> tuple[str, str] | None:
    """Return the cube to which a dataset belongs by its name, and its id there; ``None`` where it is of no cube.

    Examples
    --------
    >>> split_uuid("flights++seed"), split_uuid("c+++seed"), split_uuid("weather")
    (('flights', 'seed'), ('c+', 'seed'), None)
    """
    found = _UUID.match(uuid)
    return None if found is None else (found[1], found[2])
