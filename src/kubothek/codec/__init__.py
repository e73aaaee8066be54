"""Bytes to values and back: keys, headers, schemas, indices, data files."""
