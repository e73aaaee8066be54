"""Which calls for several datasets of a cube did not come to their end, as when their process was killed.

Each commit of such a call records it (:class:`~kubothek.model.header.CubeCall`) under an id that is also the id of all
its commits. Datasets are committed in the recorded order, so a call is incomplete where a dataset has its record and a
later one does not have its id among its recent commits. Those before were committed, and deleted since.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kubothek.model.header import CubeCall
from kubothek.plan.cube.members import Member
from kubothek.plan.next_state import RECENT_COMMITS


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A call that did not come to its end: which of its datasets it had committed to, and which it had not."""

    operation: str
    call_id: str
    done: tuple[str, ...]
    missing: tuple[str, ...]


def find_incomplete(members: Sequence[Member]) -> tuple[Incomplete, ...]:
    """Return the calls of which only some datasets have the commit, ordered by their first dataset.

    Where a dataset may have been committed to, it is not missing: other software made its last commit, or so many came
    since that the ids of the first are forgotten.

    Examples
    --------
    >>> import pyarrow as pa
    >>> call = CubeCall("5f2c", "append_to_cube", ("weather", "seed"))
    >>> schema, files = pa.schema([]), pa.table({})
    >>> seed = Member("seed", "flights++seed", schema, (), (), files, recent=("01ab",))
    >>> weather = Member("weather", "flights++weather", schema, (), (), files, recent=("5f2c",), cube_call=call)
    >>> find_incomplete([seed, weather])
    (Incomplete(operation='append_to_cube', call_id='5f2c', done=('weather',), missing=('seed',)),)
    """
    stored = {member.dataset_id: member for member in members}
    calls = {member.cube_call.id: member.cube_call for member in members if member.cube_call is not None}
    found = []
    for call in calls.values():
        known = [name for name in call.datasets if name in stored]
        done = tuple(name for name in known if call.id in stored[name].recent)
        perhaps = [i for i, name in enumerate(call.datasets) if name in known and _may_have(stored[name], call)]
        missing = call.datasets[max(perhaps, default=-1) + 1 :]
        if missing:
            found.append(Incomplete(call.operation, call.id, done, missing))
    return tuple(found)


def _may_have(member: Member, call: CubeCall) -> bool:
    return call.id in member.recent or not member.recent or len(member.recent) >= RECENT_COMMITS


def resumable(members: Sequence[Member], operation: str, datasets: Collection[str]) -> frozenset[str]:
    """Return the datasets that a call may replace because a call like it made them and did not come to its end.

    Parameters
    ----------
    members
        The datasets that are there.
    operation, datasets
        The function that is called now, and the ids of all its datasets.

    Examples
    --------
    >>> import pyarrow as pa
    >>> call = CubeCall("5f2c", "build_cube", ("weather", "seed"))
    >>> schema, files = pa.schema([]), pa.table({})
    >>> weather = Member("weather", "flights++weather", schema, (), (), files, recent=("5f2c",), cube_call=call)
    >>> resumable([weather], "build_cube", ["seed", "weather"]), resumable([weather], "build_cube", ["weather"])
    (frozenset({'weather'}), frozenset())
    """
    open_calls = {call.call_id for call in find_incomplete(members)}
    return frozenset(
        member.dataset_id
        for member in members
        if (call := member.cube_call) is not None
        and call.id in open_calls
        and call.operation == operation
        and set(call.datasets) == set(datasets)
    )
