"""What is wrong with a dataset, as far as values that are already loaded tell: pure checks, each returning problems.

They compare what the header records with what the store lists, with what a file's footer says, and with what a column
holds. The files are read elsewhere (``kubothek.dataset.upkeep.verify``), one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from kubothek.errors import SchemaError
from kubothek.model.header import FILE_PREFIX, Header
from kubothek.model.problem import Problem, ProblemKind
from kubothek.model.schema import merge_schemas, normalise_type
from kubothek.plan.apply import CREATION_TIME
from kubothek.plan.dataset_layout import Base
from kubothek.plan.foreign import effect_left
from kubothek.plan.index_merge import explode_index, index_from_postings

_EXAMPLES = 3


def table_files(base: Base, table: str, objects: pa.Table) -> pa.Table:
    """Return the files of a table: ``label``, ``key``, recorded ``rows`` and ``bytes``, and the ``size`` in the store.

    Rows and bytes are null where unknown (for several tables only their sums are recorded); the size is null where
    the file is not there.
    """
    keys = base.partitions[FILE_PREFIX + table].combine_chunks()
    unknown = pa.nulls(len(keys), pa.int64())
    recorded = {name: base.partitions[name] if len(base.schemas) == 1 else unknown for name in ("rows", "bytes")}
    found = pc.index_in(keys, value_set=objects["key"].combine_chunks())
    size = objects["size"].combine_chunks().take(found)
    files = pa.table({"label": base.partitions["label"], "key": keys, **recorded, "size": size})
    return files.filter(pc.is_valid(files["key"]))


def check_tables(base: Base) -> Iterator[Problem]:
    """Find tables that some partitions lack: each partition has every table."""
    for table in base.schemas:
        lacking = base.partitions["label"].filter(pc.is_null(base.partitions[FILE_PREFIX + table]))
        if len(lacking):
            yield Problem(
                "missing_table",
                base.header.uuid,
                None,
                f"{len(lacking):,} partition(s) have no file of table {table!r}, such as {lacking[0].as_py()!r}.",
            )


def check_labels(uuid: str, table: str, files: pa.Table) -> Iterator[Problem]:
    """Find files whose folder is not the one that the partition's label says."""
    expected = pc.replace_substring_regex(files["label"], pattern=r"[^/]*$", replacement="")
    expected = pc.binary_join_element_wise(f"{uuid}/{table}/", expected, "")
    folder = pc.replace_substring_regex(files["key"], pattern=r"[^/]*$", replacement="")
    for one in files.filter(pc.not_equal(folder, expected)).to_pylist():
        yield Problem(
            "wrong_label",
            uuid,
            one["key"],
            f"The partition is called {one['label']!r}, but its file of table {table!r} lies in another folder.",
        )


def check_sizes(uuid: str, files: pa.Table) -> Iterator[Problem]:
    """Find files that are not there, or not as large as the header says."""
    for key in files["key"].filter(pc.is_null(files["size"])).to_pylist():
        yield Problem("missing_file", uuid, key, "The header names the data file, but it is not in the store.")
    for one in files.filter(pc.not_equal(files["size"], files["bytes"])).to_pylist():
        message = f"The header records {one['bytes']:,} bytes, but the file has {one['size']:,}."
        yield Problem("wrong_size", uuid, one["key"], message)


def check_rows(uuid: str, key: str, recorded: int | None, found: int) -> Iterator[Problem]:
    """Find a file that does not have as many rows as the header says."""
    if recorded is not None and recorded != found:
        yield Problem("wrong_rows", uuid, key, f"The header records {recorded:,} rows, but the file has {found:,}.")


def check_columns(uuid: str, key: str, record: pa.Schema, found: pa.Schema) -> Iterator[Problem]:
    """Find columns of record that a file lacks, has twice, or holds with a type that does not become that of record."""
    counts = Counter(found.names)
    misfit = [name for name in record.names if counts[name] == 1 and not _fits(found, record, name)]
    said = [f"{name!r} is missing" for name in record.names if not counts[name]]
    said += [f"{name!r} is there {counts[name]} times" for name in record.names if counts[name] > 1]
    said += [f"{name!r} is {found.field(name).type} instead of {record.field(name).type}" for name in misfit]
    if said:
        yield Problem("wrong_columns", uuid, key, f"The file does not fit the schema: {', '.join(said)}.")


def _fits(found: pa.Schema, record: pa.Schema, name: str) -> bool:
    """Whether a stored type is the one of record once widened; a column of nulls fits everything."""
    kind, wanted = found.field(name).type, record.field(name).type
    try:
        kind = normalise_type(kind)
        merged = merge_schemas(pa.schema([(name, wanted)]), pa.schema([(name, kind)]), what=name)
    except SchemaError:
        return bool(kind == wanted or _is_narrower_decimal(kind, wanted))
    return bool(merged.field(name).type == wanted)


def _is_narrower_decimal(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if not (types.is_decimal(kind) and types.is_decimal(wanted)):
        return False
    return bool(kind.scale <= wanted.scale and kind.precision - kind.scale <= wanted.precision - wanted.scale)


class ValuesByLabel:
    """The content of an index turned round: the values that it names for each label."""

    def __init__(self, column: str, index: pa.Table) -> None:
        values, labels = explode_index(index, column)
        encoded = pc.dictionary_encode(labels)
        codes = encoded.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        self.labels: list[str] = encoded.dictionary.to_pylist()
        self._values = values.take(pa.array(order))
        self._starts = np.searchsorted(codes[order], np.arange(len(self.labels) + 1))
        self._places = {label: place for place, label in enumerate(self.labels)}

    def __getitem__(self, label: str) -> pa.Array:
        """Return the values of a label; none where the index does not have it."""
        place = self._places.get(label)
        if place is None:
            return self._values.slice(0, 0)
        return self._values.slice(self._starts[place], self._starts[place + 1] - self._starts[place])


@dataclass(frozen=True, slots=True, eq=False)
class IndexDifference:
    """What an index names for a label and the files do not hold (``superfluous``), and the other way (``missing``)."""

    label: str
    missing: pa.Array
    superfluous: pa.Array


def compare_values(label: str, column: str, indexed: pa.Array, held: pa.Array) -> IndexDifference:
    """Compare what an index names for a label with the values that its files hold."""
    held = index_from_postings(column, held, pa.repeat(label, len(held)))[column].combine_chunks()
    return IndexDifference(
        label=label,
        missing=held.filter(pc.invert(pc.is_in(held, value_set=indexed))),
        superfluous=indexed.filter(pc.invert(pc.is_in(indexed, value_set=held))),
    )


def check_index_labels(
    uuid: str, column: str, key: str | None, indexed: Sequence[str], known: pa.Array
) -> Iterator[Problem]:
    """Find labels in an index that the dataset does not have."""
    labels = pa.array(indexed, pa.string())
    unknown = labels.filter(pc.invert(pc.is_in(labels, value_set=known)))
    if len(unknown):
        message = f"The index on {column!r} names {len(unknown):,} partition(s) that do not exist, such as "
        yield Problem("unknown_index_labels", uuid, key, f"{message}{unknown[0].as_py()!r}. Build it again.")


def check_index_values(
    uuid: str, column: str, key: str | None, differences: Iterable[IndexDifference]
) -> Iterator[Problem]:
    """Report the differences between an index and the files, those of each kind together."""
    effects: dict[ProblemKind, str] = {
        "missing_index_entries": "lacks {} that files hold: conditions on the column drop these files",
        "superfluous_index_entries": "has {} that files do not hold: conditions on the column read these files in vain",
    }
    found = list(differences)
    for kind, effect in effects.items():
        sides = [(one.label, one.missing if kind == "missing_index_entries" else one.superfluous) for one in found]
        count = sum(len(values) for _, values in sides)
        if count:
            examples = [f"{value!r} of {label!r}" for label, values in sides for value in values[:1].to_pylist()]
            said = effect.format(f"{count:,} value(s)")
            message = f"The index on {column!r} {said}, such as {', '.join(examples[:_EXAMPLES])}. Build it again."
            yield Problem(kind, uuid, key, message)


def check_overwritten(now: Header, lost: Header, before: Header | None, by: int, key: str) -> Iterator[Problem]:
    """Find a commit that other software has overwritten and that nobody has brought back, or replaced on purpose.

    Parameters
    ----------
    now
        The dataset as it is, its partitions listed.
    lost, before
        The version that the commit made, and the one before it, ``None`` where it was the first.
    by
        The version that other software made without having seen it. It has the same number where it was adopted before
        the other was kept, which has none of its own then.
    key
        That of the header as it is now.
    """
    state = lost.state
    replaced = lost.metadata.get(CREATION_TIME) != now.metadata.get(CREATION_TIME)
    if state is None or replaced or effect_left(before, lost, now) != "gone":
        return
    info = state.info
    said = "" if info is None else f", {info.operation} by {info.author} at {info.time:%Y-%m-%d %H:%M:%S} UTC"
    back = (
        f", or bring all of that version back with rollback_dataset(…, to={state.version}); its files stay for as long "
        "as garbage collection keeps it"
    )
    yield Problem(
        "overwritten_commit",
        now.uuid,
        key,
        f"Nothing is left of commit {state.commit} (version {state.version}{said}): other software put version {by}, "
        "and had not seen it or removed all of it. Unless that was meant, make the change again"
        f"{back if by != state.version else ''}.",
    )
