"""The same topic into two more homes on the requests' own clock; driver and worker of one are killed: equal tables."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import HOME, Running
from tests.cluster.elsewhere import BUCKET
from tests.peers_clients.fleet import Fleet
from tests.peers_job.reported import assert_reported_once
from tests.waiting import until

CALM, KILLED = f"s3a://{BUCKET}/calm", f"s3a://{BUCKET}/killed"
ON_THEIR_CLOCK = {
    "spark.coordinator.clock": "event",
    "spark.coordinator.source.tick.ms": "0",
    # The topic's partitions are read at different paces.
    "spark.coordinator.watermark.delay.ms": "3600000",
    # One beside the other.
    "spark.cores.max": "1",
}
PATIENCE_S = 240.0


@pytest.mark.nightly
def test_a_topic_replayed_through_kills_gives_the_tables_of_a_calm_replay(running: Running) -> None:
    parts = running.parts
    with Fleet(running.coordinator.bootstrap, "replayed", "work", session_ms="45000", heartbeat_ms="3000") as fleet:
        fleet.patience_s = PATIENCE_S
        for _ in range(3):
            fleet.start("confluent")
        fleet.await_shares(fleet.workers, 12)
        parts.reported(HOME).await_answers()
    running.driver.stop()

    few = {"spark.coordinator.source.max.requests.per.batch": str(max(1, len(parts.asked()) // 5))}
    killed = parts.submit(KILLED, {**ON_THEIR_CLOCK, **few})
    calm = parts.submit(CALM, ON_THEIR_CLOCK)
    until(lambda: parts.rows(KILLED), "the first facts", PATIENCE_S, every_s=1)
    killed.kill()
    killed = parts.submit(KILLED, {**ON_THEIR_CLOCK, **few})
    parts.cluster.kill_worker(1)
    parts.cluster.start_worker()
    for home in (CALM, KILLED):
        assert_reported_once(parts.reported(home))
    assert parts.reported(KILLED).effects() == parts.reported(CALM).effects()
    killed.stop()
    calm.stop()
    running.driver = parts.submit(HOME)
