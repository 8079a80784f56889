"""What Kafka's admin client says of commits and ends, again and again: between two of its answers lies the truth.

Knows that client; must not know what Rollcall reports. Moments are ms since the epoch.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from tests.peers_lag.own_records import Place

EVERY_S = 0.2
PATIENCE_S = 10


class Sample(NamedTuple):
    """Offsets, each as of some moment between its question and its answer."""

    asked_ms: int
    answered_ms: int
    committed: dict[tuple[str, Place], int]
    """By group and partition."""
    starts: dict[Place, int]
    ends: dict[Place, int]

    def lag(self, key: tuple[str, Place], ends: Mapping[Place, int]) -> int | None:
        """From what was committed, or from where the log begins, to an end; None: not known."""
        committed, start, end = self.committed.get(key, -1), self.starts.get(key[1]), ends.get(key[1])
        return None if committed < 0 or start is None or end is None else max(0, end - max(committed, start))


class Bounds(NamedTuple):
    """The least and the most that a number can have been."""

    least: int
    most: int


class AdminSamples:
    """Asks in a thread of its own, from `start` until `stop`. topics: those of each group, by group."""

    def __init__(self, address: str, topics: Mapping[str, Sequence[Place]]) -> None:
        self._address, self._topics = address, topics
        self._clients = [self._connected()]
        """The last is asked. The others stay: one that goes while it awaits an answer takes the process with it."""
        self.samples: list[Sample] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def bounds(self, group: str, place: Place, from_ms: int, to_ms: int) -> Bounds | None:
        """The lag in records, of an end and a commit that each were so in a time; None: it was not asked around it."""
        first = bisect_right(self.samples, from_ms, key=lambda one: one.answered_ms) - 1
        last = bisect_left(self.samples, to_ms, key=lambda one: one.asked_ms)
        if first < 0 or last >= len(self.samples):
            return None
        key, (before, after) = (group, place), (self.samples[first], self.samples[last])
        least, most = after.lag(key, before.ends), before.lag(key, after.ends)
        return None if least is None or most is None else Bounds(least, most)

    def _connected(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._address, "log_level": 3})

    def _run(self) -> None:
        while not self._is_over.wait(EVERY_S):
            try:
                self.samples.append(self.ask())
            except KafkaException:
                # What it knows of the cluster may be of before: a new client asks anew.
                self._clients.append(self._connected())

    def ask(self) -> Sample:
        """One sample. Raises KafkaException."""
        admin, asked_ms = self._clients[-1], now_ms()
        requests = {
            group: ConsumerGroupTopicPartitions(group, [TopicPartition(*place) for place in places])
            for group, places in self._topics.items()
        }
        commits = {
            group: admin.list_consumer_group_offsets([request], request_timeout=PATIENCE_S)[group]
            for group, request in requests.items()
        }
        places = [TopicPartition(*place) for of_group in self._topics.values() for place in of_group]
        first, last = (
            admin.list_offsets(dict.fromkeys(places, spec), request_timeout=PATIENCE_S)
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
        )
        committed = {
            (group, (one.topic, one.partition)): one.offset
            for group, answer in commits.items()
            for one in answer.result().topic_partitions
        }
        starts, ends = (
            {(one.topic, one.partition): answer.result().offset for one, answer in listed.items()}
            for listed in (first, last)
        )
        return Sample(asked_ms, now_ms(), committed, starts, ends)


def now_ms() -> int:
    return int(time.time() * 1000)
