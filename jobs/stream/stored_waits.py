"""Until when the groups of a checkpoint wait: read from Spark's state beside the running query, once in a run.

Until then the query ticks, so nothing depends on how long this takes, or on whether it works at all. Knows the layout
of the state of `coordinate`; must not know what a group waits for.
"""

from __future__ import annotations

import threading
from pathlib import Path

from pyspark.sql import SparkSession

from rollcall.jobs.stream.checkpoint import finished_batches
from rollcall.jobs.stream.waits import Waits
from rollcall.programs.log_lines import tell
from rollcall.schemas.waits import Wait

FIRST_AFTER_S = 5.0
"""The first requests after a start do not wait for this."""
AGAIN_AFTER_S = 60.0


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
