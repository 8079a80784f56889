"""A consumer by confluent-kafka, which is librdkafka. Speaks `workers.lines`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.peers_clients.workers.lines import Commands, Reported, Uncommitted, options, place, say

NONE = -1001
"""librdkafka's word for no offset."""


def settings_of(given: SimpleNamespace) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": given.bootstrap,
        "group.id": given.group,
        "client.id": given.client_id,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "reconnect.backoff.max.ms": 500,
    }
    if given.protocol == "consumer":
        # How long a member may keep what it is to give up: librdkafka waits one interval for a heartbeat's answer,
        # and where that was lost it may not ask for its assignment again.
        settings |= {"group.protocol": "consumer", "max.poll.interval.ms": given.max_poll_ms}
    else:
        settings |= {
            "session.timeout.ms": given.session_ms,
            "heartbeat.interval.ms": given.heartbeat_ms,
            "partition.assignment.strategy": given.assignor,
        }
    if given.instance_id:
        settings["group.instance.id"] = given.instance_id
    if given.user:
        settings |= {
            "security.protocol": "SASL_SSL" if given.ca else "SASL_PLAINTEXT",
            "sasl.mechanisms": given.mechanism,
            "sasl.username": given.user,
            "sasl.password": given.password,
        }
    if given.ca:
        settings["ssl.ca.location"] = given.ca
    return settings


def main() -> None:
    given = options()
    consumer = Consumer(settings_of(given))
    consumer.subscribe([given.topic])
    commands, assignment, uncommitted = Commands(), Reported(), Uncommitted(given.commit_ms)
    while True:
        message = consumer.poll(0.1)
        if message is not None and message.error():
            say("error", what=str(message.error()))
        elif message is not None:
            uncommitted.read(*_place_of(message))
        held = {(p.topic, p.partition) for p in consumer.assignment()}
        assignment.tell(held)
        if due := uncommitted.due(held):
            _commit(consumer, uncommitted, due)
        match commands.next():
            case ["commit", where, offset]:
                consumer.commit(offsets=[TopicPartition(*place(where), int(offset))], asynchronous=False)
                say("committed", partition=where, offset=int(offset))
            case ["committed", where]:
                (found,) = consumer.committed([TopicPartition(*place(where))], timeout=30)
                say("committed", partition=where, offset=None if found.offset == NONE else found.offset)
            case ["position", where]:
                (found,) = consumer.position([TopicPartition(*place(where))])
                if found.offset == NONE:
                    # It has consumed nothing yet: where it begins is where the group committed.
                    (found,) = consumer.committed([TopicPartition(*place(where))], timeout=30)
                say("position", partition=where, offset=found.offset)
            case ["subscribe", *topics]:
                consumer.subscribe(topics)
            case ["close"]:
                consumer.close()
                return
            case _:
                pass


def _place_of(message: Message) -> tuple[str, int, int]:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return topic, partition, offset


def _commit(consumer: Consumer, uncommitted: Uncommitted, due: dict[tuple[str, int], int]) -> None:
    """Commits and says so. What a rebalance refuses is read again."""
    try:
        consumer.commit(offsets=[TopicPartition(*key, offset) for key, offset in due.items()], asynchronous=False)
    except KafkaException:
        return
    uncommitted.say_progress(due)


if __name__ == "__main__":
    main()
