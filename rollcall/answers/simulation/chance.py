"""Chance without a generator: a number derived from a seed and the names of what it decides.

No generator has a state, so one decision more or less leaves the others unchanged.
"""

from __future__ import annotations

import hashlib

_DIGEST_BYTES = 8


def fraction(seed: int, *names: object) -> float:
    """A number in [0, 1) that stands for these names under this seed."""
    text = "\0".join((str(seed), *map(str, names)))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
    return int.from_bytes(digest, "big") / (1 << (8 * _DIGEST_BYTES))


def between(low: int, high: int, seed: int, *names: object) -> int:
    """A whole number in low..high, both included, that stands for these names under this seed."""
    return low if low == high else low + int(fraction(seed, *names) * (high - low + 1))
