"""Regular expressions in RE2 syntax: whether one can be read, and which whole names it matches.

The one module of the protocol that needs another package: RE2 has no backtracking, so that no expression of a client
can hold the coordinator up, and Python has no such engine of its own. Pure: a text and names in, an answer out.
Source: Kafka's TopicRegexResolver, which uses RE2/J.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> Any:
    return re2.compile(pattern, _OPTIONS)


def why_unreadable(pattern: str) -> str | None:
    """What is wrong with an expression, None if it can be read."""
    try:
        _compiled(pattern)
    except re2.error as error:
        return str(error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0])
    return None


def matching(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that an expression matches from their first to their last character, sorted."""
    compiled = _compiled(pattern)
    return tuple(sorted(name for name in names if compiled.fullmatch(name)))
