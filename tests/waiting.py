"""Waiting for what a test expects, with a deadline: no test sleeps for a while and hopes.

Knows the clock on the wall; must not know what is awaited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

WITHIN_S = 120.0
EVERY_S = 0.02

T = TypeVar("T")


def until(
    ask: Callable[[], T | None], what: str | Callable[[], str], within_s: float = WITHIN_S, every_s: float = EVERY_S
) -> T:
    """Asks again and again until the answer is true (no None, no False, nothing empty), and returns it.

    what: what is awaited, or a function that says how things stand; the AssertionError says it when time is up.
    every_s: the pause between two questions. It is as long as the last question took where that is longer, so that
    whoever is waited for has a core.
    """
    deadline = time.monotonic() + within_s
    while True:
        asked_s = time.monotonic()
        if found := ask():
            return found
        answered_s = time.monotonic()
        if answered_s >= deadline:
            raise AssertionError(f"not within {within_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(max(every_s, answered_s - asked_s))


async def until_true(ask: Callable[[], object], within_s: float = 60.0) -> None:
    """As `until`, for a test that is a coroutine: others run while it waits. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not ask():
            await asyncio.sleep(0.005)
