"""A consumer by aiokafka. Speaks `workers.lines`."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import IllegalStateError, KafkaError
from aiokafka.helpers import create_ssl_context

from tests.peers_clients.workers.lines import Commands, Reported, Uncommitted, options, place, say, usual_settings

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


async def main() -> None:
    given = options()
    certificate = {"ssl_context": create_ssl_context(cafile=given.ca)} if given.ca else {}
    consumer = AIOKafkaConsumer(
        given.topic,
        partition_assignment_strategy=(ASSIGNORS[given.assignor],),
        **usual_settings(given),
        **certificate,
    )
    await consumer.start()
    commands, assignment, uncommitted = Commands(), Reported(), Uncommitted(given.commit_ms)
    while True:
        for key, records in (await consumer.getmany(timeout_ms=100)).items():
            uncommitted.read(key.topic, key.partition, records[-1].offset)
        held = {(p.topic, p.partition) for p in consumer.assignment()}
        assignment.tell(held)
        if due := uncommitted.due(held):
            try:
                await consumer.commit({TopicPartition(*key): offset for key, offset in due.items()})
                uncommitted.say_progress(due)
            except (KafkaError, IllegalStateError):
                # A rebalance is under way: what was read is read again.
                pass
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
