"""Where Kubothek answers otherwise than Kartothek, on purpose: each case with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.oracle.corpus_values import names_with

_NULL_BYTE = "bytes that hold a null byte compare as all others do; Kartothek refuses them for a limit of NumPy"
_NULL_LITERAL = "null literals find nulls in columns of every type, with an index or without"
_INDEX = "an index never changes an answer; Kartothek drops rows of files in which the indexed column is all null"
_TABLES = "tables of a dataset are read one by one; Kartothek fails as one partition lacks one of the tables"
_SLASH = "a slash in a partition value is escaped, so that the value comes back whole"
_BOOL = "false in a partition column comes back as false; Kartothek gives true"
_BUCKETS = "which bucket a row falls in is no part of the format"
_NULL_INDEX = "columns with an index may hold nulls, which the index leaves out"
_EMPTIED = "a dataset whose partitions are all gone has statistics too, all zero; Kartothek leaves it out"
_NO_CUBE = "where there is no cube, there are no statistics; Kartothek gives those of no dataset"
_RENAMED = "only the dataset that is named is renamed; Kartothek renames all whose id begins like it"

_CUBES = names_with("mutation_cases")

_BY_REASON: Mapping[str, Sequence[str]] = {
    _NULL_BYTE: (
        "read/ds_alltypes/r032",
        "read/ds_alltypes_nulls/r039",
        "reread/ds_alltypes/r032",
        "reread/ds_alltypes_nulls/r039",
    ),
    _NULL_LITERAL: tuple(
        f"{check}/ds_idx_nulls/{case}" for check in ("read", "reread") for case in ("r018", "r019", "r025")
    ),
    _INDEX: ("read/ds_idx_nulls/r013", "reread/ds_idx_nulls/r013"),
    _TABLES: tuple(f"{check}/ds_seed_multi_table/r00{n}" for check in ("read", "reread") for n in range(8)),
    _SLASH: ("layout/ds_part_slash/s0", "reindexed/ds_part_slash/i000", "reindexed/ds_part_slash/i003"),
    _BOOL: (
        *(f"mutation/cube_bool_part/{step}" for step in ("m001.2", "m001.4", "m005.1", "m006.2", "m007.1", "m009.2")),
        "mutation/cube_bool_part/m011.2",
        *(
            f"mutation/cube_foreign_part/{step}"
            for step in ("m001.2", "m001.4", "m002.1", "m005.1", "m006.2", "m007.1")
        ),
        "mutation/cube_foreign_part/m011.2",
        "group/ds_part_bool/d000",
        "group/ds_part_bool/d001",
    ),
    _BUCKETS: ("reindexed/ds_seed_with_bucketing/i004",),
    _NULL_INDEX: ("refusal/cube_errors/s7",),
    _EMPTIED: (
        *(f"mutation/{name}/m003.1" for name in _CUBES),
        "mutation/cube_foreign_part/m001.1",
        "mutation/cube_overlay/m001.1",
        "mutation/cube_seed_example1/m001.1",
        "mutation/cube_seed_example2/m001.1",
        "mutation/cube_seed_example3/m001.1",
        "mutation/cube_suppress/m001.1",
    ),
    _NO_CUBE: tuple(f"mutation/{name}/m010.1" for name in _CUBES),
    _RENAMED: tuple(f"mutation/cube_two_dims/{step}" for step in ("m006.0 left", "m006.1", "m006.1 left")),
}

INTENDED: Mapping[str, str] = {case: reason for reason, cases in _BY_REASON.items() for case in cases}
"""Reason by ``check/case set/case id``. A case that is listed and does not differ fails its test."""
