"""How a cube is queried: pin the datasets, resolve the question, ask the indices, plan, and read lazily."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from kubothek.cube.members import OpenCube, open_cube
from kubothek.cube.pins import parse_moment, pin_states
from kubothek.dataset.indices.lookup import load_postings, look_up
from kubothek.engine import local
from kubothek.engine.lazy import LazyRows
from kubothek.engine.measure import measure_read
from kubothek.engine.requests import expected_requests
from kubothek.engine.spark import expected_tasks
from kubothek.model.cube import Cube, cube_prefix
from kubothek.model.display import plural
from kubothek.model.header import CommitState
from kubothek.model.pin import Pin
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.cube.query import CubePlan, plan_cube
from kubothek.plan.cube.resolve import ResolvedQuery, resolve
from kubothek.plan.cube.selection import dataset_ids, select_datasets
from kubothek.plan.explain import explain_query
from kubothek.plan.explanation import Explanation
from kubothek.plan.keys import first_rows, row_ids
from kubothek.plan.measured import Expected
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PARALLEL = 16

In = TypeVar("In")
Out = TypeVar("Out")


class Query(LazyRows):
    """Rows of a cube, planned and not read; made by :func:`query_cube`.

    Tables come sorted by the dimension columns, then the partition columns. :meth:`batches` and :meth:`to_spark`
    keep that order within each physical partition only, which lets them stream; :meth:`to_spark` keeps it within a
    task's share of one that is read by several tasks.
    """

    def __init__(
        self, store: Store, resolved: ResolvedQuery, plan: CubePlan, states: Mapping[str, CommitState | None]
    ) -> None:
        super().__init__(store, plan.read)
        self._resolved = resolved
        self._cube_plan = plan
        self._states = states

    @property
    def cube(self) -> Cube:
        """Specification of the cube."""
        return self._resolved.cube

    @property
    def title(self) -> str:
        """What is read, in a few words; Spark's UI shows them."""
        keys = [PARTITION_PREFIX + name for name in self.cube.partition_columns]
        seed = self._resolved.reads[0].member.files
        read, total = (_count_distinct(table, keys) for table in (self._plan.units, seed))
        return f"query cube {self.cube.uuid_prefix}, {read:,} of {plural(total, 'partition')}"

    def groups(self) -> Generator[tuple[tuple[Any, ...], pa.Table], None, None]:
        """Yield the rows in groups, one after the other as they are read, so that memory holds a few of them.

        A consumer that closes the generator, or drops it, leaves no thread and no open file.

        Yields
        ------
        key
            The values of the ``partition_by`` columns as a tuple, ``()`` where there are none. Keys come in their
            order, column by column.
        rows
            The rows that have these values, sorted by the dimension columns, then the partition columns. A group
            without rows is left out, and so are rows with a null or NaN in one of the columns.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kubothek import Cube, build_cube, query_cube
        >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
        >>> flights = pa.table({"FLIGHT": [2, 1, 3], "MONTH": [2, 1, 1], "DELAY": [5, 40, 0]})
        >>> datasets = build_cube(flights, cube, "memory://query_groups")
        >>> query = query_cube("flights", "memory://query_groups", partition_by="MONTH")
        >>> [(key, rows["DELAY"].to_pylist()) for key, rows in query.groups()]
        [((1,), [40, 0]), ((2,), [5])]
        """
        return local.read_groups(self._store, self._plan)

    def to_arrow(self) -> pa.Table:
        """Read the rows as an Arrow table: group by group, each sorted by dimension, then partition columns."""
        return pa.concat_tables([self.schema.empty_table(), *(table for _, table in self.groups())])

    def explain(self, *, analyze: bool = False, spark: SparkSession | None = None) -> Explanation:
        """Say what is read from which dataset, how it is joined, and which rule drops the other files.

        Parameters
        ----------
        analyze
            Read everything in this process, throw the rows away, and put what was measured beside what is expected:
            files opened, requests, bytes, row groups that statistics skip, and rows after each condition and join.
        spark
            The session for which to tell the number of tasks; ``None`` stands for as many cores as this machine has.

        Returns
        -------
        Explanation
            Prints as text, as a tree with ``rich``, and as a table in a notebook; ``to_dict()`` gives JSON values.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kubothek import Cube, build_cube, query_cube
        >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
        >>> flights = pa.table({"FLIGHT": [1, 2, 3], "MONTH": [1, 1, 2], "DELAY": [5, 40, 0]})
        >>> weather = pa.table({"FLIGHT": [2], "MONTH": [1], "TEMP": [-3.5]})
        >>> datasets = build_cube({"seed": flights, "weather": weather}, cube, "memory://query_explain")
        >>> told = query_cube("flights", "memory://query_explain", where="TEMP < 0").explain(analyze=True)
        >>> seed, weather = told.sources
        >>> seed.dropped, weather.role, weather.joined_on, weather.measured.rows_joined
        ({'alignment': 1}, 'inner', ('FLIGHT',), 1)
        """
        stored = [
            [name for name in read.member.schema.names if name not in read.member.partition_keys]
            for read in self._resolved.reads
        ]
        tasks, cores = expected_tasks(spark, self._plan)
        expected = Expected(expected_requests(self._plan, stored), tasks, cores)
        told = explain_query(self._resolved, self._cube_plan, expected)
        return told.with_measured(measure_read(self._store, self._plan)) if analyze else told

    def pin(self) -> Pin:
        """Return which versions of which datasets the query looks at, to ask it of the same rows again later.

        The same question with ``at=`` the pin, or its text, has the same answer byte for byte, whatever is appended,
        overwritten or added to the cube since, for as long as these versions are there: garbage collection keeps the
        last ones of each dataset (:func:`~kubothek.cleanup_cube` says which).

        Raises
        ------
        InvalidInputError
            Other software made the last commit of some datasets, whose version has no number yet; ``datasets`` lists
            them.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kubothek import Cube, Pin, append_to_cube, build_cube, query_cube
        >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
        >>> datasets = build_cube(pa.table({"FLIGHT": [1], "MONTH": [1]}), cube, "memory://query_pin")
        >>> text = str(query_cube("flights", "memory://query_pin").pin())
        >>> datasets = append_to_cube(pa.table({"FLIGHT": [2], "MONTH": [1]}), cube, "memory://query_pin")
        >>> query_cube("flights", "memory://query_pin", at=text).to_arrow()["FLIGHT"].to_pylist()
        [1]
        """
        return pin_states(self.cube.uuid_prefix, self._states)

    def __repr__(self) -> str:
        """Show what would be read."""
        return str(self.explain())

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return self.explain()._repr_html_()


def query_cube(
    cube: Cube | str,
    store: StoreLike,
    *,
    where: Any = None,
    datasets: str | Sequence[str] | None = None,
    dimension_columns: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] = (),
    columns: str | Sequence[str] | None = None,
    at: Pin | str | datetime | None = None,
) -> Query:
    """Plan a query of a cube: one wide table, in which every cell of the seed is a row.

    A dataset with a condition on its own columns restricts the result to the cells that it has (inner join); all
    others add their columns where they have the cell, and nulls elsewhere (left join). Headers and the index entries
    that the conditions need are read now, data only by the result's methods.

    Parameters
    ----------
    cube
        The specification, or the cube's name.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    where
        A condition (``C("TEMP") < 0``), a text (``"TEMP < 0"``), its JSON form, or a list of lists of
        ``(column, op, value)``.
    datasets
        Ids of the datasets to look at, the seed among them; ``None`` for all.
    dimension_columns
        Dimensions to keep, in the order of sorting; ``None`` for all. Cells that then coincide in a physical partition
        become one row.
    partition_by
        Columns by which :meth:`Query.groups` cuts the result; each needs to be a partition column or to have an index.
        Rows without a value in one of them belong to no group and are left out.
    columns
        Payload columns wanted; ``None`` for all. Dimension and partition columns are always there.
    at
        Which versions of the datasets: a pin (:meth:`Query.pin`) or its text, which the query then sees and no others,
        or a time (UTC where it has no zone), which stands for the newest version of each dataset that was committed by
        then, as far as the clocks of those who committed agree; datasets that were deleted since are not seen.
        ``None`` stands for now.

    Returns
    -------
    Query
        Columns are sorted by name.

    Raises
    ------
    CubeNotFoundError
        There is no such cube, or it lacks its seed.
    SnapshotExpiredError
        Versions that ``at`` stands for are not there any more: they were given up when garbage was collected, or the
        dataset was deleted.
    UnknownColumnError, UnindexedColumnError, PredicateTypeError, InvalidInputError
        The query does not fit the cube; all problems are listed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import C, Cube, build_cube, query_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns=["FLIGHT"], partition_columns=["MONTH"])
    >>> flights = pa.table({"FLIGHT": [1, 2], "MONTH": [1, 1], "DELAY": [5, 40]})
    >>> weather = pa.table({"FLIGHT": [2], "MONTH": [1], "TEMP": [-3.5]})
    >>> datasets = build_cube({"seed": flights, "weather": weather}, cube, "memory://query_cube")
    >>> query_cube("flights", "memory://query_cube").to_arrow().to_pydict()
    {'DELAY': [5, 40], 'FLIGHT': [1, 2], 'MONTH': [1, 1], 'TEMP': [None, -3.5]}
    >>> query_cube("flights", "memory://query_cube", where=C("TEMP") < 0, columns="DELAY").to_arrow().to_pydict()
    {'DELAY': [40], 'FLIGHT': [2], 'MONTH': [1]}
    """
    place = open_store(store)
    return query_opened(
        open_cube(cube, place, parse_moment(at, cube_prefix(cube))),
        place,
        where=where,
        datasets=datasets,
        dimension_columns=dimension_columns,
        partition_by=partition_by,
        columns=columns,
    )


def query_opened(
    opened: OpenCube,
    place: Store,
    *,
    where: Any = None,
    datasets: str | Sequence[str] | None = None,
    dimension_columns: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] = (),
    columns: str | Sequence[str] | None = None,
) -> Query:
    """Plan a query of a cube that is pinned already; see :func:`query_cube`."""
    resolved = resolve(
        opened.cube,
        opened.members,
        where=where,
        datasets=datasets,
        dimension_columns=dimension_columns,
        partition_by=partition_by,
        columns=columns,
    )
    hits = _each(lambda name: look_up(opened.snapshots[name], resolved.needed_indices[name]), resolved.needed_indices)
    postings = _each(lambda pair: load_postings(opened.snapshots[pair[0]], pair[1]), resolved.needed_postings)
    chosen = select_datasets(opened.cube.uuid_prefix, opened.snapshots, dataset_ids(datasets))
    states = {name: opened.snapshots[name].header.state for name in chosen}
    return Query(place, resolved, plan_cube(resolved, hits, postings), states)


def _count_distinct(table: pa.Table, columns: Sequence[str]) -> int:
    return len(first_rows(row_ids([table], columns)[0]))


def _each(load: Callable[[In], Out], wanted: Collection[In]) -> dict[In, Out]:
    """Load what is wanted, several at a time, and return it by what was asked for."""
    return dict(zip(wanted, local.map_in_threads(load, wanted, _PARALLEL), strict=True))
