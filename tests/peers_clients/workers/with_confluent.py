"""A consumer by confluent-kafka, which is librdkafka. Speaks `workers.lines`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.peers_clients.workers.lines import Commands, Told, options, place, say

NONE = -1001
"""librdkafka's word for no offset."""


def settings_of(told: SimpleNamespace) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": told.bootstrap,
        "group.id": told.group,
        "client.id": told.client_id,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "reconnect.backoff.max.ms": 500,
    }
    if told.protocol == "consumer":
        # So long a member may hold on to what it is to give up: librdkafka waits one interval for a heartbeat's answer,
        # and where that was lost it may not ask for its assignment again.
        settings |= {"group.protocol": "consumer", "max.poll.interval.ms": told.max_poll_ms}
    else:
        settings |= {
            "session.timeout.ms": told.session_ms,
            "heartbeat.interval.ms": told.heartbeat_ms,
            "partition.assignment.strategy": told.assignor,
        }
    if told.instance_id:
        settings["group.instance.id"] = told.instance_id
    if told.user:
        settings |= {
            "security.protocol": "SASL_SSL" if told.ca else "SASL_PLAINTEXT",
            "sasl.mechanisms": told.mechanism,
            "sasl.username": told.user,
            "sasl.password": told.password,
        }
    if told.ca:
        settings["ssl.ca.location"] = told.ca
    return settings


def main() -> None:
    told = options()
    consumer = Consumer(settings_of(told))
    consumer.subscribe([told.topic])
    commands, assignment = Commands(), Told()
    while True:
        message = consumer.poll(0.1)
        if message is not None and message.error():
            say("error", what=str(message.error()))
        assignment.tell((p.topic, p.partition) for p in consumer.assignment())
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


if __name__ == "__main__":
    main()
