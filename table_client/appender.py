"""Appends requests to a home's request table: one commit a flush, never one a request.

A flush takes whatever has gathered while the flush before it was writing, so a quiet client waits for nothing and a
busy one commits seldom. Knows Delta; knows no reply.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from deltalake import CommitProperties, write_deltalake
from deltalake.exceptions import DeltaError

from schemas.messages import GroupRequest
from table_client.rows import request_rows

MAX_COMMIT_RETRIES = 200
"""Many clients append to one table; each commit that another one overtakes is tried again."""


class RequestAppender:
    """A thread that appends what `submit` is given. on_failure: told of requests that could not be written, and why."""

    def __init__(self, path: Path, on_failure: Callable[[Sequence[GroupRequest], Exception], None]) -> None:
        self._path = path
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
                append_requests(self._path, requests)
            except (DeltaError, OSError) as error:
                self._on_failure(requests, error)


def append_requests(path: Path, requests: Sequence[GroupRequest]) -> None:
    """Appends requests in one commit; makes the table if it is not there yet."""
    properties = CommitProperties(max_commit_retries=MAX_COMMIT_RETRIES)
    write_deltalake(str(path), request_rows(requests), mode="append", commit_properties=properties)
