"""Appends requests to a home's request table from a thread of its own: one commit a flush, never one a request.

A flush takes all requests that came while the flush before it was writing. So a client that sends few requests does not
wait, and one that sends many makes few commits. Knows threads; must not know files or replies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from schemas.messages import GroupRequest
from tables.request_rows import request_rows
from tables.request_table import RequestTable


class RequestAppender:
    """A thread that appends what `submit` gets. on_failure: called with requests that could not be written, and why."""

    def __init__(self, table: RequestTable, on_failure: Callable[[Sequence[GroupRequest], Exception], None]) -> None:
        self._table = table
        self._on_failure = on_failure
        self._waiting: list[GroupRequest] = []
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="rollcall-appender", daemon=True)
        self._thread.start()

    def submit(self, requests: Sequence[GroupRequest]) -> None:
        """Hands requests over, to be written in this order."""
        with self._changed:
            self._waiting.extend(requests)
            self._changed.notify()

    def close(self) -> None:
        """Writes what is still waiting, then ends."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                requests, self._waiting = self._waiting, []
            if not requests:
                return
            try:
                self._table.open()
                self._table.append(request_rows(requests))
            except Exception as error:
                self._on_failure(requests, error)
