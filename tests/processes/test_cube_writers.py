"""Processes that write a cube and are killed between the commits of its datasets."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.cube.members import as_member, find_members
from kubothek.errors import CubeNotFoundError
from kubothek.plan.cube.incomplete import find_incomplete

SEED = {"p": [0, 1], "x": [0, 1], "v1": [1, 2]}
E = {"p": [0, 1], "x": [0, 1], "v2": [3, 4]}
CUBE = kb.Cube("c", "x", "p")

WRITER = f"""
import sys, time
import pyarrow as pa
import kubothek as kb
from kubothek.testing.stores import WrappedStore

class Stopping(WrappedStore):
    def around(self, call, act):
        if call.verb in ("create", "replace") and call.key.startswith("c++seed.by-dataset"):
            print("e is committed", flush=True)
            time.sleep(600)
        return act()

data = {{"seed": pa.table({SEED}), "e": pa.table({E})}}
getattr(kb, sys.argv[2])(data, kb.Cube("c", "x", "p"), Stopping(sys.argv[1]))
"""


@pytest.mark.parametrize("function", ["build_cube", "append_to_cube", "update_cube"])
def test_a_killed_writer_leaves_what_the_same_call_completes(function: str, tmp_path) -> None:
    """Each dataset is whole, what is missing is known, and nothing keeps the next writer from completing the cube."""
    data = {"seed": pa.table(SEED), "e": pa.table(E)}
    if function != "build_cube":
        kb.build_cube({"seed": pa.table({**SEED, "v1": [7, 8]}), "e": pa.table(E)}, CUBE, tmp_path)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path), function], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "e is committed\n"
    writer.kill()
    writer.communicate()
    store = kb.Store(tmp_path)
    [found] = find_incomplete([as_member(name, member) for name, member in find_members("c", store).items()])
    assert (found.operation, found.done, found.missing) == (function, ("e",), ("seed",))
    assert kb.verify_dataset("c++e", tmp_path) == []
    if function == "build_cube":
        with pytest.raises(CubeNotFoundError):
            kb.query_cube("c", tmp_path)
    getattr(kb, function)(data, CUBE, tmp_path)
    assert kb.query_cube("c", tmp_path).to_arrow().to_pydict() == SEED | E
