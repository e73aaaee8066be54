"""Each parser meets some hundred inputs that nobody would write; ``make fuzz`` has more of them."""

from __future__ import annotations

import time
from random import Random

import pytest
from tests.fuzz.mutate import mutate
from tests.fuzz.targets import TARGETS

SECONDS = 0.4


@pytest.mark.parametrize("name", TARGETS)
def test_samples(name: str) -> None:
    """What inputs are made of is itself accepted."""
    samples = TARGETS[name].samples()
    assert samples
    for sample in samples:
        TARGETS[name].read(sample)


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_is_more_than_refused(name: str) -> None:
    """The same inputs every time, as many as the time allows, are accepted or refused with the errors agreed on."""
    target, random = TARGETS[name], Random(0)
    samples, refused = target.samples(), 0
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        data = mutate(random.choice(samples), samples, target.tokens, target.form, random)
        try:
            target.read(data)
        except target.refusals:
            refused += 1
    assert refused


# What was more than refused when it was met first, in short.
FOUND = [
    ("store_url", b"az://d["),
    ("deletion", b'{"keys": ' + b"[" * 3000),
    ("deletion", b'{"keys": ["\xed\xa0\x80"]}'),
    ("csv_gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"),
    ("staged_values", b""),
    (
        "common_metadata",
        b"PAR1\x15\x04\x19\x2c5\x00\x18\x01r\x15\x02\x00\x15\x04%\x02\x18\x01\xff\x00\x16\x00\x19\x0c\x00\x1a\x00\x00\x00PAR1",
    ),
    ("index", b"PAR1\x19\xf1\xff\xff\xff\xff\x0f\x07\x00\x00\x00PAR1"),
    ("data_file", b"PAR1\x19\xf1\xff\xff\xff\xff\x0f\x07\x00\x00\x00PAR1"),
]


@pytest.mark.parametrize(("name", "data"), FOUND, ids=lambda value: value if isinstance(value, str) else "")
def test_what_was_found(name: str, data: bytes) -> None:
    """Each is refused now."""
    with pytest.raises(TARGETS[name].refusals):
        TARGETS[name].read(data)
