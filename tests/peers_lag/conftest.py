"""One play for all tests of this folder, and what a shadow that followed it reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.peers_kafka.cluster_shadow import SHORT_HOLD, ClusterShadow
from tests.peers_kafka.kafka import broker
from tests.peers_kafka.members import QUICK
from tests.peers_lag.admin_samples import AdminSamples, now_ms
from tests.peers_lag.incidents import add_a_partition, be_slow_and_stuck, deploy, kill_a_member, stop_and_return
from tests.peers_lag.known_ends import KnownEnds
from tests.peers_lag.own_records import OwnRecords, Place
from tests.peers_lag.play import SESSION_MS, Kind, Play, go_on_for, playing
from tests.views.view_rows import Views
from tests.waiting import until

INTERVAL_MS = 1_000
SETTINGS = {
    **QUICK,
    "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.session.timeout.ms": SESSION_MS,
}
SLOW = "confluent-slow"
"""Its members commit only what they are told to."""
COOPERATIVE, CONSUMER_PROTOCOL = {"assignor": "cooperative-sticky"}, {"protocol": "consumer"}
KINDS = {
    "confluent-killed": Kind(kill_a_member, "confluent"),
    "confluent-consumer-deployed": Kind(deploy, "confluent", CONSUMER_PROTOCOL),
    "aiokafka-deployed": Kind(deploy, "aiokafka"),
    "kafka-python-deployed": Kind(deploy, "kafka-python", COOPERATIVE),
    "java-deployed": Kind(deploy, "java", COOPERATIVE),
    "java-consumer-killed": Kind(kill_a_member, "java", CONSUMER_PROTOCOL),
    "confluent-stopped": Kind(stop_and_return, "confluent"),
    "confluent-consumer-grown": Kind(add_a_partition, "confluent", CONSUMER_PROTOCOL),
    SLOW: Kind(be_slow_and_stuck, "confluent", {"commit_ms": "0"}),
}
REBALANCED = KINDS.keys() - {SLOW}
BEFORE_S = 11
"""How long groups work before anything is done to them: their usual lag is taken from ten seconds."""
AFTER_S = 15


@dataclass
class Played:
    """What was played, as the admin client, the producer and the consumers have it, and as a shadow reports it."""

    shadow: ClusterShadow
    samples: AdminSamples
    own: OwnRecords
    acted_ms: int
    """When members were killed and deploys began."""
    still_ms: int
    """A moment at which nothing moved any more."""
    owners: dict[str, dict[Place, str]]
    """Then, by group, the client id that has each partition, as the clients said."""

    def __post_init__(self) -> None:
        self.views = Views(self.shadow.home.path)
        reported = self.shadow.rows(
            "select topic, partition, at_ms, end_offset from log_ends where end_offset is not null"
        )
        self.known = KnownEnds(self.own, (((topic, number), at_ms, end) for topic, number, at_ms, end in reported))


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("lag")
    log = folder / "kafka-request.log"
    with broker(folder, SETTINGS, requests_log=log) as address, playing(address, folder, KINDS) as play:
        shadow = ClusterShadow(
            folder,
            str(log),
            f"kafka://{address}",
            settings={**SHORT_HOLD, "rollcall.lag.interval.ms": str(INTERVAL_MS)},
        )
        try:
            shadow.start()
            begin(play)
            shadow.await_begun()
            go_on_for(BEFORE_S)
            acted_ms = now_ms()
            play.act()
            owners = {group: play.owners(group) for group in KINDS}
            go_on_for(AFTER_S)
            still_ms = come_to_rest(play, shadow)
            shadow.stop()
        finally:
            shadow.end()
        play.samples.stop()
        yield Played(shadow, play.samples, play.own_records(), acted_ms, still_ms, owners)


def begin(play: Play) -> None:
    for group in play.kinds:
        play.produce(group)
        play.start(group)
        play.start(group)
    for group in play.kinds:
        play.await_shared(group)
    play.samples.start()


def come_to_rest(play: Play, shadow: ClusterShadow) -> int:
    """Nothing is produced any more and all is read and reported; the moment."""
    for group in play.kinds:
        play.produce(group, 0)

    def is_read() -> bool:
        latest = play.samples.samples[-1]
        return all(
            latest.committed[group, place] == latest.ends[place] for group, place in latest.committed if group != SLOW
        )

    until(is_read, lambda: f"all is read: {play.samples.samples[-1]}")
    still_ms = play.samples.samples[-1].answered_ms
    known_ms = still_ms + INTERVAL_MS
    shadow.await_rows(
        f"select 1 from lag having min(end_known_at) > timestamp_millis({known_ms}) "
        f"and sum(case when group_id <> '{SLOW}' then lag_records end) = 0",
        "that all is read",
    )
    return still_ms
