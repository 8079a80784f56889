"""A cluster whose topic is followed: its id, the topic and its partitions, names of other topics, groups' sessions.

Knows confluent-kafka's admin client. Must not know what answers are used for.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from rollcall.coordinator_udfs.protocol.group_configs import GROUP_KEYS, SESSION_TIMEOUT
from rollcall.inputs.following.listed_offsets import ANSWER_WITHIN_S, LATEST, ListedOffsets, answered
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.programs.errors import NO_RIGHT_TO_TOPIC, NO_TOPIC, ClusterError, ConfigError
from rollcall.programs.kafka_options import client_settings

NAMES_WITHIN_S = 3
ASK_AGAIN_AFTER_S = 30.0
"""The pause before an id without a name is asked for again."""
_REASONS = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: NO_TOPIC,
    KafkaError._UNKNOWN_TOPIC: NO_TOPIC,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: NO_RIGHT_TO_TOPIC,
}
_NOBODY = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)


class FollowedCluster(ListedOffsets):
    """settings: confluent-kafka's. shown: how the user named the cluster."""

    def __init__(self, settings: Mapping[str, Any], shown: str) -> None:
        self._said: KafkaError | None = None
        super().__init__({**settings, "error_cb": self._hear})
        self._shown = shown
        self._names: dict[str, str] = {}
        self._asked_at = -ASK_AGAIN_AFTER_S
        self._unnamed: set[str] = set()

    def open(self) -> str:
        """The cluster's own id, whichever of its brokers is asked. Raises ClusterError: no answer, or no such topic."""
        try:
            found = self._admin.list_topics(TOPIC, timeout=ANSWER_WITHIN_S)
        except KafkaException as error:
            self._admin.poll(0)
            raise ClusterError(f"{self._shown}: {self._reason(error.args[0])}.") from None
        if (refused := found.topics[TOPIC].error) is not None:
            why = _REASONS.get(refused.code(), refused.str())
            raise ClusterError(f"{self._shown}: {TOPIC}: {why}.")
        return str(found.cluster_id)

    def partition_ids(self, within_s: float) -> list[int]:
        """The topic's partitions. Raises OSError: the cluster does not answer."""
        self._admin.poll(0)
        return list(answered(lambda: self._admin.list_topics(TOPIC, timeout=within_s)).topics[TOPIC].partitions)

    def ask_ends(self, partitions: Collection[int]) -> Mapping[int, Future[Any]]:
        """Where each partition of the topic ends for who reads committed records."""
        wanted = {TopicPartition(TOPIC, one): LATEST for one in partitions}
        found = self._admin.list_offsets(wanted, isolation_level=IsolationLevel.READ_COMMITTED)
        return {place.partition: answer for place, answer in found.items()}

    def names(self, topic_ids: Iterable[str]) -> dict[str, str]:
        """Names by topic id, if this user may describe the topics; the others are asked for again later."""
        wanted, now = set(topic_ids), time.monotonic()
        unknown = wanted - self._names.keys()
        if unknown - self._unnamed or (unknown and now >= self._asked_at + ASK_AGAIN_AFTER_S):
            self._asked_at = now
            try:
                topics = self._admin.list_topics(timeout=NAMES_WITHIN_S).topics
                self._names.update({topic_id: topic for topic, topic_id in self.topic_ids(topics).items()})
            except (KafkaException, OSError):
                pass
            self._unnamed = (self._unnamed | unknown) - self._names.keys()
        return {topic_id: self._names[topic_id] for topic_id in wanted & self._names.keys()}

    def _hear(self, error: KafkaError) -> None:
        """What the client says of its connections; that all brokers are down says less than why."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._said = error

    def _reason(self, error: KafkaError) -> str:
        if self._said is not None and self._said.code() not in _NOBODY:
            return str(self._said.str()).rstrip(".")
        return f"no broker answered within {ANSWER_WITHIN_S:g} s" if error.code() in _NOBODY else error.str()


_WITHIN_S = 15.0
_DENIED = (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_TAKEN_FOR = f"their members' sessions are taken for {int(GROUP_KEYS[SESSION_TIMEOUT].default) // 1000} s long"


class Sessions(NamedTuple):
    """What a cluster says of its groups' sessions."""

    by_group: dict[str, int]
    """ms, of the groups that may be described."""
    says: str
    """A sentence for the user about the other groups; empty: there are none."""


def ask_sessions(options: Mapping[str, str]) -> Sessions:
    """Asks once. options: settings `kafka.*`."""
    try:
        admin = AdminClient({**client_settings(options), "log_level": "0"})
        listed = admin.list_consumer_groups(request_timeout=_WITHIN_S).result().valid
        asked = [ConfigResource(ConfigResource.Type.GROUP, group.group_id) for group in listed]
        answers = admin.describe_configs(asked, request_timeout=_WITHIN_S) if asked else {}
    except ConfigError as error:
        return Sessions({}, f"{error}; what is set for consumer groups cannot be asked: {_TAKEN_FOR}.")
    except KafkaException as error:
        return Sessions({}, f"what is set for consumer groups is not known ({error.args[0].str()}): {_TAKEN_FOR}.")
    found: dict[str, int] = {}
    denied: list[str] = []
    for resource, answer in answers.items():
        try:
            entry = answer.result().get(SESSION_TIMEOUT)
        except KafkaException as error:
            denied.append(_reason(error))
            continue
        if entry is not None:
            found[resource.name] = int(entry.value)
    if not denied:
        return Sessions(found, "")
    return Sessions(found, f"of {len(denied)} groups it is not known what is set for them ({denied[0]}): {_TAKEN_FOR}.")


def _reason(error: KafkaException) -> str:
    failure = error.args[0]
    return "no right DESCRIBE_CONFIGS on the group" if failure.code() in _DENIED else str(failure.str())
