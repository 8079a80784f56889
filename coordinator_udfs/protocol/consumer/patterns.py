"""Regular expressions in RE2 syntax: whether one can be read, how large it is, and which whole names it matches.

The one module of the protocol that needs another package: RE2 has no backtracking, so the cost of an expression depends
only on its size and the names; Python's engine backtracks. Pure: a text and names in, an answer out. Compiled
expressions and errors are cached. Source: Kafka's TopicRegexResolver, which uses RE2/J.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import re2

LIMITED_MEMORY_BYTES = 131_072
"""The memory of RE2 for an expression where there are limits: it gives up on a larger one early."""
_MEMORY_BYTES = 8_388_608


class Reading(NamedTuple):
    """The result of reading an expression."""

    error: str | None
    """What is wrong with it; None if it can be read."""
    program_size: int
    """How many instructions it is compiled to."""


def _options(max_bytes: int) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = max_bytes
    return options


@lru_cache(maxsize=64)
def _compiled(pattern: str, max_bytes: int) -> Any:
    return re2.compile(pattern, _options(max_bytes))


@lru_cache(maxsize=1000)
def _read(pattern: str, max_bytes: int) -> Reading:
    try:
        return Reading(None, _compiled(pattern, max_bytes).programsize)
    except re2.error as error:
        return Reading(str(error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]), 0)


def why_unreadable(pattern: str) -> str | None:
    """What is wrong with an expression, None if it can be read."""
    return _read(pattern, _MEMORY_BYTES).error


def read_limited(pattern: str) -> Reading:
    """Reads an expression within LIMITED_MEMORY_BYTES."""
    return _read(pattern, LIMITED_MEMORY_BYTES)


def work_of_reading(pattern: str) -> int:
    """About how many microseconds it takes at worst to read an expression, by its length."""
    return 300 + 3 * len(pattern) + 200 * unicode_classes(pattern)


def work_of_matching(pattern: str, names_bytes: int) -> int:
    """About how many microseconds it takes at worst to match an expression against names of this many bytes."""
    return names_bytes // 30 + names_bytes * read_limited(pattern).program_size // 300


def unicode_classes(pattern: str) -> int:
    """How many classes such as `\\pL` an expression names: they make reading expensive."""
    return pattern.count("\\p") + pattern.count("\\P")


def matching(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that an expression matches from their first to their last character, sorted."""
    is_small = read_limited(pattern).error is None
    compiled = _compiled(pattern, LIMITED_MEMORY_BYTES if is_small else _MEMORY_BYTES)
    return tuple(sorted(name for name in names if compiled.fullmatch(name)))
