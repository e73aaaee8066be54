"""The functions by how they work: at once (``eager``), one by one (``iter``), or on Spark (under Dask's names)."""
