"""Threads for work that would keep the loop too long, given to clients' addresses in turn.

Each client address gets an equal share of the threads, no matter how many connections it opens or how much it asks
for. Knows addresses; knows no work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Job:
    work: Callable[[], Any] | None
    """None: nobody waits for it any more."""
    done: asyncio.Future[Any]

    def forget_work(self, _: object) -> None:
        """Drops the work and what it refers to, also before its turn."""
        self.work = None


class FairThreads:
    """threads: how many. The work of one address is begun in the order it came."""

    def __init__(self, threads: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._waiting: dict[str, deque[_Job]] = {}
        """By address, the one that has waited longest for its turn first."""

    def run(self, address: str, work: Callable[[], T]) -> asyncio.Future[T]:
        """What the work gives, or raises. Work whose future is cancelled before its turn is not done."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        job = _Job(work, done)
        self._waiting.setdefault(address, deque()).append(job)
        done.add_done_callback(job.forget_work)
        self._start()
        return done

    def _start(self) -> None:
        while self._free and self._waiting:
            address, jobs = next(iter(self._waiting.items()))
            job = jobs.popleft()
            del self._waiting[address]
            if jobs:
                self._waiting[address] = jobs
            if job.work is not None and not job.done.done():
                self._free -= 1
                task = asyncio.get_running_loop().run_in_executor(self._executor, job.work)
                task.add_done_callback(lambda finished, job=job: self._finished(job, finished))  # type: ignore[misc]

    def _finished(self, job: _Job, finished: asyncio.Future[Any]) -> None:
        self._free += 1
        error = finished.exception() if not finished.cancelled() else asyncio.CancelledError()
        if not job.done.done():
            if error is None:
                job.done.set_result(finished.result())
            else:
                job.done.set_exception(error)
        self._start()

    def close(self) -> None:
        """Starts no more work; what runs may finish."""
        self._waiting.clear()
        self._executor.shutdown(wait=False, cancel_futures=True)
