"""What a job says of itself while it runs: `status.json` in its home, replaced as a whole after each batch.

    {"state": "running", "process": 4711, "query_id": "...", "started_at_ms": ..., "batch_id": 17, "batch_at_ms": ...,
     "effects": 1234, "quarantined": 0}

state: running, stopped or failed (then `reason` says why). effects, quarantined: what this run has written. A state of
running whose process is gone was killed. Knows nothing of Spark.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from jobs.home import Home, write_whole
from jobs.stream.writers.result import BatchResult


class Status:
    """Writes a home's status; without a home on this machine it says nothing."""

    def __init__(self, home: Home) -> None:
        self._path = home.path / "status.json" if home.is_local else None
        self._now: dict[str, Any] = {"state": "starting", "process": os.getpid(), "effects": 0, "quarantined": 0}
        self._write()

    def running(self, query_id: str, started_at_ms: int) -> None:
        self._now |= {"state": "running", "query_id": query_id, "started_at_ms": started_at_ms}
        self._write()

    def batch_done(self, result: BatchResult) -> None:
        self._now["batch_id"] = result.batch_id
        self._now["batch_at_ms"] = int(time.time() * 1000)
        self._now["effects"] += result.effects
        self._now["quarantined"] += result.quarantined
        self._write()

    def stopped(self) -> None:
        self._now["state"] = "stopped"
        self._write()

    def failed(self, reason: str, whole_story: str = "") -> None:
        """whole_story: what a programmer wants to read, kept beside as `failure.txt`."""
        self._now |= {"state": "failed", "reason": reason}
        self._write()
        if self._path is not None and whole_story:
            write_whole(self._path.with_name("failure.txt"), whole_story)

    def _write(self) -> None:
        if self._path is not None:
            write_whole(self._path, json.dumps(self._now) + "\n")
