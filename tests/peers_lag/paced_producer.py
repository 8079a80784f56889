"""A producer of known rate that keeps its own records: when the broker appended each, and at which offset.

    python -m tests.peers_lag.paced_producer ADDRESS

In, a line a topic: `orders 4 100` is 100 records/s from now on, in turn to 4 partitions; 0 records/s end them.
Out, a line for each record that the broker took: `TOPIC PARTITION OFFSET APPENDED_MS`, by the broker's clock where the
topic has `message.timestamp.type=LogAppendTime`. At the end of input it waits for all answers and ends.

Knows the client library; must not know who reads.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

LOOK_EVERY_S = 0.005


@dataclass
class _Pace:
    """Which records of a topic are due: every_s is the time between two of them."""

    partitions: int
    every_s: float
    next_s: float
    turns: itertools.count[int] = field(default_factory=itertools.count)


def main(address: str) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": address, "linger.ms": 2, "topic.metadata.refresh.interval.ms": 500}
    # A broker that is slow gets few large requests, and none twice: every record has one offset, and its report.
    settings["enable.idempotence"] = True
    producer, paces = Producer(settings), dict[str, _Pace]()
    is_over = threading.Event()
    threading.Thread(target=_follow_input, args=(paces, is_over), daemon=True).start()
    while not is_over.wait(LOOK_EVERY_S):
        for topic, pace in list(paces.items()):
            while pace.next_s <= time.monotonic():
                pace.next_s += pace.every_s
                _produce(producer, topic, next(pace.turns) % pace.partitions)
        producer.poll(0)
    producer.flush(30)


def _produce(producer: Producer, topic: str, partition: int) -> None:
    """A record for a new partition is left out until the producer has refreshed what it knows of the topic."""
    with suppress(KafkaException):
        producer.produce(topic, b"x", partition=partition, on_delivery=_say)


def _follow_input(paces: dict[str, _Pace], is_over: threading.Event) -> None:
    for line in sys.stdin:
        topic, partitions, records_per_s = line.split()
        paces.pop(topic, None)
        if float(records_per_s):
            paces[topic] = _Pace(int(partitions), 1 / float(records_per_s), time.monotonic())
    is_over.set()


def _say(error: KafkaError | None, message: Message) -> None:
    if error is None:
        print(message.topic(), message.partition(), message.offset(), message.timestamp()[1], flush=True)
    else:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
