"""The three worked examples of the query system: each table as it is, and the join step by step.

A seed says which cells exist. `data_checks` and `schedule` carry conditions, so only cells that they hold and that meet
the condition stay (inner join). `predictions` is only asked for a column, so it adds values where it has the cell (left
join).
"""

from __future__ import annotations

import uuid as uuids
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kubothek as kb

PRODUCTS = kb.Cube("products", ["P"], ["PART"], seed_dataset="db_data")
PLACES = kb.Cube("places", ["P", "L"], ["PART"], seed_dataset="db_data")


def table(text: str) -> pa.Table:
    """Read a table from lines of text, the first with the column names; all rows lie in one partition."""
    names, *lines = [line.split() for line in text.strip().splitlines()]
    columns = {name: [parsed(line[i]) for line in lines] for i, name in enumerate(names)}
    return pa.table(columns | {"PART": [0] * len(lines)})


def parsed(text: str) -> Any:
    """Read a truth value, or a number."""
    return text == "yes" if text in ("yes", "no") else float(text) if "." in text else int(text)


def build(cube: kb.Cube, **datasets: str) -> str:
    """Write a cube from tables of text and return where it is."""
    store = f"memory://{uuids.uuid4().hex}"
    kb.build_cube({name: table(text) for name, text in datasets.items()}, cube, store)
    return store


def test_first_example_one_dimension() -> None:
    """Conditions on two datasets and a column of a third, which lacks a cell."""
    store = build(
        PRODUCTS,
        db_data="P\n1\n2\n3\n5\n6",
        data_checks="""
            P OK
            1 yes
            2 no
            3 yes
            4 yes
            5 yes
            6 yes""",
        schedule="""
            P SCHED
            1 yes
            2 yes
            3 no
            4 yes
            5 yes""",
        predictions="""
            P PRED
            1 0.23
            2 0.12
            3 0.13
            4 0.03
            6 0.01""",
    )
    query = kb.query_cube(PRODUCTS, store, where="OK == true & SCHED == true", columns="PRED")
    # 2 is not OK, 3 is not scheduled, 4 is not in the seed, 6 is not in the schedule, and 5 has no prediction.
    assert query.to_arrow().to_pydict() == {"P": [1, 5], "PART": [0, 0], "PRED": [0.23, None]}
    roles = {source.name: source.role for source in query.explain().sources}
    assert roles == {"db_data": "seed", "data_checks": "inner", "schedule": "inner", "predictions": "left"}


def test_second_example_a_coarser_dataset() -> None:
    """The schedule knows products only: what it says holds for each place of the product."""
    store = build(
        PLACES,
        db_data="P L\n1 1\n1 2\n2 1\n2 2",
        data_checks="""
            P L OK
            1 1 yes
            1 2 no
            2 1 yes
            2 2 yes""",
        schedule="""
            P SCHED
            1 yes
            2 no""",
        predictions="""
            P L PRED
            1 1 0.23
            1 2 0.12
            2 1 0.13
            2 2 0.13""",
    )
    query = kb.query_cube(PLACES, store, where="OK == true & SCHED == true", columns="PRED")
    assert query.to_arrow().to_pylist() == [{"L": 1, "P": 1, "PART": 0, "PRED": 0.23}]


def test_third_example_projection() -> None:
    """Without the places, each product of the seed is one row, however many places it has."""
    store = build(
        PLACES,
        db_data="P L\n1 1\n1 2\n1 3\n2 1\n2 2",
        schedule="""
            P SCHED
            1 yes
            2 no""",
        agg="""
            P AVG
            1 10.2
            2 1.34""",
    )
    query = kb.query_cube(PLACES, store, where="SCHED == true", dimension_columns="P", columns="AVG")
    assert query.to_arrow().to_pylist() == [{"AVG": 10.2, "P": 1, "PART": 0}]


EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, list[Any]]]] = {
    "example1": ({"where": "OK == true & SCHED == true"}, {"P": [1, 5], "PRED": [0.23, None], "part": [0, 0]}),
    "example2": ({"where": "OK == true & SCHED == true"}, {"L": [1], "P": [1], "PRED": [0.23], "part": [0]}),
    "example3": ({"where": "SCHED == true", "dimension_columns": "P"}, {"AVG": [10.2], "P": [1], "part": [0]}),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_as_kartothek_stored_them(corpus: Path, name: str) -> None:
    """The same answers come from the cubes that Kartothek wrote, and they are the ones that Kartothek gave."""
    arguments, expected = EXAMPLES[name]
    folder = corpus / f"cube_seed_{name}"
    payload = next(column for column in expected if column in ("PRED", "AVG"))
    found = kb.query_cube(name, folder / "store", columns=payload, **arguments).to_arrow()
    assert found.to_pydict() == expected
    assert found.to_pydict() == pq.read_table(folder / "expected" / "q000.parquet", columns=list(expected)).to_pydict()
