"""Which dataset decides which part of a condition, and when: before an overlay, after it, or after the joins.

The parts that must all hold are looked at one by one. Let x, y be dimensions, p the cube's partition column, v1 the
seed's payload, and v2, r those of a dataset that is partitioned by r::

    part                    seed     owner of v2, r   others with x   restricts the owner
    x == 1 | p == 2         early    early *          early *         no
    v1 > 0                  late                                      -
    r == 1                           late                             yes
    v2 > 0 | x == 1                  late                             yes
    v2 > 0 | y == 1                  after **                         yes
    v1 > 0 | v2 > 0         after                                     no

    *  where the dataset has all columns of the part   ** because the owner has no y

*Early* conditions look at dimensions and partition columns of the cube only, which are the same for all versions of a
cell; they can be applied to each file. *Late* ones must see the last version of a cell, which may lie in another of the
dataset's own partitions than the one before. To restrict a dataset is to ask for cells that it holds: it is joined with
an inner join.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubothek.model.condition import Condition, all_of, conjuncts
from kubothek.model.cube import Cube
from kubothek.plan.cube.members import Member


@dataclass(frozen=True, slots=True)
class SplitCondition:
    """A condition cut into what each dataset decides (by dataset id), and what is decided ``after`` the joins.

    ``restricted`` are the ids of datasets whose cells are asked for.
    """

    early: Mapping[str, Condition]
    late: Mapping[str, Condition]
    after: Condition
    restricted: frozenset[str]

    def columns(self, member: Member) -> frozenset[str]:
        """Names of the dataset's columns that any part looks at."""
        parts = (self.early[member.dataset_id], self.late[member.dataset_id], self.after)
        return frozenset().union(*(part.columns for part in parts)) & member.columns


def split_condition(condition: Condition, cube: Cube, members: Sequence[Member]) -> SplitCondition:
    """Cut a condition, whose columns all exist, into parts that single datasets decide and the rest.

    Examples
    --------
    >>> from kubothek.model.condition import C, EVERYTHING
    >>> split_condition(EVERYTHING, Cube("c", ("x",), ("p",)), []).after == EVERYTHING
    True
    """
    payload = {name: member for member in members for name in member.payload(cube)}
    early: dict[str, list[Condition]] = defaultdict(list)
    late: dict[str, list[Condition]] = defaultdict(list)
    after: list[Condition] = []
    restricted: set[str] = set()
    for part in conjuncts(condition):
        owners = {payload[name].dataset_id: payload[name] for name in part.columns if name in payload}
        if not owners:
            for member in members:
                if part.columns <= member.columns:
                    early[member.dataset_id].append(part)
            continue
        owner = next(iter(owners.values()))
        if len(owners) == 1:
            restricted.add(owner.dataset_id)
        if len(owners) > 1 or not part.columns <= owner.columns:
            after.append(part)
        else:
            late[owner.dataset_id].append(part)
    return SplitCondition(
        early={member.dataset_id: all_of(early[member.dataset_id]) for member in members},
        late={member.dataset_id: all_of(late[member.dataset_id]) for member in members},
        after=all_of(after),
        restricted=frozenset(restricted - {cube.seed_dataset}),
    )
