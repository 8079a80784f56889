"""A running job's status: `status.json` in its home, replaced as a whole after each batch.

    {"state": "running", "process": 4711, "query_id": "...", "started_at_ms": ..., "batch_id": 17, "batch_at_ms": ...,
     "effects": 1234, "quarantined": 0, "rests_until_ms": ...}

The job writes it; `make run` and gateways read it. A state of running whose process is gone means that the process was
killed. Between batches a job at rest moves only the file's time of change, about once a second. Knows that one file,
and `failure.txt` beside it; must not know Spark.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

import msgspec

from rollcall.tables.whole_file import write_whole

STATUS_FILE = "status.json"
FAILURE_FILE = "failure.txt"

JobState = Literal["starting", "running", "stopped", "failed"]


class JobStatus(msgspec.Struct, omit_defaults=True):
    """The file's content."""

    state: JobState | None = None
    process: int | None = None
    """The job's process id."""
    effects: int | None = None
    """How many effects this run has written."""
    quarantined: int | None = None
    """How many rows this run has put into quarantine."""
    query_id: str | None = None
    """Spark's id of the streaming query, once it runs."""
    started_at_ms: int | None = None
    """When the query was started, ms since the epoch."""
    batch_id: int | None = None
    """The last batch that is done."""
    batch_at_ms: int | None = None
    """When that batch was done, ms since the epoch."""
    rests_until_ms: int | None = None
    """After the last batch: until when no other is needed without requests, ms since the epoch. None: not known."""
    reason: str | None = None
    """State failed: why, in a sentence."""
    looked_at_ms: int | None = None
    """When the job was last done with everything: its last batch was done, or it found nothing to do. Not in the file:
    `read_status` sets it.
    """


_decoder = msgspec.json.Decoder(JobStatus)
_encoder = msgspec.json.Encoder()


def read_status(home: Path) -> JobStatus | None:
    """The status of a home's job; None if there is none that can be read."""
    return read_status_file(home / STATUS_FILE)


def read_status_file(path: str | Path) -> JobStatus | None:
    """The status in this file; None if there is none that can be read."""
    try:
        with open(path, "rb") as file:
            status = _decoder.decode(file.read())
            status.looked_at_ms = status.batch_at_ms
            if status.rests_until_ms is not None and status.state == "running":
                status.looked_at_ms = os.fstat(file.fileno()).st_mtime_ns // 1_000_000
    except (OSError, msgspec.MsgspecError):
        return None
    return status


class StatusWriter:
    """Writes the status of this process's job. home: None for a home in an object store, which gets no status."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._now = JobStatus(state="starting", process=os.getpid(), effects=0, quarantined=0)
        self._write()

    def running(self, query_id: str, started_at_ms: int) -> None:
        self._now.state, self._now.query_id, self._now.started_at_ms = "running", query_id, started_at_ms
        self._write()

    def batch_done(self, batch_id: int, effects: int, quarantined: int, rests_until_ms: int | None = None) -> None:
        """effects, quarantined: what this batch has written. rests_until_ms: see JobStatus."""
        self._now.batch_id, self._now.batch_at_ms = batch_id, int(time.time() * 1000)
        self._now.rests_until_ms = rests_until_ms
        self._now.effects = (self._now.effects or 0) + effects
        self._now.quarantined = (self._now.quarantined or 0) + quarantined
        self._write()

    def stopped(self) -> None:
        self._now.state = "stopped"
        self._write()

    def failed(self, reason: str, whole_story: str = "") -> None:
        """whole_story: the traceback, kept in `failure.txt`."""
        self._now.state, self._now.reason = "failed", reason
        self._write()
        if self._home is not None and whole_story:
            write_whole(self._home / FAILURE_FILE, whole_story)

    def _write(self) -> None:
        if self._home is not None:
            write_whole(self._home / STATUS_FILE, _encoder.encode(self._now) + b"\n")
