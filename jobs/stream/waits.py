"""Until when a home needs no batch without a request: the least of what its groups wait for.

Each batch gives the waits of the groups that it called. Those of all others are known if the home had no state before,
or once they were read from Spark's state, beside the running query. Until then the query ticks. Knows the layout of the
state of `coordinate`; must not know what a group waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.jobs.stream.checkpoint import finished_batches
from rollcall.programs.log_lines import tell
from rollcall.schemas.effect_rows import Wait

FIRST_AFTER_S = 5.0
"""The first requests after a start do not wait for this."""
AGAIN_AFTER_S = 60.0


class Waits:
    """The waits of a home's groups. is_complete: the home has no group before the first batch.

    A batch and the reader of the state may come at the same time, from different threads.
    """

    def __init__(self, *, is_complete: bool) -> None:
        self.is_complete = is_complete
        """Whether the waits of all groups are known."""
        self._until_ms: dict[str, int | None] = {}
        """None: the group waits for nothing, whatever the state said before."""
        self._lock = threading.Lock()

    def batch_done(self, waits: Iterable[Wait]) -> int | None:
        """Takes a batch's waits. Returns until when no further batch is needed; None: that is not known."""
        with self._lock:
            if not self.is_complete:
                self._until_ms.update(waits)
                return None
            for group_id, until_ms in waits:
                if until_ms is None:
                    self._until_ms.pop(group_id, None)
                else:
                    self._until_ms[group_id] = until_ms
            return min((each for each in self._until_ms.values() if each is not None), default=LATEST_MS)

    def learn(self, stored: Iterable[Wait]) -> None:
        """Takes what the state says of all groups as of a batch of this run or the last one before it.

        What a batch of this run has said of a group is as new or newer.
        """
        with self._lock:
            known = dict(stored) | self._until_ms
            self._until_ms = {group_id: until_ms for group_id, until_ms in known.items() if until_ms is not None}
            self.is_complete = True


def stored_waits(spark: SparkSession, checkpoint: Path) -> list[Wait]:
    """What the state says as of the last finished batch."""
    state = spark.read.format("statestore").option("batchId", max(finished_batches(checkpoint))).load(str(checkpoint))
    waiting = state.where("value.timeoutTimestamp > 0").selectExpr("key.group_id", "value.timeoutTimestamp")
    rows = waiting.toArrow()
    return list(zip(rows[0].to_pylist(), rows[1].to_pylist(), strict=True))


class WaitsReader:
    """Reads them in a thread of its own until it is stopped or has them. Made before the query is started."""

    def __init__(self, spark: SparkSession, checkpoint: Path, first_after_s: float = FIRST_AFTER_S) -> None:
        self.waits = Waits(is_complete=not finished_batches(checkpoint))
        self._spark, self._checkpoint, self._first_after_s = spark, checkpoint, first_after_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stored-waits", daemon=True)

    def start(self) -> None:
        if not self.waits.is_complete:
            self._thread.start()

    def stop(self) -> None:
        """Does not wait for a read that has begun: the session's end ends it."""
        self._stop.set()

    def _run(self) -> None:
        wait_s = self._first_after_s
        while not self._stop.wait(wait_s):
            wait_s = AGAIN_AFTER_S
            try:
                self.waits.learn(stored_waits(self._spark, self._checkpoint))
            except Exception as error:
                if not self._stop.is_set():
                    why = next(iter(str(error).splitlines()), "")
                    tell(f"cannot read the deadlines in the state, so the batches continue: {why}", is_error=True)
                continue
            return
