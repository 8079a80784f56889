"""A cluster's topics and the offsets of their logs, by confluent-kafka's admin client.

Knows that client. Must not know when it is asked for what.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from rollcall.inputs.following.log_ends_sampler import Listed, Partition
from rollcall.programs.errors import NO_TOPIC

_T = TypeVar("_T")
CLIENT_ID = "rollcall-ends"
ANSWER_WITHIN_S = 15.0
LATEST, _EARLIEST = OffsetSpec.latest(), OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_IDS_WITHIN_S = 3.0
"""Ends do not wait longer for what they can do without: the client asks the controller, which may be away."""
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
NEEDED = "DESCRIBE on the topic is needed"
# The library writes a line a second while a broker is away.
quiet = logging.getLogger("jobs.kafka")
quiet.setLevel(logging.CRITICAL)


def as_kafka_spells(topic_id: str) -> str:
    """Kafka's ids are base64 for URLs, in a request log too; the library's have + and / in them."""
    return topic_id.replace("+", "-").replace("/", "_")


class ListedOffsets:
    """One cluster. Every method raises OSError: the cluster does not answer."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._admin = AdminClient({**settings, "client.id": CLIENT_ID}, logger=quiet)

    def close(self) -> None:
        """The client ends with its last reference."""

    def cluster_id(self) -> str | None:
        return answered(lambda: self._admin.list_topics(timeout=ANSWER_WITHIN_S)).cluster_id

    def partitions(self, topics: Collection[str]) -> tuple[list[Partition], dict[str, str]]:
        """The partitions of topics that exist and may be described; for the others the broker's reason."""
        known = answered(lambda: self._admin.list_topics(timeout=ANSWER_WITHIN_S)).topics
        found = [
            (topic, number) for topic in sorted(topics) if topic in known for number in sorted(known[topic].partitions)
        ]
        missing = {topic: f"{NO_TOPIC}: {NEEDED}" for topic in topics if topic not in known}
        return found, missing

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """The ids of those topics that have one, as Kafka spells them: those of brokers before 2.8 have none."""
        if not topics:
            return {}
        futures = answered(
            lambda: self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=_IDS_WITHIN_S)
        )
        found = dict[str, str]()
        for topic, future in futures.items():
            with suppress(KafkaException):
                found[topic] = as_kafka_spells(str(future.result().topic_id))
        return {topic: topic_id for topic, topic_id in found.items() if topic_id != _NO_ID}

    def ends(self, partitions: Collection[Partition]) -> Listed:
        return self._listed(partitions, LATEST, IsolationLevel.READ_UNCOMMITTED)

    def starts(self, partitions: Collection[Partition]) -> Listed:
        return self._listed(partitions, _EARLIEST, IsolationLevel.READ_UNCOMMITTED)

    def stable_ends(self, partitions: Collection[Partition]) -> Listed:
        return self._listed(partitions, LATEST, IsolationLevel.READ_COMMITTED)

    def _listed(self, partitions: Collection[Partition], spec: OffsetSpec, isolation: IsolationLevel) -> Listed:
        if not partitions:
            return Listed({}, {})
        asked = {TopicPartition(topic, number): spec for topic, number in partitions}
        futures = answered(
            lambda: self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=ANSWER_WITHIN_S)
        )
        listed = Listed({}, {})
        for one, future in futures.items():
            try:
                listed.offsets[one.topic, one.partition] = future.result().offset
            except KafkaException as error:
                refused = error.args[0]
                is_right = refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
                listed.refused[one.topic] = f"{refused.str()}: {NEEDED}" if is_right else refused.str()
        if len(listed.refused) == len({topic for topic, _ in partitions}) and not listed.offsets:
            raise OSError(next(iter(listed.refused.values())))
        return listed


def answered(ask: Callable[[], _T]) -> _T:
    """What the client answers. Raises OSError: the cluster does not."""
    try:
        return ask()
    except KafkaException as error:
        raise OSError(error.args[0].str()) from None
