"""Addresses share the threads: work in order for each, in turn among them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from rollcall.serve.gateway.fair_threads import FairThreads
from tests.gateway.running import asynchronous


@asynchronous
async def test_an_address_that_asks_for_much_does_not_keep_another_waiting() -> None:
    threads, order, gate = FairThreads(1, "t"), [], threading.Event()
    first = threads.run("a", gate.wait)
    many = [threads.run("a", lambda i=i: order.append(f"a{i}")) for i in range(100)]  # type: ignore[misc]
    one = threads.run("b", lambda: order.append("b"))
    gate.set()
    await asyncio.gather(first, one, *many)
    assert order.index("b") <= 1
    assert [name for name in order if name != "b"] == [f"a{i}" for i in range(100)]
    threads.close()


@asynchronous
async def test_what_the_work_raises_its_asker_gets_and_the_threads_go_on() -> None:
    threads = FairThreads(1, "t")
    with pytest.raises(ZeroDivisionError):
        await threads.run("a", lambda: 1 // 0)
    assert await threads.run("a", lambda: 7) == 7
    threads.close()


@asynchronous
async def test_work_that_nobody_waits_for_any_more_is_not_done() -> None:
    threads, gate, done = FairThreads(1, "t"), threading.Event(), []
    first = threads.run("a", gate.wait)
    threads.run("a", lambda: done.append(1)).cancel()
    last = threads.run("a", lambda: done.append(2))
    gate.set()
    await asyncio.gather(first, last)
    assert done == [2]
    threads.close()
