"""A consumer by kafka-python. Speaks `workers.lines`."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata

from tests.peers_clients.workers.lines import Commands, Told, options, place, say

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def main() -> None:
    told = options()
    security: dict[str, Any] = {}
    if told.user:
        security = {
            "security_protocol": "SASL_SSL" if told.ca else "SASL_PLAINTEXT",
            "sasl_mechanism": told.mechanism,
            "sasl_plain_username": told.user,
            "sasl_plain_password": told.password,
            "ssl_cafile": told.ca,
        }
    consumer = KafkaConsumer(
        told.topic,
        bootstrap_servers=told.bootstrap,
        group_id=told.group,
        client_id=told.client_id,
        group_instance_id=told.instance_id,
        session_timeout_ms=told.session_ms,
        heartbeat_interval_ms=told.heartbeat_ms,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        partition_assignment_strategy=[ASSIGNORS[told.assignor]],
        **security,
    )
    # The library joins before it knows the topic and again once it does; if a poll's time is over just then, it takes
    # the second join for done and never sees its share. So it gets to know the topic first.
    consumer.partitions_for_topic(told.topic)
    commands, assignment = Commands(), Told()
    while True:
        consumer.poll(timeout_ms=100)
        assignment.tell(consumer.assignment())
        match commands.next():
            case ["commit", where, offset]:
                consumer.commit({TopicPartition(*place(where)): OffsetAndMetadata(int(offset), "", -1)})
                say("committed", partition=where, offset=int(offset))
            case ["committed", where]:
                say("committed", partition=where, offset=consumer.committed(TopicPartition(*place(where))))
            case ["position", where]:
                say("position", partition=where, offset=consumer.position(TopicPartition(*place(where))))
            case ["close"]:
                consumer.close()
                return
            case _:
                pass


if __name__ == "__main__":
    main()
