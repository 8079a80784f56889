"""A Kafka broker with a topic of records as `__consumer_offsets` has them: groups' generations, and their commits.

Knows the records' bytes and how a broker is started; must not know what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from confluent_kafka import Producer
from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.processes import started
from offsets_topic.dumps.json_lines import write_line
from offsets_topic.dumps.log_record import LogRecord
from offsets_topic.records.decoding import encode_key, encode_value
from offsets_topic.records.shapes import (
    ClassicMember,
    GroupKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from schemas.consumer_protocol import Assignment, Subscription, TopicPartition, encode_assignment, encode_subscription

TOPIC, PARTITIONS = "recorded-offsets", 8
CONSUMED = "clicks"
MEMBERS_A_GROUP, PARTITIONS_A_MEMBER = 4, 5
FIRST_MS = 1_790_000_000_000
_GROUP_METADATA, _OFFSET_COMMIT = 2, 1


@contextmanager
def real_broker(folder: Path, *settings: str) -> Iterator[str]:
    """A real broker with its data in a folder, in a process of its own; gives its address. settings: key=value."""
    folder.mkdir()
    # The tests' own: it fetches Kafka once, by Maven.
    words = [str(folder), *settings]
    with started("tests.peers_kafka.kafka", *words, says="broker at ", ends_with_input=True) as (_, address):
        yield address


def fill(address: str, groups: int, commits: int) -> None:
    """Makes the topic and writes it."""
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    admin.close()
    producer = Producer({"bootstrap.servers": address, "linger.ms": 20, "queue.buffering.max.messages": 2_000_000})
    for record in _records(groups, commits):
        producer.produce(TOPIC, record.value, record.key, record.partition)
    if left := producer.flush(120):
        raise RuntimeError(f"{left} records were not written")


def write_dump(path: Path, groups: int, commits: int) -> int:
    """The same records as a dump of JSON lines; how many there are."""
    written = 0
    with path.open("wb") as out:
        for record in _records(groups, commits):
            out.write(write_line(record) + b"\n")
            written += 1
    return written


def _records(groups: int, commits: int) -> Iterator[LogRecord]:
    """Four generations of every group, then commits, a member's partitions at once, from group to group."""
    offsets = [0] * PARTITIONS
    for at_ms, key, value, partition in chain(_generations(groups), _commits(groups, commits)):
        yield LogRecord(partition, offsets[partition], at_ms, key, value)
        offsets[partition] += 1


def _commits(groups: int, count: int) -> Iterator[tuple[int, bytes, bytes, int]]:
    for number in range(count):
        request, place = divmod(number, PARTITIONS_A_MEMBER)
        turn, group = divmod(request, groups)
        committed = (turn % MEMBERS_A_GROUP) * PARTITIONS_A_MEMBER + place
        key = OffsetCommitKey(group=f"group-{group:04d}", topic=CONSUMED, partition=committed)
        commit = OffsetCommitValue(offset=1_000 + turn, metadata="", commit_timestamp=FIRST_MS + turn)
        yield FIRST_MS + turn, encode_key(_OFFSET_COMMIT, key), encode_value(3, commit), group % PARTITIONS


def _generations(groups: int) -> Iterator[tuple[int, bytes, bytes, int]]:
    for number in range(groups):
        group = f"group-{number:04d}"
        key = encode_key(_GROUP_METADATA, GroupKey(group=group))
        for generation in range(4):
            members = [_member(group, n) for n in range(MEMBERS_A_GROUP if generation else 0)]
            value = GroupMetadataValue(
                protocol_type="consumer" if members else "",
                generation=generation,
                protocol="range" if members else None,
                leader=members[0].member_id if members else None,
                current_state_timestamp=FIRST_MS + generation,
                members=members,
            )
            yield FIRST_MS, key, encode_value(3, value), number % PARTITIONS


def _member(group: str, number: int) -> ClassicMember:
    first = number * PARTITIONS_A_MEMBER
    held = tuple(TopicPartition(CONSUMED, n) for n in range(first, first + PARTITIONS_A_MEMBER))
    return ClassicMember(
        member_id=f"{group}-{number}-6c6bfed5-5b01-475e-af4d-0f7ff00d585b",
        client_id=f"{group}-{number}",
        client_host="/127.0.0.1",
        rebalance_timeout=300_000,
        session_timeout=45_000,
        subscription=encode_subscription(Subscription(topics=(CONSUMED,))),
        assignment=encode_assignment(Assignment(partitions=held)),
    )
