"""Whether staged partitions can be committed to a dataset: they are its own, new, laid out alike, and still there.

They were staged by another call, perhaps another process and some time ago, so nothing of it is taken for granted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import data_key, private_root
from kubothek.codec.partition_values import infer_partition_keys, partition_values
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, InvalidInputError, ObjectNotFoundError, SchemaError
from kubothek.model.staged import StagedPartition
from kubothek.plan.apply import NO_LABELS
from kubothek.plan.dataset_layout import listed
from kubothek.store.interface import Store

_PARALLEL = 16
_LISTED_FROM = 1000
"""From so many files on, one listing of the dataset takes fewer requests than asking for each."""


def staged_partition_keys(
    staged: Sequence[StagedPartition], uuid: str, expected: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the partition columns of staged partitions, as their labels say.

    Raises
    ------
    InvalidInputError
        A partition is not one of this dataset.
    SchemaError
        They are partitioned differently, or not as expected.
    """
    foreign = [key for part in staged for key in _foreign_keys(part, uuid)]
    if foreign:
        raise InvalidInputError(
            f"{len(foreign)} staged file(s) do not belong to dataset {uuid!r}, for example {foreign[0]!r}. Commit "
            "partitions to the dataset that they were written for; nothing was committed.",
            keys=tuple(foreign),
        )
    found: dict[tuple[str, ...], str] = {}
    for part in staged:
        table, key = next(iter(part.files.items()))
        found.setdefault(infer_partition_keys(key, uuid, table), part.label)
    if expected is not None:
        found.setdefault(expected, "partition_on")
    if len(found) > 1:
        told = "; ".join(f"{label!r}: {listed(keys)}" for keys, label in found.items())
        raise SchemaError(
            f"The partitions for dataset {uuid!r} are partitioned differently: {told}. Write them with one "
            "partition_on; nothing was committed."
        )
    return next(iter(found))


def _foreign_keys(part: StagedPartition, uuid: str) -> list[str]:
    """Return the keys of a partition that are not where those of a dataset of this name are."""
    values = [key for key in part.index_values.values() if isinstance(key, str)]
    wrong = [key for key in values if not key.startswith(private_root(uuid))]
    for table, key in part.files.items():
        folder = data_key(uuid, table, part.label).rpartition("/")[0]
        odd = not key.endswith(".parquet") or {"", ".", ".."} & set(key.split("/"))
        if odd or key.rpartition("/")[0] != folder:
            wrong.append(key)
    return wrong


def check_files(staged: Sequence[StagedPartition], uuid: str, store: Store, partitions: pa.Table | None) -> None:
    """Refuse partitions that are committed or given already, and files that are gone or not as they were staged.

    Raises
    ------
    InvalidInputError
        A partition is given twice, or among the dataset's ``partitions`` already.
    ObjectNotFoundError, CorruptDatasetError
        Files are not in the store, or have another size.
    """
    labels = pa.array([part.label for part in staged], pa.string())
    before = NO_LABELS if partitions is None else partitions["label"].combine_chunks()
    twice = [label for label, count in Counter(labels.to_pylist()).items() if count > 1]
    known = labels.filter(pc.is_in(labels, value_set=before)).to_pylist()
    if twice or known:
        problem = f"{twice[0]!r} is given twice" if twice else f"{known[0]!r} was committed before"
        raise InvalidInputError(
            f"A partition of dataset {uuid!r} can be committed once, but {problem} ({len(twice or known)} in all); "
            "nothing was committed.",
            labels=tuple(twice or known),
        )
    sizes = _sizes(store, uuid, [key for part in staged for key in part.keys])
    gone = [key for key, size in sizes.items() if size is None]
    if gone:
        raise ObjectNotFoundError(
            f"{len(gone)} of {len(sizes)} staged files of dataset {uuid!r} are gone, for example {gone[0]!r}: deleted "
            "or collected as garbage. Write the data again; nothing was committed.",
            key=gone[0],
            keys=tuple(gone),
        )
    for part in staged:
        first = next(iter(part.files.values()))
        if part.bytes is not None and sizes[first] != part.bytes:
            raise CorruptDatasetError(
                f"The staged file {first!r} has {sizes[first]} bytes, but {part.bytes} were written. Write the data "
                "again; nothing was committed.",
                key=first,
            )


def _sizes(store: Store, uuid: str, keys: Sequence[str]) -> Mapping[str, int | None]:
    """Return the size of each object, ``None`` where there is none."""
    if len(keys) < _LISTED_FROM:
        return dict(zip(keys, map_in_threads(lambda key: _size(store, key), keys, _PARALLEL), strict=True))
    prefixes = f"{uuid}/", private_root(uuid)
    found = {info.key: info.size for prefix in prefixes for info in store.list(prefix)}
    return {key: found.get(key) for key in keys}


def _size(store: Store, key: str) -> int | None:
    try:
        return store.info(key).size
    except ObjectNotFoundError:
        return None


def staged_values(
    staged: Sequence[StagedPartition], uuid: str, table: str, partition_on: Sequence[str], schema: pa.Schema
) -> dict[str, pa.Array]:
    """Return the values of the partition columns, one per staged partition, as the names of its files tell them."""
    keys = pa.array([one.files[table] for one in staged], pa.string())
    return partition_values(keys, uuid, table, partition_on, schema)
