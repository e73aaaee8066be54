"""Names of what may be given for a store, for annotations."""

from __future__ import annotations

from kubothek.compat.stores import KeyValueStore, StoreFactory, StoreInput

__all__ = ["KeyValueStore", "StoreFactory", "StoreInput"]
