"""The figures of a running job, from what Spark says of its batches, and when a job is not well."""

from __future__ import annotations

import math
from typing import Any

from prometheus_client import generate_latest

from rollcall.jobs.stream.job_metrics import STALLED_AFTER_S, Batch, JobMetrics, batch_of
from rollcall.jobs.stream.writers.batch_result import BatchResult

PROGRESS: dict[str, Any] = {
    "batchId": 17,
    "numInputRows": 1200,
    "durationMs": {"addBatch": 310, "triggerExecution": 340},
    "stateOperators": [{"numRowsTotal": 60, "memoryUsedBytes": 5000}],
    "sources": [
        {
            "description": "KafkaV2[Subscribe[rollcall-requests]]",
            "endOffset": '{"rollcall-requests": {"0": 100, "1": 40}}',
            "latestOffset": '{"rollcall-requests": {"0": 103, "1": 40, "2": 7}}',
        },
        {"description": "ticks", "endOffset": '{"tick": 5}', "latestOffset": None},
    ],
}


def metrics(
    *, ticks: bool = True, unread: int | None = None, looked_age_s: float | None = None
) -> tuple[JobMetrics, list[float]]:
    clock = [100.0]
    return JobMetrics(lambda: unread, ticks=ticks, looked_age_s=lambda: looked_age_s, now_s=lambda: clock[0]), clock


def shown(job: JobMetrics) -> dict[str, float]:
    lines = generate_latest(job.registry).decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_a_batch_is_read_from_sparks_report() -> None:
    assert batch_of(PROGRESS) == Batch(17, 0.34, 1200, 10, 60, 5000)


def test_a_batch_of_another_source_says_nothing_of_a_backlog() -> None:
    delta = [{"description": "rollcall_requests", "endOffset": '{"version": 4}', "latestOffset": '{"version": 9}'}]
    assert batch_of({**PROGRESS, "sources": delta}).unread_records is None
    first = {"description": "KafkaV2[..]", "endOffset": None, "latestOffset": '{"t": {"0": 3}}'}
    assert batch_of({**PROGRESS, "sources": [first], "numInputRows": None}).unread_records == 3


def test_figures_add_up_over_batches_and_a_batch_reported_twice_counts_once() -> None:
    job, clock = metrics()
    job.committed(BatchResult(17, 40, 2))
    job.done([batch_of(PROGRESS)])
    job.done([batch_of(PROGRESS), Batch(18, 2.0, 0, 3, 61, 5100)])
    job.committed(BatchResult(18, 1, 0, ("orders", "payments")))
    clock[0] += 5
    figures = shown(job)
    assert figures["rollcall_job_batch_seconds_count"] == 2
    assert figures["rollcall_job_batch_seconds_sum"] == 2.34
    assert figures["rollcall_job_turns_put_off_total"] == 2
    assert figures['rollcall_job_batch_seconds_bucket{le="0.5"}'] == 1
    assert figures["rollcall_job_batch_requests_sum"] == 1200
    assert figures["rollcall_job_effects_total"] == 41
    assert figures["rollcall_job_quarantined_total"] == 2
    assert figures["rollcall_job_backlog"] == 3
    assert (figures["rollcall_job_state_rows"], figures["rollcall_job_state_bytes"]) == (61, 5100)
    assert figures["rollcall_job_last_commit_age_seconds"] == 5


def test_what_is_not_known_yet_is_no_number() -> None:
    job, _ = metrics()
    figures = shown(job)
    assert math.isnan(figures["rollcall_job_backlog"])
    assert math.isnan(figures["rollcall_job_state_rows"])
    assert shown(metrics(unread=4)[0])["rollcall_job_backlog"] == 4


def test_a_job_that_ticks_and_commits_nothing_is_stalled() -> None:
    job, clock = metrics()
    assert job.health() == {"status": "ok", "batch_id": None, "last_commit_age_s": 0.0}
    clock[0] += STALLED_AFTER_S + 1
    assert job.health()["status"] == "stalled"
    job.committed(BatchResult(1, 0, 0))
    assert job.health()["status"] == "ok"
    resting, clock = metrics(ticks=False)
    clock[0] += STALLED_AFTER_S + 1
    assert resting.health()["status"] == "ok"


def test_a_job_at_rest_is_well_while_it_finds_nothing_to_do() -> None:
    for looked_age_s, status in ((1.0, "ok"), (STALLED_AFTER_S + 1, "stalled"), (None, "stalled")):
        job, clock = metrics(looked_age_s=looked_age_s)
        clock[0] += STALLED_AFTER_S + 1
        assert job.health()["status"] == status
