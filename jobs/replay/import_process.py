"""The driver's side of an import that runs in a process of its own: how far it is, and what went wrong there.

Two Python programs use two cores, where two threads of one take turns. Knows the messages; must not know what is
imported, nor what the stream does with it.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from types import TracebackType
from typing import Self, assert_never

from jobs.replay.importing import Applied, Compared, Failed, ToImport, Written, import_log
from programs.errors import UserError
from request_log.parity import Parity
from request_log.recorded import Tally

REQUESTS_A_QUERY = 300_000
"""How many requests one run of the stream has at least, unless the log is at its end; a run itself takes time."""
_HEARD_EVERY_S = 0.5


class ImportProcessError(UserError):
    """The process that reads the log ended by itself; the text says how."""


class ImportProcess:
    """An import that has begun. Leaving its block ends it. Every call raises what ended the import early."""

    def __init__(self, work: ToImport) -> None:
        # A forked process would share Spark's gateway and the locks of this one's threads.
        spawning = multiprocessing.get_context("spawn")
        self._importer, theirs = spawning.Pipe()
        self._process = spawning.Process(target=import_log, args=(work, theirs), name="import", daemon=True)
        self._process.start()
        theirs.close()
        self.written = 0
        """How many requests are in the request table, each heartbeat of a run counted."""
        self.share_read = 0.0
        """How much of the log is read, from 0 to 1."""
        self.is_all_written = False
        """Whether no more will come."""
        self._applied = 0
        self._compared: Compared | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.join()
        self._importer.close()

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process.pid is not None
        return self._process.pid

    def wait_for_work(self, show: Callable[[], None]) -> None:
        """Waits until there are enough requests for one run of the stream, or until no more will come."""
        while not self.is_all_written and self.written - self._applied < REQUESTS_A_QUERY:
            if self._importer.poll(_HEARD_EVERY_S):
                self._take()
            show()

    def hear(self) -> None:
        """Takes in what the importer has said since the last time."""
        while self._importer.poll():
            self._take()

    def note_applied(self, requests: int, *, is_all: bool) -> None:
        """The stream has applied so many requests. is_all: and time has passed up to the end of the log."""
        self._applied = requests
        self._importer.send(Applied(requests, is_all))

    def compared(self) -> tuple[Tally, Parity]:
        """Waits for the counts of lines and answers, once all is applied."""
        while self._compared is None:
            self._take()
        return self._compared.tally, self._compared.parity

    def _take(self) -> None:
        try:
            told: Written | Compared | Failed = self._importer.recv()
        except (EOFError, OSError):
            self._process.join()
            raise ImportProcessError(
                f"the process that read the log ended with status {self._process.exitcode}"
            ) from None
        match told:
            case Written():
                self.written, self.share_read, self.is_all_written = told.requests, told.share_read, told.is_all
            case Compared():
                self._compared = told
            case Failed():
                raise told.error
            case _:
                assert_never(told)
