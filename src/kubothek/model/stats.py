"""How large a dataset is, in the units in which one asks for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatasetStats:
    """How much a dataset holds.

    Attributes
    ----------
    partitions
        Distinct combinations of partition values; 1 for a dataset that is not partitioned, whether it has files or not.
    files
        Data files.
    rows
        Rows of all data files. Versions of one cell count each.
    bytes
        Stored size of all data files; indices, schemas and the header are not counted.
    """

    partitions: int
    files: int
    rows: int
    bytes: int
