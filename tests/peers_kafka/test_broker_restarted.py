"""A shadow of a cluster outlives its broker's absence, however long that lasts, and misses nothing."""

from __future__ import annotations

from pathlib import Path

from tests.peers_kafka.cluster_shadow import ClusterShadow
from tests.peers_kafka.kafka import Broker
from tests.peers_kafka.members import QUICK, Members, make_topic
from tests.waiting import until

PATIENCE_S = 120.0


def test_a_shadow_goes_on_when_its_broker_is_back(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    running = Broker(tmp_path / "broker", QUICK)
    running.start()
    shadow = ClusterShadow(tmp_path, f"kafka://{running.address}")
    try:
        make_topic(running.address)
        before = Members(running.address, "before")
        before.start()
        before.close()
        shadow.start()
        shadow.await_rows("select 1 from groups where group_id = 'before'", "the first group")
        running.stop()
        until(lambda: "the cluster does not answer" in shadow.said(), shadow.said, PATIENCE_S, 0.5)
        running.start()
        after = Members(running.address, "after")
        after.start()
        after.close()
        ended = "select cause from rebalances where group_id = 'after' and outcome = 'empty'"
        shadow.await_rows(ended, "the rebalances behind the absence")
        assert shadow.said().count("the cluster does not answer") == 1
        shadow.stop()
    finally:
        shadow.end()
        running.stop()
