"""Which files of one dataset of a cube need not be read, and which of the others must be read together.

Steps: conditions on dimensions and partition columns drop files (they hold for all versions of a cell alike); files
that may hold versions of the same cell are found; other conditions drop a file only if it is alone, and files that
must be read together only together: a row that wins sits in one of them, so if none can hold a match, none is in the
answer.

Files can hold versions of one cell only if they agree in the partition columns that a unit or a cell fixes, which are
those of the cube and the dataset's own dimensions (``Layout.apart``). Such files are nevertheless disjoint if one
write, checked for unique cells, made them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.cube import Cube
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.resolve import MemberRead
from kubothek.plan.keys import Numbers, row_ids
from kubothek.plan.prune import Lookup, prune_files


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Files that may hold rows of the answer, in the order of the header, and why the others cannot.

    ``together`` numbers sets of files whose cells may overlap; a file that is alone has a number of its own and is not
    in ``overlay``. ``dropped`` maps a rule (``partition``, ``index``) to the labels that it drops.
    """

    files: pa.Table
    together: Numbers
    overlay: npt.NDArray[np.bool_]
    dropped: Mapping[str, pa.Array]


def prune_member(cube: Cube, read: MemberRead, hits: Mapping[Lookup, pa.Array]) -> KeptFiles:
    """Drop the files of one dataset that its conditions rule out.

    Parameters
    ----------
    cube
        The specification.
    read
        The dataset and its conditions.
    hits
        For each of ``read.leaves`` the labels that an index gives.
    """
    member = read.member
    early = prune_files(member.files, read.early, member.partition_keys, hits)
    together, overlay = overlapping(cube, member, early.kept)
    late = prune_files(early.kept, read.late, member.partition_keys, hits)
    possible = np.zeros(int(together.max(initial=-1)) + 1, np.bool_)
    possible[together[_among(late.kept, early.kept)]] = True
    kept = possible[together]
    gone = early.kept.filter(pa.array(~kept))
    dropped = {rule: [files.column("label")] for rule, files in early.dropped.items()}
    for rule, files in late.dropped.items():
        dropped.setdefault(rule, []).append(gone.filter(pa.array(_among(files, gone))).column("label"))
    return KeptFiles(
        files=early.kept.filter(pa.array(kept)),
        together=together[kept],
        overlay=overlay[kept],
        dropped={rule: labels for rule, parts in dropped.items() if len(labels := _joined(parts))},
    )


def overlapping(cube: Cube, member: Member, files: pa.Table) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Return which files may hold versions of the same cell: a number per set of files, and whether it has several."""
    fixed = [PARTITION_PREFIX + key for key in member.apart(cube)]
    place = row_ids([files], fixed)[0]
    counts = np.bincount(place, minlength=1)
    alone = len(counts) + np.arange(len(place))
    if counts.max() <= 1:
        return alone, np.zeros(len(place), np.bool_)
    origin = row_ids([files], [*fixed, "write"])[0]
    first = np.full(len(counts), -1, np.int64)
    first[place[::-1]] = origin[::-1]
    mixed = np.zeros(len(counts), np.bool_)
    mixed[place[origin != first[place]]] = True
    checked = pc.is_in(files.column("write"), value_set=pa.array(member.unique_writes, pa.string()))
    unchecked = ~checked.to_numpy(zero_copy_only=False).astype(np.bool_)
    overlay = (counts[place] > 1) & (mixed[place] | unchecked)
    return np.where(overlay, place, alone), overlay


def _among(some: pa.Table, files: pa.Table) -> npt.NDArray[np.bool_]:
    """Tell for each of these files whether it is one of ``some``, which are nothing else."""
    if some.num_rows in (0, files.num_rows):  # nearly always, and it takes long to look up a million labels
        return np.full(files.num_rows, some.num_rows > 0)
    found = pc.is_in(files.column("label"), value_set=some.column("label").combine_chunks())
    mask: npt.NDArray[np.bool_] = found.to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask


def _joined(parts: list[pa.ChunkedArray]) -> pa.Array:
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string()).combine_chunks()
