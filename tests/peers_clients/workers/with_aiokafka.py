"""A consumer by aiokafka. Speaks `workers.lines`."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.helpers import create_ssl_context

from tests.peers_clients.workers.lines import Commands, Told, options, place, say

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


async def main() -> None:
    told = options()
    security: dict[str, Any] = {}
    if told.user:
        security = {
            "security_protocol": "SASL_SSL" if told.ca else "SASL_PLAINTEXT",
            "sasl_mechanism": told.mechanism,
            "sasl_plain_username": told.user,
            "sasl_plain_password": told.password,
            "ssl_context": create_ssl_context(cafile=told.ca) if told.ca else None,
        }
    consumer = AIOKafkaConsumer(
        told.topic,
        bootstrap_servers=told.bootstrap,
        group_id=told.group,
        client_id=told.client_id,
        group_instance_id=told.instance_id,
        session_timeout_ms=told.session_ms,
        heartbeat_interval_ms=told.heartbeat_ms,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        partition_assignment_strategy=(ASSIGNORS[told.assignor],),
        **security,
    )
    await consumer.start()
    commands, assignment = Commands(), Told()
    while True:
        await consumer.getmany(timeout_ms=100)
        assignment.tell((p.topic, p.partition) for p in consumer.assignment())
        match commands.next():
            case ["commit", where, offset]:
                await consumer.commit({TopicPartition(*place(where)): int(offset)})
                say("committed", partition=where, offset=int(offset))
            case ["committed", where]:
                say("committed", partition=where, offset=await consumer.committed(TopicPartition(*place(where))))
            case ["position", where]:
                say("position", partition=where, offset=await consumer.position(TopicPartition(*place(where))))
            case ["close"]:
                await consumer.stop()
                return
            case _:
                pass


if __name__ == "__main__":
    asyncio.run(main())
