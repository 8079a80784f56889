"""Lines of a log that say which one they are. Knows how a line begins, and nothing of requests."""

from __future__ import annotations


def line(n: int) -> bytes:
    return b"[2026-03-01 10:%02d:%02d,%03d] line %d\n" % (n // 60_000 % 60, n // 1000 % 60, n % 1000, n)


def number_of(text: bytes) -> int:
    return int(text.rsplit(b" ", 1)[1])
