"""Notifies browsers of changes: one thread looks for new commits and notifies every open page.

Knows when the history grew and the status of the home's job. Must not know what a page shows.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool

from rollcall.programs.process_ids import is_alive
from rollcall.serve.page.history import Change, History
from rollcall.tables.job_status import JobStatus, read_status

LOOK_EVERY_S = 0.25
UNSEEN_EVERY_S = 10.0
"""How often to look while no page is open; a request then looks first."""
FRESH_S = 1.0
"""A request does not look again within this time."""
ASKED_WAITS_S = 0.1
"""How long a request waits for the thread that looks for commits."""
STATUS_EVERY_S = 2.0
ALIVE_S = 30.0
"""The job of a home in a store is alive if it has done a batch within."""
BEAT_EVERY_S = 15.0
"""An event at least this often, so that a lost connection is noticed."""
MOST_LISTENERS = 200
log = logging.getLogger("rollcall.page")

_News = asyncio.Queue[dict[str, Any] | None]
"""The events that one listener has not got yet; None: the stream ends."""


@dataclass(frozen=True)
class Liveness:
    """Whether a job writes the home's history, and since when not."""

    is_live: bool
    job: JobStatus
    """Its last status; it may have been killed since."""

    @property
    def last_at_ms(self) -> int | None:
        """Return when the job last finished a batch or found nothing to do, ms since the epoch; None: unknown."""
        return self.job.looked_at_ms or self.job.started_at_ms


def liveness_of(history: History) -> Liveness:
    """Whether the home's job lives, by its status; of a home without one nothing is known."""
    job = read_status(history.home) or JobStatus()
    return Liveness(job.state == "running" and _is_alive(job), job)


def now_ms(history: History, live: Liveness) -> int:
    """The present time while a job writes the history, else the time of its last fact; 0: there is none."""
    if live.is_live:
        return int(time.time() * 1000)
    span = history.span_ms()
    return 0 if span is None else span[1]


def _is_alive(status: JobStatus) -> bool:
    if status.process is None:
        # A copy of a home in a store has only the batches.
        return status.batch_at_ms is not None and time.time() - status.batch_at_ms / 1000 < ALIVE_S
    return is_alive(status.process)


class Watch:
    """Looks for commits until it is stopped, and hands each change to whoever listens."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._listeners: set[_News] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looked_at = self._status_at = 0.0
        self._is_stopped = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page-watch", daemon=True)
        self.liveness = liveness_of(history)

    def start(self) -> None:
        """Begins; called from the loop that serves."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        self._is_stopped = True
        self._wake.set()
        self._thread.join()

    @property
    def seen(self) -> str:
        """Return a text that changes whenever a page would show something else."""
        return f"{self._history.seen} {self.liveness.is_live}"

    def end_streams(self) -> None:
        """Ends every stream of events, so that a server that stops need not break them off; called from its loop."""
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    @contextmanager
    def listening(self) -> Iterator[AsyncIterator[str] | None]:
        """Server-sent events for one listener, who counts from now on; None if there are as many as are served."""
        if len(self._listeners) >= MOST_LISTENERS:
            yield None
            return
        queue: _News = asyncio.Queue(maxsize=50)
        self._listeners.add(queue)
        self._wake.set()
        try:
            yield self._events(queue)
        finally:
            self._listeners.discard(queue)

    async def _events(self, queue: _News) -> AsyncIterator[str]:
        """`seen`, what a page made now would show; then each `changed`, with the groups that have new facts."""
        yield f"retry: 2000\nevent: seen\ndata: {self.seen}\n\n"
        while True:
            try:
                news = await asyncio.wait_for(queue.get(), BEAT_EVERY_S)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if news is None:
                return
            yield f"event: changed\ndata: {json.dumps(news)}\n\n"

    async def look(self) -> None:
        """Takes in what is new, unless a page is open, for which that is done all the time."""
        is_fresh = self._listeners or time.monotonic() - self._looked_at < FRESH_S
        if self._history.is_ready and not is_fresh:
            await run_in_threadpool(self._look, with_beats=False, within_s=ASKED_WAITS_S)

    def _run(self) -> None:
        for work in (self._history.refresh, self._history.make_lists):
            self._try(work)
            self._tell({"groups": None})
        while True:
            self._wake.wait(LOOK_EVERY_S if self._listeners else UNSEEN_EVERY_S)
            self._wake.clear()
            if self._is_stopped:
                return
            if not self._history.is_ready:
                self._try(self._history.make_lists)
            self._look()

    def _look(self, *, with_beats: bool = True, within_s: float = -1) -> None:
        change = self._try(partial(self._history.refresh, with_beats=with_beats, within_s=within_s))
        if isinstance(change, Change):
            self._tell({"groups": sorted(change.groups)[:1000] or None})
        self._looked_at = time.monotonic()
        if self._looked_at - self._status_at > STATUS_EVERY_S:
            self._status_at = self._looked_at
            now = liveness_of(self._history)
            if now.is_live != self.liveness.is_live:
                self._tell({"groups": []})
            self.liveness = now

    def _try(self, work: Any) -> Any:
        """A commit that cannot be read just now is read at the next look."""
        try:
            return work()
        except Exception:
            log.exception("the history cannot be read just now")
            return None

    def _tell(self, news: dict[str, Any]) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hand_out, news)

    def _hand_out(self, news: dict[str, Any]) -> None:
        for queue in self._listeners:
            # A listener that far behind will reload everything anyway.
            if not queue.full():
                queue.put_nowait(news)
