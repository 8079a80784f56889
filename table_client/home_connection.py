"""One process's way to a home: its members share one writer of requests and one reader of replies.

A thread appends requests: all that came while it was writing make its next commit, so a client that sends few does not
wait, and one that sends many makes few commits. Another follows the effects table, hands each reply to the member that
asked, and wakes members at their deadlines.

Knows which member sent which request; must not know a rule of the protocol.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import msgspec

from schemas.messages import GroupRequest, Response
from schemas.tables import EFFECTS_FOLDER, REQUESTS_FOLDER
from tables.replies import REPLY_COLUMNS, replies
from tables.request_rows import request_rows
from tables.request_table import RequestTable
from tables.table_follower import TableFollower

LOOK_EVERY_S = 0.02
_log = logging.getLogger("rollcall.table_client")


class Asker(Protocol):
    """Sends requests through a connection, whose thread calls both methods."""

    def answered(self, request_id: str, response: Response) -> None: ...

    def look_at_the_clock(self) -> None: ...


class HomeConnection:
    """Appends requests to a home and brings the answers. Use `connect` and `disconnect`: a process needs one a home."""

    def __init__(self, home: Path) -> None:
        self.id = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._home = home
        self._sequence = itertools.count()
        self._askers: dict[str, Asker] = {}
        self._members: set[Asker] = set()
        self._guard = threading.Lock()
        self._is_closed = threading.Event()
        self._follower = TableFollower(home / EFFECTS_FOLDER, REPLY_COLUMNS)
        self._requests = RequestTable(home / REQUESTS_FOLDER, self.id)
        self._unwritten: list[GroupRequest] = []
        self._writer = ThreadPoolExecutor(1, "rollcall-requests")
        self._loop = threading.Thread(target=self._run, name="rollcall-replies", daemon=True)
        self._loop.start()

    def add(self, member: Asker) -> None:
        """From now on the member is woken at its deadlines."""
        with self._guard:
            self._members.add(member)

    def remove(self, member: Asker) -> None:
        """Nothing more reaches this member."""
        with self._guard:
            self._members.discard(member)
            self._askers = {id_: asker for id_, asker in self._askers.items() if asker is not member}

    def send(self, asker: Asker, request: GroupRequest) -> str:
        """Sends a request; its id is made unique in the table. Returns that id, which the answer names."""
        sequence = next(self._sequence)
        request_id = f"{self.id}-{sequence}"
        stamped = msgspec.structs.replace(
            request, request_id=request_id, received_at_ms=int(time.time() * 1000), request_seq=sequence
        )
        with self._guard:
            self._askers[request_id] = asker
            self._unwritten.append(stamped)
        self._writer.submit(self._write)
        return request_id

    def forget(self, request_id: str) -> None:
        """Nobody waits for this request's answer any more."""
        with self._guard:
            self._askers.pop(request_id, None)

    def close(self) -> None:
        """Writes what was sent, then ends both threads."""
        self._is_closed.set()
        if threading.current_thread() is not self._loop:
            self._loop.join()
        self._writer.shutdown()
        self._requests.close()

    def _run(self) -> None:
        while not self._is_closed.wait(LOOK_EVERY_S):
            try:
                self._bring_answers()
            except (OSError, ValueError) as error:
                _log.warning("the effects of %s cannot be read just now: %s", self._home, error)
            except Exception:
                _log.exception("an answer from %s could not be taken", self._home)
            with self._guard:
                members = list(self._members)
            for member in members:
                try:
                    member.look_at_the_clock()
                except Exception:
                    _log.exception("a member could not do what is due")

    def _bring_answers(self) -> None:
        for table in self._follower.poll():
            for request_id, response, _ in replies(table, f"{self.id}-"):
                with self._guard:
                    asker = self._askers.pop(request_id, None)
                # A request without an answer is sent again in time, as after a lost packet.
                if asker is not None and response is not None:
                    asker.answered(request_id, response)

    def _write(self) -> None:
        """Appends all that was sent. What cannot be written is sent again in time, as after a lost packet."""
        with self._guard:
            requests, self._unwritten = self._unwritten, []
        if not requests:
            return
        try:
            self._requests.open()
            self._requests.append(request_rows(requests))
        except Exception as error:
            _log.error("%d requests could not be written to %s: %s", len(requests), self._home, error)


_shared: dict[Path, tuple[HomeConnection, int]] = {}
_shared_guard = threading.Lock()


def connect(home: Path) -> HomeConnection:
    """The process's connection to this home, made for its first user."""
    with _shared_guard:
        connection, users = _shared.get(home, (None, 0))
        if connection is None:
            connection = HomeConnection(home)
        _shared[home] = (connection, users + 1)
        return connection


def disconnect(home: Path) -> None:
    """Gives the process's connection back; the last user closes it."""
    with _shared_guard:
        connection, users = _shared[home]
        if users > 1:
            _shared[home] = (connection, users - 1)
            return
        del _shared[home]
    connection.close()
