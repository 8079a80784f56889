"""Java's view of a string, where Kafka's answers depend on it: length in UTF-16 units, hashCode, HashMap order.

Pure arithmetic; knows nothing of groups.
"""

from __future__ import annotations

from collections.abc import Iterable


def utf16_length(text: str) -> int:
    """String.length(): the number of UTF-16 units; a character outside the basic plane counts as two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2


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
