"""What the copy of a dataset consists of: which file goes where, which are there already, and what its header says.

Names are kept but for the dataset's own, so that a copy that is made again finds the files of the last one. A file is
taken for the same only if its name is a UUID and its size is equal, and if nobody may be about to delete it as garbage;
where a name is taken by something else, the copy gets a new one, since nothing that is there is ever replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.errors import CorruptDatasetError
from kubothek.model.header import FILE_PREFIX, CommitState, Header, partitions_schema
from kubothek.plan.apply import NO_LABELS
from kubothek.plan.dataset_layout import Base

FILES = pa.schema([("source", pa.string()), ("target", pa.string()), ("size", pa.int64()), ("there", pa.bool_())])


@dataclass(frozen=True, slots=True, eq=False)
class CopyPlan:
    """What to copy, a table of :data:`FILES` (keys, bytes, whether nothing is to be done), and the header of the copy.

    The header's state is complete but for what the commit says: version, ids and incarnation.
    """

    files: pa.Table
    header: Header


def plan_copy(
    source: Base,
    uuid: str,
    *,
    source_objects: pa.Table,
    target_objects: pa.Table,
    index_keys: Mapping[str, str],
    new_name: Callable[[], str],
    keep_names: bool = True,
    doomed: pa.Array = NO_LABELS,
) -> CopyPlan:
    """Plan a copy.

    Parameters
    ----------
    source
        The dataset to copy.
    uuid
        Name of the copy.
    source_objects, target_objects
        What there is under both names: tables of ``plan.garbage.OBJECTS``.
    index_keys
        New key of each index file, by column.
    new_name
        Gives a name that no file has, without suffix.
    keep_names
        Whether files keep their names where these are free; ``False`` gives all of them new ones.
    doomed
        Keys under the new name that may be deleted before the copy is committed: garbage that is old enough.

    Raises
    ------
    CorruptDatasetError
        Files of the source are not in its store; ``keys`` lists them.
    """
    header = source.header
    tables = tuple(source.schemas)
    data = {table: source.partitions[FILE_PREFIX + table].combine_chunks() for table in tables}
    targets = {}
    for table, keys in data.items():
        renamed = pc.binary_join_element_wise(uuid, pc.utf8_slice_codeunits(keys, len(header.uuid)), "")
        taken = _is_taken(renamed, keys, source_objects, target_objects, doomed) if keep_names else pc.is_valid(keys)
        targets[table] = _named_anew(renamed, taken, new_name)
    indices = pa.array(list(header.indices.values()), pa.string())
    new_indices = pa.array([index_keys[column] for column in header.indices], pa.string())
    keys = pa.concat_arrays([*data.values(), indices]).drop_null()
    size = _sizes(source_objects, keys)
    if size.null_count:
        raise _missing(keys.filter(pc.is_null(size)), header.uuid)
    target = pa.concat_arrays([*targets.values(), new_indices]).drop_null()
    there = pc.is_valid(_sizes(target_objects, target))
    partitions = pa.table(
        [source.partitions[name] for name in ("label", "rows", "bytes")] + list(targets.values()),
        schema=partitions_schema(tables),
    )
    copied = replace(
        header,
        uuid=uuid,
        partition_keys=source.partition_keys,
        partitions=partitions,
        indices=dict(index_keys),
        state=_content_state(source),
    )
    return CopyPlan(pa.table([keys, target, size, there], schema=FILES), copied)


def missing_files(plan: CopyPlan, target_objects: pa.Table) -> pa.Array:
    """Return the keys of the copy that are not there, or not with their size."""
    arrived = pc.equal(_sizes(target_objects, plan.files["target"].combine_chunks()), plan.files["size"])
    return plan.files["target"].filter(pc.invert(pc.fill_null(arrived, False))).combine_chunks()


def _content_state(source: Base) -> CommitState:
    """Return our own state as far as it describes the content; what a later version noted may be about the history."""
    state = source.header.state
    return CommitState(
        version=0,
        commit="",
        recent=(),
        incarnation="",
        schema=source.schemas,
        unique_writes=() if state is None else state.unique_writes,
        conformed=state is not None and state.conformed,
        lineage={} if state is None else state.lineage,
    )


def _is_taken(targets: pa.Array, keys: pa.Array, source: pa.Table, target: pa.Table, doomed: pa.Array) -> pa.Array:
    """Return where something else than the file has its name already, or what may go before the copy is committed."""
    random = source["random"].combine_chunks().take(pc.index_in(keys, value_set=source["key"].combine_chunks()))
    there = _sizes(target, targets)
    same = pc.and_(
        pc.and_(pc.equal(there, _sizes(source, keys)), random), pc.invert(pc.is_in(targets, value_set=doomed))
    )
    return pc.and_(pc.is_valid(there), pc.invert(pc.fill_null(same, False)))


def _named_anew(keys: pa.Array, chosen: pa.Array, new_name: Callable[[], str]) -> pa.Array:
    if not pc.any(chosen).as_py():
        return keys
    others = [_with_name(key, new_name()) for key in keys.filter(chosen).to_pylist()]
    return pc.replace_with_mask(keys, chosen, pa.array(others, pa.string()))


def _with_name(key: str, name: str) -> str:
    folder, _, old = key.rpartition("/")
    return f"{folder}/{name}{'.csv.gz' if old.endswith('.csv.gz') else old[old.rfind('.') :]}"


def _sizes(objects: pa.Table, keys: pa.Array) -> pa.Array:
    """Return the size of each object in bytes, null where there is none."""
    sizes = objects["size"].combine_chunks()
    return sizes.take(pc.index_in(keys, value_set=objects["key"].combine_chunks()))


def _missing(keys: pa.Array, uuid: str) -> CorruptDatasetError:
    return CorruptDatasetError(
        f"Dataset {uuid!r} cannot be copied: {len(keys):,} of its files are not in the store, such as "
        f"{keys[0].as_py()!r}. Look at what verify_dataset says; nothing was copied.",
        key=keys[0].as_py(),
        keys=tuple(keys.to_pylist()),
    )
