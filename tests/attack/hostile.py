"""Hostile values and what can be done to good bytes: shared by the inputs. Knows no input."""

from __future__ import annotations

from random import Random

TEXTS = (
    "",
    "a",
    "g",
    "orders",
    "t1",
    "a[/x]b",
    "[bold red]",
    "$x$",
    "a\nb",
    "\x1b[2J\x1b[31m",
    "\u202egnp.exe",
    "\x00",
    "\ufeff",
    "é" * 100,
    "😀" * 50,
    "%s%n%x",
    "'; drop table effects; --",
    "../../etc/passwd",
    "NaN",
    "-1e10",
    " ",
    "x" * 249,
    "x" * 32_767,
    "x" * 32_768,
    "*",
    "User:*",
)
INTEGERS = (0, 1, -1, 2, 127, 128, 255, 256, 32_767, 32_768, 65_535, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63))
COUNTS = (0, 1, 1, 1, 2, 3, 10, 100, 1000)


def text(random: Random) -> str:
    """A text, mostly one that others are asked about as well."""
    if random.random() < 0.5:
        return f"g{random.randrange(4)}"
    chosen = random.choice(TEXTS)
    return chosen if random.random() < 0.8 else chosen[: random.randrange(20)] + chr(random.randrange(1, 0xD800))


def integer(random: Random, bits: int) -> int:
    """A signed number of this many bits, often at an edge."""
    most = (1 << bits - 1) - 1
    number = random.choice(INTEGERS) if random.random() < 0.7 else random.randint(-most - 1, most)
    return max(-most - 1, min(most, number))


def count(random: Random) -> int:
    """How many elements a list has: few, and now and then very many."""
    return random.choice(COUNTS[:-2]) if random.random() < 0.98 else random.choice(COUNTS)


def mutated(random: Random, data: bytes) -> bytes:
    """The bytes with some of them changed, lost, doubled or put in."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        at = random.randrange(len(changed) + 1)
        match random.randrange(6):
            case 0 if at < len(changed):
                changed[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            case 1:
                del changed[at : at + random.choice((1, 2, 4, 100))]
            case 2:
                changed[at:at] = random.randbytes(random.choice((1, 2, 4, 8)))
            case 3:
                changed[at:at] = changed[at : at + random.choice((4, 16, 200))]
            case 4:
                number = integer(random, 64) & 0xFFFFFFFFFFFFFFFF
                width = random.choice((1, 2, 4, 8))
                changed[at : at + width] = number.to_bytes(8, "big")[-width:]
            case _:
                del changed[at:]
    return bytes(changed)
