"""Any cube, any query: the groups that plain Python and DuckDB find, whatever the types, the layout and the writes."""

from __future__ import annotations

import uuid as uuids
from typing import Any

import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.cube.in_duckdb import DuckCube
from tests.other_writers import forget_state, rewrite

import kubothek as kb
from kubothek.testing.cube_cases import cube_cases
from kubothek.testing.cube_questions import CubeQuestion, cube_questions, expected_schema, tidy_groups
from kubothek.testing.cubes import CubeCase, write_cube
from kubothek.testing.kinds import FLAT, NULL, flat_kinds, partition_kinds

EXAMPLES = settings.default.max_examples // 3


def new_url() -> str:
    """Return the URL of an empty store."""
    return f"memory://{uuids.uuid4().hex}"


def answer(case: CubeCase, url: str, question: CubeQuestion) -> list[Any]:
    """Ask a cube; the groups as texts, after a look at their types."""
    query = kb.query_cube(case.cube, url, where=question.asked, **question.options)
    found = list(query.groups())
    assert query.schema == expected_schema(case, question)
    assert all(table.schema == query.schema for _, table in found)
    event(f"{min(len(found), 2)} groups")
    return tidy_groups([(key, table.to_pylist()) for key, table in found], case, question)


@settings(max_examples=EXAMPLES)
@given(cube_cases(), st.data())
def test_queries_find_what_plain_python_finds(case: CubeCase, data: st.DataObject) -> None:
    """Types, layouts, indices, projections, versions of cells and removed partitions never change an answer."""
    url = new_url()
    write_cube(case, url)
    reference = case.reference()
    for _ in range(4):
        question = data.draw(cube_questions(case))
        expected = reference.query(where=question.meant, **question.options)
        assert answer(case, url, question) == tidy_groups(expected, case, question), question


IN_DUCKDB = tuple(kind for kind in FLAT.values() if not pa.types.is_decimal256(kind.record))


@settings(max_examples=EXAMPLES // 2)
@given(cube_cases(flat=flat_kinds(IN_DUCKDB), keys=partition_kinds(IN_DUCKDB), nested=False), st.data())
def test_queries_find_what_duckdb_finds(case: CubeCase, data: st.DataObject) -> None:
    """The same rows as SQL: windows for versions of cells, joins for datasets; plain Python agrees with it."""
    url = new_url()
    write_cube(case, url)
    reference, tables = case.reference(), DuckCube(case)
    for _ in range(4):
        question = data.draw(cube_questions(case))
        expected = tidy_groups(tables.query(where=question.meant, **question.options), case, question)
        found = reference.query(where=question.meant, **question.options)
        assert tidy_groups(found, case, question) == expected, question
        assert answer(case, url, question) == expected, question


STORABLE = tuple(
    kind for kind in FLAT.values() if not (pa.types.is_run_end_encoded(kind.given) or "view" in str(kind.given))
)


@settings(max_examples=EXAMPLES // 2)
@given(cube_cases(flat=flat_kinds(STORABLE), keys=partition_kinds(STORABLE), nested=False), st.data())
def test_files_of_other_writers_give_the_same_answers(case: CubeCase, data: st.DataObject) -> None:
    """Narrow types, many row groups, with statistics or without; nobody knows which writes were checked for cells."""
    url = new_url()
    write_cube(case, url)
    types = case.types
    for part in case.parts:
        ds = kb.open_dataset(case.cube.dataset_uuid(part.dataset_id), url)
        kinds = {name: NULL if types[name] == pa.null() else kind for name, kind in part.kinds.items()}
        for one in ds.partitions.values():
            rewrite(ds.store, one.files["table"], kinds, data)
        forget_state(ds.store, ds.uuid)
    for _ in range(4):
        question = data.draw(cube_questions(case))
        expected = case.reference().query(where=question.meant, **question.options)
        assert answer(case, url, question) == tidy_groups(expected, case, question), question
