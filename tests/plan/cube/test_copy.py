"""Which datasets of a cube are copied under which names, and what stands against it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kubothek.errors import AlreadyExistsError, InvalidInputError
from kubothek.model.cube import Cube
from kubothek.plan.cube.copy import CopyTarget, parse_copy, plan_cube_copy
from kubothek.plan.cube.members import Member, member_files_schema
from kubothek.plan.cube.metadata import cube_metadata

CUBE = Cube("c", ("x",), ("p",))
COLUMNS = {"seed": ("p", "v1", "x"), "e": ("p", "v2", "x"), "f": ("p", "v2", "x"), "g": ("p", "v4", "x")}


def member(dataset_id: str, cube: Cube = CUBE, **changes: Any) -> Member:
    """Build a dataset, of which the files do not matter."""
    schema = pa.schema([(name, pa.int64()) for name in COLUMNS.get(dataset_id, ("p", "v9", "x"))])
    files = member_files_schema(pa.schema([])).empty_table()
    indices = ("x",) if dataset_id == cube.seed_dataset else ()
    given = {"metadata": cube_metadata(cube, dataset_id), "partition_keys": ("p",), "index_columns": indices}
    return Member(dataset_id, f"c++{dataset_id}", **{"schema": schema, "files": files, **given, **changes})


def planned(
    *there: Member,
    same: bool = False,
    broken: bool = False,
    cube: Cube | str = "c",
    seeds: tuple[str, ...] = ("seed",),
    **asked: Any,
) -> tuple[tuple[str, str], ...]:
    """Plan to copy a seed and an enrichment, or what was chosen of them, to where these datasets are."""
    settings = {"datasets": None, "new_prefix": None, "renamed": None, "overwrite": False, **asked}
    request = parse_copy(cube, **settings)
    sources = [member(one) for one in ("e", "seed") if request.datasets is None or one in request.datasets]
    taken = frozenset(one.dataset_id for one in there)
    target = CopyTarget("here", same, taken, there, is_broken=broken)
    return plan_cube_copy(request, ("e", "seed"), seeds, sources, target)


def test_the_seed_is_last() -> None:
    """Whatever it is called, before and after, by its metadata or by the given specification."""
    assert planned(renamed={"seed": "a"}) == (("e", "e"), ("seed", "a"))
    assert planned(cube=Cube("c", ("x",), ("p",), seed_dataset="e")) == (("e", "e"), ("seed", "seed"))


FITTING: dict[str, tuple[tuple[Member, ...], dict[str, Any]]] = {
    "nothing there": ((), {}),
    "replacing all": ((member("seed"), member("e")), {"overwrite": True}),
    "beside another": ((member("seed"), member("g")), {"datasets": "e"}),
    "from and to a cube without seed": ((member("f"),), {"datasets": "e", "seeds": ()}),
    "to a broken cube": ((member("seed"), member("f"), member("g", schema=member("f").schema)), {"datasets": "e"}),
    "to one with damaged headers": ((member("seed"), member("f")), {"datasets": "e", "broken": True}),
    "within a store": ((), {"same": True, "new_prefix": "d"}),
}


@pytest.mark.parametrize("case", FITTING)
def test_what_fits(case: str) -> None:
    """Copies that leave a cube as sound as it was are planned."""
    there, asked = FITTING[case]
    chosen = ("e",) if "datasets" in asked else ("e", "seed")
    assert planned(*there, **asked) == tuple((one, one) for one in chosen)


REFUSED: dict[str, tuple[tuple[Member, ...], dict[str, Any], type[Exception], str]] = {
    "no seed": ((), {"datasets": "e"}, InvalidInputError, "The seed 'seed' is not among"),
    "to a cube without seed": ((member("f"),), {"datasets": "e"}, InvalidInputError, "the target has none"),
    "exists": ((member("e"),), {}, AlreadyExistsError, "has 'e' already"),
    "onto itself": ((member("e"), member("seed")), {"same": True}, InvalidInputError, "'e', 'seed' would be copied"),
    "payload of another": ((member("seed"), member("f")), {"datasets": "e"}, InvalidInputError, "e and f share v2"),
    "another seed": (
        (member("s", CUBE.copy(seed_dataset="s")),),
        {},
        InvalidInputError,
        "two seeds in cube 'c', 's' and 'seed'",
    ),
    "other dimensions": (
        (member("g", schema=pa.schema([("p", pa.int64()), ("z", pa.int64())])),),
        {},
        InvalidInputError,
        "'g' needs at least one of the dimension columns x",
    ),
    "exists and is unknown": (
        (member("e"),),
        {"datasets": ["e", "u"]},
        InvalidInputError,
        "no dataset 'u'(.|\n)*'e' al",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stands_against_it(case: str) -> None:
    """The error says everything; its class is that of its parts where they are of one."""
    there, asked, kind, text = REFUSED[case]
    with pytest.raises(kind, match=text) as caught:
        planned(*there, **asked)
    assert type(caught.value) is kind
    assert len(caught.value.problems) == (2 if "unknown" in case else 1)  # type: ignore[attr-defined]  # a detail
