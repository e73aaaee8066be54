"""How the datasets of one cube call become visible: one commit after the other, all under one id.

If a commit fails, those before it are taken back, the last one first, so that the cube is as it was. A commit of
unknown outcome takes nothing back, because if it took place the call may be complete; what is known of it is consistent
dataset by dataset, and the same call again completes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubothek.cube.undo import take_back
from kubothek.dataset.commit import Commit, make_commit
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot
from kubothek.errors import CommitStateUnknownError, KubothekError
from kubothek.model.cube import member_uuid
from kubothek.model.staged import ChangeSet
from kubothek.store.interface import Store


@dataclass(frozen=True, slots=True)
class CubeCommit:
    """The commit to one dataset of a cube: the dataset as it was seen (``None``: absent), and what to do to it."""

    dataset_id: str
    base: Snapshot | None
    change: ChangeSet


def commit_in_order(
    commits: Sequence[CubeCommit], prefix: str, store: Store, discard: Callable[[CubeCommit], None]
) -> dict[str, Dataset]:
    """Commit one dataset after the other; when one fails, take back those before it.

    Parameters
    ----------
    commits
        What to commit, in this order.
    prefix, store
        The cube.
    discard
        Deletes the files of a commit that was not made.

    Returns
    -------
    dict
        The datasets by id, sorted.

    Raises
    ------
    CommitStateUnknownError
        A commit may have taken place, or one that did could not be taken back: what was staged must stay.
    """
    made: list[Commit] = []
    try:
        for one in commits:
            done = make_commit(store, member_uuid(prefix, one.dataset_id), one.change, one.base)
            made.append(done)  # an error must leave behind what was made before it
    except CommitStateUnknownError:
        raise
    except KubothekError as error:
        # Of any other, such as an interrupt, nobody knows whether it came before or after the header was put.
        for one in commits[len(made) :]:
            discard(one)
        _take_back_all(commits[: len(made)], made, prefix, error)
        raise
    committed = {one.dataset_id: Dataset(done.after) for one, done in zip(commits, made, strict=True)}
    return dict(sorted(committed.items()))


def _take_back_all(commits: Sequence[CubeCommit], made: Sequence[Commit], prefix: str, error: KubothekError) -> None:
    """Take back the commits of a call that were made before one failed with this error, the last one first.

    Raises
    ------
    CommitStateUnknownError
        Not all could be taken back.
    """
    stuck: dict[str, KubothekError] = {}
    for one, done in zip(reversed(commits), reversed(made), strict=True):
        try:
            take_back(done, one.change)
        except KubothekError as why:
            stuck[one.dataset_id] = why
    if not stuck:
        return
    change = commits[0].change
    names = ", ".join(map(repr, sorted(stuck)))
    raise CommitStateUnknownError(
        f"'{change.operation}' of {prefix!r} failed after {names} had been committed, and that could not be "
        f"taken back. Look at these datasets before you repeat it; the same call again completes it. The cause: "
        f"{error} What kept it from being taken back: {'; '.join(map(str, stuck.values()))}",
        write_id=change.write_id,
        datasets=tuple(sorted(stuck)),
    ) from error
