"""How a cube becomes one page to look at: pin its datasets, ask a few footers and the history, plan a query, draw.

No data file is read. What the pictures show is decided in ``kubothek.plan.cube.picture`` and ``…coverage``, and how it
looks in ``kubothek.display``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kubothek.codec.footer import load_footer
from kubothek.codec.index import SEALED_AS
from kubothek.cube.check import check_cube
from kubothek.cube.members import OpenCube, open_cube
from kubothek.cube.query import query_opened
from kubothek.cube.stale import survey
from kubothek.dataset.history import read_history
from kubothek.dataset.snapshot import Snapshot
from kubothek.display.page import report_page
from kubothek.engine.fetched_file import open_fetched
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError
from kubothek.model.cube import Cube
from kubothek.plan.cube.coverage import find_coverage
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.picture import (
    CubePicture,
    DatasetPicture,
    IndexPicture,
    count_partitions,
    count_rows,
    count_sizes,
    sum_recorded,
)
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

_PARALLEL = 16


def report_cube(cube: Cube | str, store: StoreLike, *, where: Any = None, files: bool = False) -> str:
    """Draw a cube on one page: what covers what, how large it is, what was committed, and what a query would read.

    The page needs nothing but itself: no server, no network, and it works in light and dark. Headers, the footers of
    indices and the commits kept are read, data files are not.

    Parameters
    ----------
    cube
        The specification, or the cube's name.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    where
        Condition of the query whose plan is shown, as :func:`~kubothek.query_cube` takes it; ``None`` for a query of
        everything.
    files
        Whether to look for problems in files, too, as :func:`~kubothek.check_cube` does unless told otherwise. It reads
        the footer of each.

    Returns
    -------
    str
        A page of HTML, complete.

    Raises
    ------
    CubeNotFoundError
        There is no such cube, or it lacks its seed.
    InvalidInputError, SchemaError, CorruptDatasetError
        The datasets do not form a cube, or one cannot be understood; :func:`~kubothek.check_cube` finds all that is
        wrong. Or ``where`` does not fit the cube.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, report_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> flights = pa.table({"FLIGHT": [1, 2, 3], "MONTH": [1, 1, 2], "DELAY": [5, 40, 0]})
    >>> datasets = build_cube(flights, cube, "memory://report_cube")
    >>> report_cube("flights", "memory://report_cube")[:15]
    '<!doctype html>'
    """
    return report_page(load_picture(cube, open_store(store), where=where, files=files))


def load_picture(cube: Cube | str, store: Store, *, where: Any = None, files: bool = False) -> CubePicture:
    """Load what the page of a cube shows; see :func:`report_cube`."""
    opened = open_cube(cube, store)
    spec = opened.cube
    surveys = {name: survey(opened, name, None, ()) for name in opened.snapshots if _is_computed(opened, name)}
    coverage = find_coverage(spec, opened.members, {name: found.stale for name, found in surveys.items()})
    members = {member.dataset_id: member for member in opened.members}
    return CubePicture(
        cube=spec,
        store=store.url,
        time=store.world.clock(),
        datasets=tuple(_dataset(opened, members[name]) for name in coverage.datasets),
        coverage=coverage,
        query=query_opened(opened, store, where=where).explain(),
        problems=tuple(check_cube(cube, store, files=files)),
    )


def _is_computed(opened: OpenCube, dataset_id: str) -> bool:
    state = opened.snapshots[dataset_id].header.state
    return dataset_id != opened.cube.seed_dataset and state is not None and bool(state.lineage)


def _dataset(opened: OpenCube, member: Member) -> DatasetPicture:
    cube, snapshot, files = opened.cube, opened.snapshots[member.dataset_id], member.files
    is_computed = _is_computed(opened, member.dataset_id)
    indices = map_in_threads(lambda column: _index(snapshot, column), snapshot.index_columns, _PARALLEL)
    return DatasetPicture(
        dataset_id=member.dataset_id,
        uuid=member.uuid,
        role="seed" if member.dataset_id == cube.seed_dataset else "computed" if is_computed else "enrichment",
        version=snapshot.version,
        partition_keys=member.partition_keys,
        dimensions=member.dimensions(cube),
        payload=tuple(sorted(member.payload(cube))),
        partitions=count_partitions(files, member.partition_keys),
        files=files.num_rows,
        rows=sum_recorded(files["rows"]),
        bytes=sum_recorded(files["bytes"]),
        sizes=count_sizes(files["bytes"]),
        spread=count_rows(files, member.partition_keys),
        indices=tuple(indices),
        history=read_history(snapshot),
    )


def _index(snapshot: Snapshot, column: str) -> IndexPicture:
    """Return what the footer of an index tells; nothing of one that cannot be read, which a check reports."""
    kinds: Mapping[str, pa.DataType] = {field.name: field.type for s in snapshot.schemas.values() for field in s}
    kind = str(kinds[column]) if column in kinds else "-"
    if column not in snapshot.header.indices:
        embedded = snapshot.header.embedded_indices[column]
        return IndexPicture(column, kind, len(embedded), sum(map(len, embedded.values())), None)
    try:
        with open_fetched(snapshot.store, snapshot.header.indices[column]) as file:
            footer, size = load_footer(file, SEALED_AS), int(file.size())
    except (ObjectNotFoundError, CorruptDatasetError, pa.ArrowInvalid):
        return IndexPicture(column, kind, None, None, None)
    chunks = [footer.row_group(group).column(place) for group in range(footer.num_row_groups) for place in (0, 1)]
    entries = sum(chunk.num_values for chunk in chunks if chunk.path_in_schema != column)
    return IndexPicture(column, kind, footer.num_rows, entries, size)
