"""Where Kubothek answers otherwise than Kartothek, on purpose: each case with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_BY_REASON: Mapping[str, Sequence[str]] = {}

INTENDED: Mapping[str, str] = {case: reason for reason, cases in _BY_REASON.items() for case in cases}
"""Reason by ``check/case set/case id``. A case that is listed and does not differ fails its test."""
