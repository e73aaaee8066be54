"""What an object in the store is to a dataset, told by its key alone.

::

    data      <uuid>/<table>/….parquet, .csv or .csv.gz
    schema    <uuid>/<table>/_common_metadata
    delta     <uuid>/_delta_log/…
    index     <uuid>/indices/<column>/….by-dataset-index.parquet, <uuid>.<column>.by-dataset-index.parquet
    passing   _kubothek/<uuid>/<incarnation>/staged/…, _kubothek/<uuid>/<incarnation>/deletion.json
    version   _kubothek/<uuid>/<incarnation>/history/<version>-<time>-<commit>.json.zst, .msgpack.zst
    private   _kubothek/<uuid>/<incarnation>/…

The key says whose an object is: neither a dataset's name nor a table's holds ``/`` or ``.``, so that ``seed`` is never
taken for ``seed2``. What fits none of these is not the dataset's, and nobody here touches it.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import DATA_SUFFIXES

_DATA_SUFFIX = f"(?:{'|'.join(map(re.escape, DATA_SUFFIXES))})$"
_VERSION_NAME = r"\d{20}-\d{8}T\d{6}\.\d{6}Z-[^/]+\.(?:json|msgpack)\.zst"
_RANDOM_NAME = r"/[0-9a-f]{32}" + _DATA_SUFFIX


def object_kinds(keys: pa.Array, uuid: str) -> pa.Table:
    """Tell what each object is.

    Parameters
    ----------
    keys
        Storage keys.
    uuid
        The dataset.

    Returns
    -------
    pa.Table
        One row per key: ``kind`` (see above, null for what is not the dataset's), ``name`` (the table of data and
        schemas, the incarnation of private objects, else null) and ``random``: whether it is a data file whose name is
        a UUID, which no other content ever has.

    Examples
    --------
    >>> keys = pa.array(["seed/table/p=1/a.parquet", "seed2/table/a.parquet", "_kubothek/seed/i/staged/w/v.staged"])
    >>> object_kinds(keys, "seed").to_pylist()[0]
    {'kind': 'data', 'name': 'table', 'random': False}
    >>> object_kinds(keys, "seed")["kind"].to_pylist()
    ['data', None, 'passing']
    """
    kinds, names = pa.nulls(len(keys), pa.string()), pa.nulls(len(keys), pa.string())
    for kind, pattern in _patterns(re.escape(uuid)).items():
        found = pc.and_(pc.match_substring_regex(keys, pattern), pc.is_null(kinds))
        kinds = pc.if_else(found, kind, kinds)
        if "(?P<name>" in pattern:
            names = pc.if_else(found, pc.struct_field(pc.extract_regex(keys, pattern=pattern), "name"), names)
    kinds = pc.if_else(pc.equal(pc.fill_null(names, ""), "indices"), None, kinds)  # not a table, and no index either
    random = pc.and_(pc.equal(pc.fill_null(kinds, ""), "data"), pc.match_substring_regex(keys, _RANDOM_NAME))
    return pa.table({"kind": kinds, "name": names, "random": random})


def _patterns(uuid: str) -> dict[str, str]:
    """Return a regular expression per kind; the first that fits decides."""
    return {
        "delta": rf"^{uuid}/_delta_log/",
        "index": rf"^{uuid}(?:/indices/[^/]+/|\.)[^/]+\.by-dataset-index\.parquet$",
        "schema": rf"^{uuid}/(?P<name>[^/]+)/_common_metadata$",
        "data": rf"^{uuid}/(?P<name>[^/]+)/(?:[^/]+/)*[^/]+{_DATA_SUFFIX}",
        "passing": rf"^_kubothek/{uuid}/(?P<name>[^/]+)/(?:staged/|deletion\.json$)",
        "version": rf"^_kubothek/{uuid}/(?P<name>[^/]+)/history/{_VERSION_NAME}$",
        "private": rf"^_kubothek/{uuid}/(?P<name>[^/]+)/",
    }
