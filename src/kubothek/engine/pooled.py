"""Arrays of numbers in memory of Arrow's pool, for what is computed and thrown away for each unit that is read.

Arrow's pool keeps what was freed for the next one who asks. C's own allocator, from which NumPy has its arrays, gives
blocks of more than 128 KiB back to the system, and each page of the next one is a fault: half of the time of a join of
a partition of some 10,000 rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def pooled(count: int) -> np.ndarray:
    """Return so many ``int64`` of any values, to be given to NumPy as ``out``.

    Examples
    --------
    >>> np.add([1, 2], 3, out=pooled(2)).tolist()
    [4, 5]
    """
    return np.frombuffer(pa.allocate_buffer(8 * max(count, 1)), np.int64)[:count]
