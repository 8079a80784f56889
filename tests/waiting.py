"""Waiting for what a test expects, with a deadline: no test sleeps for a while and hopes.

Knows the clock on the wall; must not know what is awaited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

WITHIN_S = 60.0
EVERY_S = 0.02

T = TypeVar("T")


def until(
    ask: Callable[[], T | None], what: str | Callable[[], str], within_s: float = WITHIN_S, every_s: float = EVERY_S
) -> T:
    """Asks again and again until the answer is true (no None, no False, nothing empty), and returns it.

    what: what is awaited, or a function that tells how things stand; the AssertionError says it when time is up.
    """
    deadline = time.monotonic() + within_s
    while not (found := ask()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {within_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(every_s)
    return found


async def until_true(ask: Callable[[], object], within_s: float = 30.0) -> None:
    """As `until`, for a test that is a coroutine: others run while it waits. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not ask():
            await asyncio.sleep(0.005)
