"""What a store is, for code that imports it from here."""

from __future__ import annotations

from kubothek.compat.stores import ensure_store, lazy_store

__all__ = ["ensure_store", "lazy_store"]
