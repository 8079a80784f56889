"""Members of one group of a real cluster, by librdkafka, that come, commit and go as a test asks.

Knows consumers and the one topic that they share; must not know who looks at their group.
"""

from __future__ import annotations

from typing import Any, Literal

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.waiting import until

TOPIC, PARTITIONS = "orders", 4
HEARTBEAT_MS = 500
ERRORS = 3
"""As syslog counts: a topic without records warns of each offset that is committed beyond its end."""
QUICK = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
}
"""A broker's settings for members that need not wait long for each other."""


def make_topic(address: str) -> None:
    """The topic that groups share."""
    admin = AdminClient({"bootstrap.servers": address})
    for made in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        made.result()


class Members:
    """Consumers of a group, which are polled while they are waited for."""

    def __init__(self, address: str, group: str, protocol: Literal["classic", "consumer"] = "classic") -> None:
        self.group = group
        self._settings: dict[str, Any] = {
            "bootstrap.servers": address,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "log_level": ERRORS,
        }
        if protocol == "classic":
            self._settings["heartbeat.interval.ms"] = HEARTBEAT_MS
        self.all: list[Consumer] = []
        self._started = 0

    def start(self) -> None:
        consumer = Consumer({**self._settings, "client.id": f"{self.group}-{self._started}"})
        self._started += 1
        consumer.subscribe([TOPIC])
        self.all.append(consumer)
        self.share()

    def close_first(self) -> None:
        self.all.pop(0).close()
        self.share()

    def share(self) -> None:
        """Until they have all partitions among them, each at least one."""

        def are_shared() -> bool:
            for consumer in self.all:
                consumer.poll(0.05)
            shares = [consumer.assignment() for consumer in self.all]
            return all(shares) and sum(map(len, shares)) == PARTITIONS

        until(are_shared, "the partitions' owners")

    def commit(self, offset: int) -> None:
        (first, *_) = self.all[0].assignment()
        first.offset = offset
        self.all[0].commit(offsets=[first], asynchronous=False)

    def close(self) -> None:
        """All of them leave."""
        while self.all:
            self.all.pop().close()
