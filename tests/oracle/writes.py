"""How write steps are carried out by Kubothek's functions, and what of their outcome is compared: label shapes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.oracle.corpus_values import CaseSet, decode
from tests.oracle.queries import conditions
from tests.oracle.verdicts import Case

import kubothek as kb

Step = Mapping[str, Any]
_NUMBERS = itertools.count()


def empty_store() -> kb.Store:
    """Return a store in memory that nothing else uses."""
    return kb.Store(f"memory://oracle-{next(_NUMBERS)}")


def copied_store(folder: Path) -> kb.Store:
    """Return a store in memory with the objects of a stored one."""
    store = empty_store()
    for file in folder.rglob("*"):
        if file.is_file():
            store.put(file.relative_to(folder).as_posix(), file.read_bytes())
    return store


def label_shape(labels: Iterable[str]) -> Counter[str]:
    """Count the files by the directory part of their labels; the rest is random."""
    return Counter(label.rpartition("/")[0] for label in labels)


def stored_shape(stored: Sequence[Any]) -> Counter[str]:
    """Return a label shape as the corpus holds it."""
    return Counter(dict(stored))


def compare_shape(case: Case, expected: Mapping[str, Any], answer: kb.Dataset) -> str | None:
    """Say how the label shape of a dataset differs from that of a write step."""
    wanted, found = stored_shape(expected["label_shape"]), label_shape(answer.partitions)
    return None if wanted == found else f"files missing {dict(wanted - found)}, too many {dict(found - wanted)}"


def compare_shapes(case: Case, expected: Mapping[str, Any], answer: Mapping[str, kb.Dataset]) -> str | None:
    """Say how the datasets of a cube differ in name or label shape from those after a write step."""
    if sorted(expected) != sorted(answer):
        return f"datasets {sorted(expected)} expected, {sorted(answer)} found"
    found = {name: compare_shape(case, shape, answer[name]) for name, shape in expected.items()}
    return "; ".join(f"{name}: {text}" for name, text in found.items() if text) or None


def step_cases(steps: Sequence[Step], check: str) -> list[Case]:
    """Turn write steps into cases: what they should lead to is what they are expected to do."""
    return [{"id": f"s{number}", "expect": step[check], "step": step} for number, step in enumerate(steps)]


def _store(given: CaseSet, step: Step, uuid: str, store: kb.Store) -> kb.Dataset:
    several = any(isinstance(files, Mapping) for files in step["inputs"])
    return kb.write_dataset(
        _frames(given, step),
        uuid,
        store,
        partition_on=step.get("partition_on", ()),
        secondary_indices=step.get("secondary_indices", ()),
        table="table" if several else step.get("table", "table"),
        metadata=step.get("metadata"),
        compression=step.get("compression", "snappy").lower(),
        rows_per_row_group=step.get("chunk_size"),
        header_format=step.get("metadata_storage_format", "json"),
    )


def _update(given: CaseSet, step: Step, uuid: str, store: kb.Store) -> kb.Dataset:
    return kb.update_dataset(
        _frames(given, step) or None,
        uuid,
        store,
        delete_scope=[{c: decode(v) for c, v in one.items()} for one in step.get("delete_scope", ())],
        partition_on=step.get("partition_on"),
        secondary_indices=step.get("secondary_indices"),
        compression=step.get("compression", "snappy").lower(),
    )


def _update_in_pieces(given: CaseSet, step: Step, uuid: str, store: kb.Store) -> kb.Dataset:
    (frame,) = _frames(given, step)
    size = -(-frame.num_rows // step["npartitions"])
    return kb.update_dataset(
        [frame.slice(start, size) for start in range(0, frame.num_rows, size)],
        uuid,
        store,
        partition_on=step.get("partition_on"),
        secondary_indices=step.get("secondary_indices"),
        shuffle=step.get("shuffle", False),
        bucket_by=step.get("bucket_by", ()),
        num_buckets=step.get("num_buckets"),
    )


def _create_empty(given: CaseSet, step: Step, uuid: str, store: kb.Store) -> kb.Dataset:
    return kb.create_empty_dataset(
        {table: given.table(file).schema for table, file in step["schema_of"].items()},
        uuid,
        store,
        partition_on=step.get("partition_on", ()),
        metadata=step.get("metadata"),
        header_format=step.get("metadata_storage_format", "json"),
    )


def _write_partition(given: CaseSet, step: Step, uuid: str, store: kb.Store) -> kb.Dataset:
    (frame,) = _frames(given, step)
    staged = kb.write_partitions(frame, uuid, store, partition_on=step.get("partition_on"))
    return kb.commit_dataset(uuid, store, new_partitions=staged)


def _build_indices(given: CaseSet, step: Step, uuid: str, store: kb.Store) -> kb.Dataset:
    return kb.build_dataset_indices(uuid, store, step["columns"])


def _frames(given: CaseSet, step: Step) -> list[Any]:
    """Return the rows of each input, of one table or by table."""
    return [
        {table: given.table(file) for table, file in files.items()}
        if isinstance(files, Mapping)
        else given.table(files)
        for files in step["inputs"]
    ]


DATASET_WRITES: Mapping[str, Callable[[CaseSet, Step, str, kb.Store], kb.Dataset]] = {
    "store_dataframes_as_dataset": _store,
    "update_dataset_from_dataframes": _update,
    "update_dataset_from_ddf": _update_in_pieces,
    "create_empty_dataset_header": _create_empty,
    "write_single_partition": _write_partition,
    "build_dataset_indices": _build_indices,
}
"""By the name of Kartothek's function: how Kubothek writes the same to a dataset."""


def _build(given: CaseSet, step: Step, cube: kb.Cube, store: kb.Store) -> None:
    kb.build_cube(
        _data(given, step),
        cube,
        store,
        metadata=step.get("metadata"),
        overwrite=step.get("overwrite", False),
        partition_on=step.get("partition_on"),
    )


def _extend(given: CaseSet, step: Step, cube: kb.Cube, store: kb.Store) -> None:
    kb.extend_cube(
        _data(given, step),
        cube,
        store,
        overwrite=step.get("overwrite", False),
        partition_on=step.get("partition_on"),
    )


def _append(given: CaseSet, step: Step, cube: kb.Cube, store: kb.Store) -> None:
    kb.append_to_cube(_data(given, step), cube, store, compression=step.get("compression", "zstd").lower())


def _remove(given: CaseSet, step: Step, cube: kb.Cube, store: kb.Store) -> None:
    # Kartothek takes no condition for all partitions; here one has to be given, such as one that always holds.
    everything = ~kb.C(cube.partition_columns[0]).is_null()
    stored = step.get("conditions")
    where = everything if stored is None else conditions(stored)
    kb.remove_partitions(cube, store, where, datasets=step.get("datasets"))


def _data(given: CaseSet, step: Step) -> dict[str, list[pa.Table]]:
    frames: dict[str, list[pa.Table]] = {}
    for part in step["data"]:
        for dataset_id, file in part.items():
            frames.setdefault(dataset_id, []).append(given.table(file))
    return frames


CUBE_WRITES: Mapping[str, Callable[[CaseSet, Step, kb.Cube, kb.Store], None]] = {
    "build_cube": _build,
    "extend_cube": _extend,
    "append_to_cube": _append,
    "remove_partitions": _remove,
}
"""By the name of Kartothek's function: how Kubothek writes the same to a cube."""
