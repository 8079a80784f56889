"""Work for several processes of this machine, with progress; a small amount is done in this process.

Only the parent handles Ctrl-C: it stops its processes, and they end with it however it ends. Knows processes and
counts; must not know what the work is.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from types import TracebackType
from typing import Any, Self, TypeVar

from rollcall.programs.errors import UserError

LOOKED_EVERY_S = 0.2
_ENDED = "a process that did a part of the work was ended from outside, as the system does where memory is short"
_WAITING_AT_MOST = 4
"""At most this many pieces of work for each process are handed out ahead."""
T = TypeVar("T")


class ProcessEndedError(UserError):
    """A process that did a part of the work ended early; the text says what that may mean."""


class Stopped(Exception):
    """The work is not wanted any more."""


class Done:
    """State that all processes share: how much is done, and whether to stop."""

    def __init__(self, count: Any = None, is_over: Any = None) -> None:
        self._count, self._is_over = count, is_over
        self._alone = 0

    def note(self, more: int) -> None:
        """Counts what was done. Raises Stopped."""
        if self._count is None:
            self._alone += more
            return
        with self._count.get_lock():
            self._count.value += more
        if self._is_over.is_set():
            raise Stopped

    def take(self) -> int:
        """How much was done since the last time."""
        if self._count is None:
            count, self._alone = self._alone, 0
            return count
        with self._count.get_lock():
            count, self._count.value = int(self._count.value), 0
        return count


_done = Done()


def note_done(more: int) -> None:
    """Counts what a piece of work has done. Raises Stopped, which the work must not catch."""
    _done.note(more)


class Processes:
    """Some processes, while the block lasts. count: how many; 1: the work is done here."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: Executor | None = None

    def __enter__(self) -> Self:
        global _done
        if self.count == 1:
            _done = Done()
            return self
        # Takes a twentieth of a second, and where the work is done here nobody needs it.
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        # A forked process would share this one's threads' locks.
        spawning = multiprocessing.get_context("spawn")
        self._counter, self._is_over = spawning.Value("q", 0), spawning.Event()
        self._shared = Done(self._counter, self._is_over)
        self._pool = ProcessPoolExecutor(self.count, spawning, _begin, (self._counter, self._is_over, os.getpid()))
        # They begin while the first work is still being found.
        for _ in range(self.count):
            self._pool.submit(int)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            if error is not None:
                self._is_over.set()
            self._pool.shutdown(cancel_futures=True)

    def each(
        self, work: Callable[..., T], given: Iterable[tuple[Any, ...]], show: Callable[[int], None] = lambda more: None
    ) -> Iterator[T]:
        """Yields the work's result for each of the given arguments, as they finish. show: gets how much more is done.

        Raises what the work raises; ProcessEndedError.
        """
        if self._pool is None:
            for arguments in given:
                result = work(*arguments)
                show(_done.take())
                yield result
            return
        left, waiting, is_all = iter(given), set[Future[T]](), False
        try:
            while waiting or not is_all:
                while not is_all and len(waiting) < self.count * _WAITING_AT_MOST:
                    try:
                        waiting.add(self._pool.submit(_tidied, work, *next(left)))
                    except StopIteration:
                        is_all = True
                done, waiting = wait(waiting, LOOKED_EVERY_S, FIRST_COMPLETED)
                show(self._shared.take())
                for future in done:
                    yield future.result()
        except BrokenExecutor:
            raise ProcessEndedError(_ENDED) from None

    def begin(self, work: Callable[..., T], *arguments: object) -> Callable[[], T]:
        """Begins a piece of work; returns a function that waits for its result and raises its exceptions."""
        if self._pool is None:
            return lambda: work(*arguments)
        future = self._pool.submit(_tidied, work, *arguments)

        def end() -> T:
            try:
                return future.result()
            except BrokenExecutor:
                raise ProcessEndedError(_ENDED) from None

        return end


def _tidied(work: Callable[..., T], *arguments: object) -> T:
    """Does a piece of work, and frees its memory."""
    try:
        return work(*arguments)
    finally:
        gc.collect()
        # What is left is modules and what they keep: the next looks need not go through it.
        gc.freeze()


def _begin(counter: Any, is_over: Any, parent: int) -> None:
    """Prepares a process: it ignores Ctrl-C, and ends with its parent."""
    global _done
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Circles are looked for after each piece of work: looking for them in its midst takes a tenth of the time.
    gc.freeze()
    # At its end what was frozen is freed too: libraries report what is left as leaks.
    atexit.register(gc.unfreeze)
    gc.set_threshold(100_000, 20, 20)
    _done = Done(counter, is_over)
    threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
