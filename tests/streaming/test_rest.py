"""A live coordinator at rest: no batch without requests or a deadline, also after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rollcall.coordinator_udfs.group_udf import SWEEPS_EVERY_MS
from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.jobs.stream.query import failure_of, start
from rollcall.jobs.stream.waits import WaitsReader, stored_waits
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.tables.job_status import STATUS_FILE, JobStatus, StatusWriter, read_status
from tests.requests import join
from tests.streaming.live import Live, form, now_ms
from tests.waiting import until

SWEPT_SELDOM = {"offsets.retention.check.interval.ms": "86400000"}


class Resting(Live):
    """As the coordinator's program runs it. Ticks are ten minutes apart; no test waits so long."""

    dies_before_its_note = False

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        super().__init__(spark, folder, {**SWEPT_SELDOM, "spark.coordinator.source.tick.ms": "600000"})

    def go_on(self) -> None:
        checkpoint, status = Path(self.home.checkpoint), StatusWriter(self.home.path)
        self.reader = WaitsReader(self.spark, checkpoint, first_after_s=0.1)

        def committed(result: BatchResult) -> None:
            self.batches.append(result)
            if self.dies_before_its_note and result.effects:
                raise RuntimeError("killed")
            status.batch_done(*result[:3], self.reader.waits.batch_done(result.waits))

        note = str(self.home.path / STATUS_FILE)
        self.coordinator = start(self.spark, self.home, self.config, on_batch=committed, status=note)
        status.running("query", self.coordinator.started_at_ms)
        self.reader.start()

    def stop(self) -> None:
        self.reader.stop()
        super().stop()

    def status(self) -> JobStatus:
        status = read_status(self.home.path)
        assert status is not None
        return status

    def stored(self) -> dict[str, int]:
        waits = stored_waits(self.spark, Path(self.home.checkpoint))
        return {group_id: until_ms for group_id, until_ms in waits if until_ms is not None}

    def rests_until_ms(self) -> int:
        return self.wait_for(lambda: self.status().rests_until_ms, "a note")

    def looks_twice(self) -> None:
        """Waits until the source has looked twice more and found nothing to do."""
        for _ in range(2):
            before_ms = self.status().looked_at_ms or 0
            self.wait_for(lambda before_ms=before_ms: (self.status().looked_at_ms or 0) > before_ms, "a look")  # type: ignore[misc]


@pytest.fixture(scope="module")
def resting(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resting]:
    running = Resting(spark, tmp_path_factory.mktemp("resting") / "home")
    yield running
    running.stop()


def test_without_groups_it_says_that_it_lives_and_runs_no_batch(resting: Resting) -> None:
    assert resting.rests_until_ms() == LATEST_MS
    batches = len(resting.batches)
    resting.looks_twice()
    assert len(resting.batches) == batches
    assert (resting.status().looked_at_ms or 0) > (resting.status().batch_at_ms or 0)


def test_a_silent_member_expires_in_time_and_no_batch_runs_before(resting: Resting) -> None:
    form(resting, "a", "silent", session_timeout_ms=4000)
    due_ms = resting.rests_until_ms()
    batches = len(resting.batches)
    resting.looks_twice()
    assert len(resting.batches) == batches or now_ms() > due_ms
    gone = resting.effect("member_removed", group_id="silent")
    assert gone["at_ms"] == due_ms
    # The fact is seen before Spark has the batch finished.
    sweep_ms = resting.wait_for(lambda: found if (found := resting.stored()["silent"]) > due_ms else None, "the state")
    assert sweep_ms <= resting.rests_until_ms() < sweep_ms + SWEEPS_EVERY_MS


def test_a_restart_ticks_until_the_state_has_told_what_the_groups_wait_for(resting: Resting) -> None:
    form(resting, "a", "lasting", session_timeout_ms=60_000)
    resting.stop()
    stored = resting.stored()
    assert stored.keys() == {"silent", "lasting"}
    resting.go_on()
    assert resting.status().rests_until_ms is None
    resting.wait_for(lambda: resting.reader.waits.is_complete or None, "the waits")
    form(resting, "b", "new", session_timeout_ms=4000)
    due_ms = resting.rests_until_ms()
    # A batch is noted before Spark has it finished.
    after = resting.wait_for(lambda: found if "new" in (found := resting.stored()) else None, "the batch's end")
    assert after.keys() == {"silent", "lasting", "new"}
    assert after["lasting"] == stored["lasting"]
    assert resting.effect("member_removed", group_id="new")["at_ms"] == due_ms
    assert resting.rests_until_ms() == stored["lasting"]


def test_what_a_batch_armed_fires_although_its_run_died_before_it_noted_it(resting: Resting) -> None:
    query = resting.coordinator.query if resting.coordinator else None
    assert query is not None
    resting.dies_before_its_note = True
    joined = join("a", now_ms(), "killed", session_timeout_ms=4000)
    resting.send(joined)
    until(lambda: failure_of(query), "its death")
    resting.dies_before_its_note = False
    resting.go_on()
    resting.wait_for(lambda: resting.reader.waits.is_complete or None, "the waits")
    resting.ask(join("b", now_ms(), "other", session_timeout_ms=60_000))
    assert [reply["request_id"] for reply in resting.effects(effect="reply", group_id="killed")] == [joined.request_id]
    assert resting.effect("member_removed", group_id="killed")["cause"] == "session_expired"
