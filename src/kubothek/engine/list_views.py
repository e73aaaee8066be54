"""Lists in place of list views, which Arrow casts to arrays that it itself calls invalid (seen with version 26)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def has_list_views(kind: pa.DataType) -> bool:
    """Tell whether values of this type are list views or have some inside.

    Examples
    --------
    >>> has_list_views(pa.struct([("a", pa.list_view(pa.int8()))])), has_list_views(pa.list_(pa.int8()))
    (True, False)
    """
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return True
    return any(has_list_views(kind.field(number).type) for number in range(kind.num_fields))


def without_list_views(array: pa.Array) -> pa.Array:
    """Return the same values as lists, whatever they are nested in.

    Examples
    --------
    >>> views = pa.array([[1], None, [2, 3]], pa.list_view(pa.int8()))
    >>> without_list_views(views).type, without_list_views(views).to_pylist()
    (LargeListType(large_list<item: int8>), [[1], None, [2, 3]])
    """
    kind = array.type
    if not has_list_views(kind):
        return array
    if pa.types.is_struct(kind):
        fields = [without_list_views(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, names=[field.name for field in kind], mask=array.is_null())
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    # Flattening leaves out what lies under nulls, which may still have a length in a list of fixed size.
    items = without_list_views(array.flatten())
    return pa.LargeListArray.from_arrays(offsets, items, mask=array.is_null())
