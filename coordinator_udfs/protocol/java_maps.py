"""The order in which Java's and Kafka's hash tables are walked, where Kafka's assignments depend on it. Pure
arithmetic; knows nothing of groups. `MemberTable` imitates the table that Kafka keeps a group's members in
(org.apache.kafka.timeline.BaseHashTable), whose order depends on what was put into it and when.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

_FIRST_SLOTS = 2
_LOAD_FACTOR = 0.75
_SCATTER = -7046029254386353131
_MASK = (1 << 64) - 1


@dataclass(slots=True)
class MemberTable:
    """Names by slot; the latest in a slot comes first. Doubles before it is too full, and never shrinks."""

    names: list[str]
    """In the order they are walked."""
    slots: int
    """A power of two."""

    def __init__(self, names: Iterable[str] = (), slots: int = _FIRST_SLOTS) -> None:
        self.names = list(names)
        self.slots = slots

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def put(self, name: str) -> None:
        """Puts a name in, or in again; the table may grow in either case."""
        if (len(self.names) + 1) * _LOAD_FACTOR > self.slots:
            names, self.names, self.slots = self.names, [], self.slots * 2
            for each in names:
                self._insert(each)
        if name not in self.names:
            self._insert(name)

    def remove(self, name: str) -> None:
        """Takes a name out, if it is in."""
        if name in self.names:
            self.names.remove(name)

    def copy(self) -> MemberTable:
        return MemberTable(self.names, self.slots)

    def _insert(self, name: str) -> None:
        unused_bits = 64 - (self.slots.bit_length() - 1)
        slot = _scattered(name) >> unused_bits
        self.names.insert(bisect_left(self.names, slot, key=lambda other: _scattered(other) >> unused_bits), name)


@lru_cache(maxsize=100_000)
def _scattered(name: str) -> int:
    """64 bits; the top ones number the slot."""
    return hash_code(name) * _SCATTER & _MASK


def set_order(numbers: Iterable[int]) -> list[int]:
    """The order in which a java.util.HashSet made of these small numbers walks them."""
    unique = list(dict.fromkeys(numbers))
    slots = _set_slots(len(unique))
    return sorted(unique, key=lambda number: number & (slots - 1))


def topic_set_order(topics: Iterable[str], ids: Mapping[str, str]) -> list[str]:
    """The order in which Kafka walks a java.util.HashSet of these topics' ids, made of a set of their names."""
    names = sorted(topics)
    last_slot = _set_slots(len(names)) - 1
    names.sort(key=lambda name: spread(hash_code(name) & 0xFFFFFFFF) & last_slot)
    return sorted(names, key=lambda name: spread(_hash_of(uuid_of(ids[name]))) & last_slot)


@lru_cache(maxsize=10_000)
def uuid_of(text: str) -> tuple[int, int]:
    """The two halves of a Kafka Uuid, signed, as Kafka compares them."""
    data = urlsafe_b64decode(text + "==")
    return int.from_bytes(data[:8], signed=True), int.from_bytes(data[8:], signed=True)


def _hash_of(uuid: tuple[int, int]) -> int:
    """Uuid.hashCode(), its 32 bits unsigned."""
    xor = (uuid[0] ^ uuid[1]) & _MASK
    return (xor >> 32) ^ (xor & 0xFFFFFFFF)


def _set_slots(count: int) -> int:
    """The size of the table of a java.util.HashSet that is made with this many elements."""
    slots = 16
    while slots < count / _LOAD_FACTOR + 1:
        slots *= 2
    return slots


def hash_code(text: str) -> int:
    """String.hashCode(): a signed 32-bit number over UTF-16 units."""
    data = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for i in range(0, len(data), 2):
        code = (31 * code + (data[i] << 8 | data[i + 1])) & 0xFFFFFFFF
    return code - (1 << 32) if code >= 1 << 31 else code


def hash_map_order(names: Iterable[str]) -> list[str]:
    """The order in which a java.util.HashMap filled with these names in this order walks them.

    By bucket, (h ^ h >>> 16) & (table - 1), then by insertion; the table starts at 16 and doubles above 3/4.
    """
    unique = list(dict.fromkeys(names))
    table = 16
    while len(unique) > table * 3 // 4:
        table *= 2
    return sorted(unique, key=lambda name: spread(hash_code(name) & 0xFFFFFFFF) & (table - 1))


def spread(code: int) -> int:
    """What java.util.HashMap makes of an unsigned hashCode; its lowest bits number the slot."""
    return code ^ (code >> 16)
