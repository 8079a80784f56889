"""A consumer that reads records and commits as it goes, by confluent-kafka; says what it read and what it committed.

Out: `read PARTITION FIRST LAST` for each run of records, `committed PARTITION OFFSET` once that is true, with the time
in seconds before. In: `close`.
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaException

from tests.peers_clients.workers.lines import Commands, options

RECORDS_A_COMMIT = 500


def say(*words: object) -> None:
    print(f"{time.time():.6f}", *words, flush=True)


def main() -> None:
    given = options()
    consumer = Consumer(
        {
            "bootstrap.servers": given.bootstrap,
            "group.id": given.group,
            "client.id": given.client_id,
            "session.timeout.ms": given.session_ms,
            "heartbeat.interval.ms": given.heartbeat_ms,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([given.topic])
    commands = Commands()
    while commands.next() != ["close"]:
        runs: dict[int, tuple[int, int]] = {}
        for message in consumer.consume(RECORDS_A_COMMIT, timeout=0.1):
            partition, offset = message.partition(), message.offset()
            assert message.error() is None, message.error()
            assert partition is not None
            assert offset is not None
            first, last = runs.get(partition, (offset, offset - 1))
            assert offset == last + 1
            runs[partition] = first, offset
        for partition, (first, last) in runs.items():
            say("read", partition, first, last)
        if runs:
            commit(consumer)
    consumer.close()


def commit(consumer: Consumer) -> None:
    """A commit that comes too late for its generation is refused, as it must be."""
    try:
        done = consumer.commit(asynchronous=False)
    except KafkaException:
        return
    for place in done or ():
        if place.error is None:
            say("committed", place.partition, place.offset)


if __name__ == "__main__":
    main()
