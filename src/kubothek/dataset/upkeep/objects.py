"""Which objects a dataset has in the store: its headers as they are stored, and a listing of everything else."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import pyarrow as pa

from kubothek.codec.header import decode_header
from kubothek.codec.keys import check_uuid, header_keys, private_root
from kubothek.codec.object_kinds import object_kinds
from kubothek.errors import CorruptDatasetError
from kubothek.model.header import Header
from kubothek.plan.garbage import OBJECTS
from kubothek.store.interface import ObjectInfo, Store


def find_headers(uuid: str, store: Store) -> dict[str, Header | None]:
    """Return key and content of a dataset's headers; the first is the one that counts, a second one is shadowed by it.

    A shadowed header that cannot be understood is ``None``: nobody reads it.

    Raises
    ------
    CorruptDatasetError
        The header that counts cannot be understood.
    """
    check_uuid(uuid)
    keys = header_keys(uuid)
    stored = {key: blob.data for key, blob in zip(keys, store.get_many(keys), strict=True) if blob is not None}
    found: dict[str, Header | None] = {}
    for key, data in stored.items():
        try:
            found[key] = decode_header(data, key)
        except CorruptDatasetError:
            if not found:
                raise
            found[key] = None
    first = next(iter(found.values()), None)
    # Another header holds then, if somebody can read it.
    if first is not None and first.is_withdrawn and found.get(keys[1]) is not None:
        return dict(reversed(found.items()))
    return found


def list_objects(uuid: str, store: Store) -> pa.Table:
    """List what lies in a dataset's folder, beside it, and among our own objects, as :data:`OBJECTS`.

    Three requests, or as many as the store needs for that many keys. Beside it, only one level is listed: what lies
    deeper belongs to others.
    """
    beside = store.list_level(f"{uuid}.")[0]
    return objects_table(chain(store.list(f"{uuid}/"), beside, store.list(private_root(uuid))), uuid)


def objects_table(infos: Iterable[ObjectInfo], uuid: str) -> pa.Table:
    """Return what a listing told, with what each object is to the dataset."""
    rows = [(info.key, info.size, info.modified) for info in infos]
    columns = [pa.array([row[i] for row in rows], OBJECTS.field(i).type) for i in range(3)]
    return pa.table([*columns, *object_kinds(columns[0], uuid).columns], schema=OBJECTS)
