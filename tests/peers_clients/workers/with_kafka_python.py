"""A consumer by kafka-python. Speaks `workers.lines`."""

from __future__ import annotations

from kafka import KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from tests.peers_clients.workers.lines import Commands, Reported, Uncommitted, options, place, say, usual_settings

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def main() -> None:
    given = options()
    certificate = {"ssl_cafile": given.ca} if given.ca else {}
    consumer = KafkaConsumer(
        given.topic,
        partition_assignment_strategy=[ASSIGNORS[given.assignor]],
        **usual_settings(given),
        **certificate,
    )
    # The library joins before it knows the topic and again once it does; if a poll's time is over just then, it takes
    # the second join for done and never sees its share. So it gets to know the topic first.
    consumer.partitions_for_topic(given.topic)
    commands, assignment, uncommitted = Commands(), Reported(), Uncommitted(given.commit_ms)
    while True:
        for key, records in consumer.poll(timeout_ms=100).items():
            uncommitted.read(key.topic, key.partition, records[-1].offset)
        held = {(p.topic, p.partition) for p in consumer.assignment()}
        assignment.tell(held)
        if due := uncommitted.due(held):
            try:
                consumer.commit(
                    {TopicPartition(*key): OffsetAndMetadata(offset, "", -1) for key, offset in due.items()}
                )
                uncommitted.say_progress(due)
            except KafkaError:
                # A rebalance is under way: what was read is read again.
                pass
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
