"""What worked on Dask's collections, here on Spark DataFrames and on the lazy objects of ``kubothek.compat.lazily``."""
