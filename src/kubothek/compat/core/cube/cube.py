"""The specification of a cube with Kartothek's order of parameters and names of methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import kubothek as kb

__all__ = ["Cube"]


class Cube(kb.Cube):
    """A cube: :class:`kubothek.Cube`, whose first parameters come in Kartothek's order.

    Examples
    --------
    >>> cube = Cube(["city", "day"], ["country"], "geodata")
    >>> cube.ktk_dataset_uuid("weather"), sorted(cube.ktk_index_columns)
    ('geodata++weather', ['city', 'country', 'day'])
    """

    __slots__ = ()

    def __init__(
        self,
        dimension_columns: str | Iterable[str],
        partition_columns: str | Iterable[str],
        uuid_prefix: str,
        seed_dataset: str = "seed",
        index_columns: str | Iterable[str] | None = None,
        suppress_index_on: str | Iterable[str] | None = None,
    ) -> None:
        super().__init__(
            uuid_prefix=uuid_prefix,
            dimension_columns=dimension_columns,
            partition_columns=partition_columns,
            seed_dataset=seed_dataset,
            index_columns=_ordered(index_columns),
            suppress_index_on=_ordered(suppress_index_on),
        )

    @classmethod
    def of(cls, cube: kb.Cube) -> Cube:
        """Return a specification of Kubothek as one of this kind."""
        return cls(
            cube.dimension_columns,
            cube.partition_columns,
            cube.uuid_prefix,
            cube.seed_dataset,
            cube.index_columns,
            cube.suppress_index_on,
        )

    def ktk_dataset_uuid(self, ktk_cube_dataset_id: str) -> str:
        """Return the name under which a dataset of the cube is stored."""
        return self.dataset_uuid(ktk_cube_dataset_id)

    @property
    def ktk_index_columns(self) -> set[str]:
        """Columns for which there is an index somewhere in the cube."""
        dimensions = set(self.dimension_columns) - set(self.suppress_index_on)
        return dimensions | set(self.partition_columns) | set(self.index_columns)


def _ordered(names: Any) -> Any:
    """Return names in an order where they were given in none, as Kartothek allows of index columns."""
    return sorted(names) if isinstance(names, (set, frozenset)) else names
