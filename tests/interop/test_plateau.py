"""Plateau reads, updates and cleans up what we write, and we read what it writes.

Plateau runs in an environment of its own, which ``make others-test`` makes from ``requirements-interop.lock``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.other import PLATEAU, frame
from tests.interop.rows import months
from tests.interop.shared import Interoperates

from kubothek import write_dataset


class TestPlateau(Interoperates):
    other = PLATEAU
    version = "4."

    @pytest.mark.xfail(
        raises=AssertionError, reason="Plateau wants large_string in the index, which Kartothek cannot read"
    )
    def test_it_updates_an_index_of_text(self, tmp_path: Path) -> None:
        """An index of text, written as Kartothek writes it, can be updated by Plateau."""
        write_dataset(months(1), "d", tmp_path, partition_on="p", secondary_indices="s")
        settings = {"partition_on": ["p"], "secondary_indices": ["s"], "frames": [frame(tmp_path, months(2))]}
        self.other.does(tmp_path, {"do": "update", "uuid": "d", **settings})
