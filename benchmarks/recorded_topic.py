"""A Kafka broker with a topic of records as `__consumer_offsets` has them: groups' generations, and their commits.

Knows the records' bytes and how a broker is started; must not know what is measured.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka.admin import KafkaAdminClient, NewTopic
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

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
_GROUP_METADATA, _OFFSET_COMMIT = 2, "0001"


@contextmanager
def real_broker(folder: Path, *settings: str) -> Iterator[str]:
    """A real broker with its data in a folder, in a process of its own; gives its address. settings: key=value."""
    folder.mkdir()
    # The tests' own: it fetches Kafka once, by Maven.
    command = [sys.executable, "-m", "tests.peers_kafka.kafka", str(folder), *settings]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = (line.partition("broker at ")[2].strip() for line in process.stdout)
        address = next((one for one in said if one), None)
        if address is None:
            raise RuntimeError("no broker could be started")
        try:
            yield address
        finally:
            process.communicate(timeout=60)


def fill(spark: SparkSession, address: str, groups: int, commits: int) -> None:
    """Makes the topic and writes it: three generations of every group, then commits, a member's partitions at once."""
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    admin.close()
    schema = "key binary, value binary, partition int"
    _write(spark.createDataFrame(list(_generations(groups)), schema).coalesce(1), address)
    _write(_commits(spark, groups, commits), address)


def write_dump(path: Path, groups: int, commits: int) -> int:
    """The same records as a dump of JSON lines; how many there are."""
    offsets = [0] * PARTITIONS
    with path.open("wb") as out:

        def write(partition: int, at_ms: int, key: bytes, value: bytes) -> None:
            out.write(write_line(LogRecord(partition, offsets[partition], at_ms, key, value)) + b"\n")
            offsets[partition] += 1

        for key, value, partition in _generations(groups):
            write(partition, FIRST_MS, key, value)
        for number in range(commits):
            request, place = divmod(number, PARTITIONS_A_MEMBER)
            turn, group = divmod(request, groups)
            committed = (turn % MEMBERS_A_GROUP) * PARTITIONS_A_MEMBER + place
            key = encode_key(1, OffsetCommitKey(group=f"group-{group:04d}", topic=CONSUMED, partition=committed))
            commit = OffsetCommitValue(offset=1_000 + turn, metadata="", commit_timestamp=FIRST_MS + turn)
            write(group % PARTITIONS, FIRST_MS + turn, key, encode_value(3, commit))
    return sum(offsets)


def _write(records: DataFrame, address: str) -> None:
    options = {"kafka.bootstrap.servers": address, "topic": TOPIC, "kafka.linger.ms": "20"}
    records.write.format("kafka").options(**options).save()


def _generations(groups: int) -> Iterator[tuple[bytes, bytes, int]]:
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
            yield key, encode_value(3, value), number % PARTITIONS


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


def _commits(spark: SparkSession, groups: int, count: int) -> DataFrame:
    """Commits of version 3; those of a request stand together, and requests go from group to group."""
    # What a task writes goes to partitions of its own, so that a group's commits keep their order.
    numbers = spark.range(0, count, 1, 2).withColumn("request", F.expr(f"id div {PARTITIONS_A_MEMBER}"))
    group, turn = F.expr(f"request % {groups}"), F.expr(f"request div {groups}")
    partition = (turn % MEMBERS_A_GROUP) * PARTITIONS_A_MEMBER + F.col("id") % PARTITIONS_A_MEMBER
    key = [F.unhex(F.lit(_OFFSET_COMMIT)), _text(F.format_string("group-%04d", group)), _text(F.lit(CONSUMED))]
    value = [_int(F.lit(3), 2), _int(F.lit(1_000) + turn, 8), F.unhex(F.lit("FFFFFFFF")), _int(F.lit(0), 2)]
    return numbers.select(
        F.concat(*key, _int(partition, 4)).alias("key"),
        F.concat(*value, _int(F.lit(FIRST_MS) + turn, 8)).alias("value"),
        (group % PARTITIONS).cast("int").alias("partition"),
    )


def _text(text: Column) -> Column:
    return F.concat(_int(F.length(text), 2), F.encode(text, "UTF-8"))


def _int(number: Column, size: int) -> Column:
    return F.unhex(F.lpad(F.hex(number.cast("long")), 2 * size, "0"))
