"""The broker settings that change an answer, under Kafka's own keys, with Kafka's defaults.

Knows each setting's default and bounds and which settings contradict each other; must not know texts, which
`rollcall.programs.settings` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from rollcall.coordinator_udfs.protocol.kafka_versions import DIFFERENCES, Differences, KafkaVersion

INT32_MAX = 2147483647
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member's first JoinGroup may stay parked (in Kafka a constant, not a setting)."""
ASSIGNORS = ("uniform", "range")
"""The assignors that the coordinator has, by the names that members vote with."""
PATTERN_REFRESH_MIN_INTERVAL_MS = 10_000
"""The least time between two resolutions of a group's regular expressions (in Kafka a constant, not a setting)."""


def _setting(key: str, default: Any, least: int = 0) -> Any:
    """A field with Kafka's key, whose value is at least `least` and at most the greatest 32-bit number."""
    return field(default=default, metadata={"key": key, "least": least, "most": INT32_MAX})


# ---------------------------------------------------------------- the newer group protocol

BOUNDED = ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms")
"""The settings of consumer groups that may be set for a single group, within bounds."""


class MigrationPolicy(StrEnum):
    """Which way a group with members may change its protocol, as Kafka spells it."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """Kafka's settings of consumer groups (KIP-848). Times in ms.

    Raises ValueError: heartbeats as long as a session, a least value above the greatest, an assignor that is unknown or
    named twice.
    """

    session_timeout_ms: int = _setting("group.consumer.session.timeout.ms", 45_000, 1)
    heartbeat_interval_ms: int = _setting("group.consumer.heartbeat.interval.ms", 5_000, 1)
    assignment_interval_ms: int = _setting("group.consumer.assignment.interval.ms", 1_000)
    min_session_timeout_ms: int = _setting("group.consumer.min.session.timeout.ms", 45_000, 1)
    """The bounds of what may be set for a single group; the value for all groups may always be set for one."""
    max_session_timeout_ms: int = _setting("group.consumer.max.session.timeout.ms", 60_000, 1)
    min_heartbeat_interval_ms: int = _setting("group.consumer.min.heartbeat.interval.ms", 5_000, 1)
    max_heartbeat_interval_ms: int = _setting("group.consumer.max.heartbeat.interval.ms", 15_000, 1)
    min_assignment_interval_ms: int = _setting("group.consumer.min.assignment.interval.ms", 0)
    max_assignment_interval_ms: int = _setting("group.consumer.max.assignment.interval.ms", 15_000)
    max_size: int = _setting("group.consumer.max.size", INT32_MAX, 1)
    assignors: tuple[str, ...] = _setting("group.consumer.assignors", ASSIGNORS)
    """The first is used for members that ask for none."""
    migration_policy: MigrationPolicy = _setting(  # noqa: RUF009 - a frozen value, like the others
        "group.consumer.migration.policy", MigrationPolicy.BIDIRECTIONAL
    )
    regex_refresh_interval_ms: int = _setting("group.consumer.regex.refresh.interval.ms", 600_000, 10_000)

    def __post_init__(self) -> None:
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ValueError(
                f"group.consumer.heartbeat.interval.ms={self.heartbeat_interval_ms}: "
                f"is not below group.consumer.session.timeout.ms={self.session_timeout_ms}"
            )
        for name in BOUNDED:
            least, most = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if least > most:
                kind = name.removesuffix("_ms").replace("_", ".")
                raise ValueError(f"group.consumer.min.{kind}.ms={least}: is above group.consumer.max.{kind}.ms={most}")
        known, named = set(ASSIGNORS), set(self.assignors)
        if not named or len(named) < len(self.assignors) or not named <= known:
            text = ",".join(self.assignors)
            raise ValueError(f"group.consumer.assignors={text}: must name some of {', '.join(ASSIGNORS)}, each once")


CONSUMER_KEYS: dict[str, str] = {f.name: f.metadata["key"] for f in fields(ConsumerConfig)}


@dataclass(frozen=True, slots=True)
class ExpressionLimits:
    """How many regular expressions the members of one group may subscribe to together; Kafka has no such limits.

    Matching costs at worst about 3 ns per instruction and byte of a name.
    """

    count: int = 100
    max_bytes: int = 65_536
    unicode_classes: int = 10
    """Classes such as `\\pL` in one expression; each takes 0.2 ms to read."""
    program_size: int = 2_000
    """Instructions; `orders-.*` has 19, a list of 60 topics with nothing in common about 1,800."""
    topics_bytes: int = 8_388_608
    """The topic names that they match, summed over all expressions; an unresolved one may match all topics."""


# ---------------------------------------------------------------- all of it


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Kafka's group settings. Times in ms unless the name says minutes.

    Raises ValueError: the least session timeout is above the greatest.
    """

    group_min_session_timeout_ms: int = _setting("group.min.session.timeout.ms", 6000)
    group_max_session_timeout_ms: int = _setting("group.max.session.timeout.ms", 1_800_000)
    group_initial_rebalance_delay_ms: int = _setting("group.initial.rebalance.delay.ms", 3000)
    group_max_size: int = _setting("group.max.size", INT32_MAX, least=1)
    offset_metadata_max_bytes: int = _setting("offset.metadata.max.bytes", 4096)
    offsets_retention_minutes: int = _setting("offsets.retention.minutes", 10_080, least=1)
    offsets_retention_check_interval_ms: int = _setting("offsets.retention.check.interval.ms", 600_000, least=1)
    kafka_version: KafkaVersion = _setting("kafka.version", KafkaVersion.V4_4)  # noqa: RUF009 - as above
    """The version whose answers are given. Not a setting of Kafka."""
    topics: Mapping[str, int] | None = _setting("topics", None)
    """The topics that exist, with their partition counts; None: every topic and partition exists, but a consumer group
    is assigned none, since nobody knows how many there are.
    """
    offsets_max_bytes: int = INT32_MAX
    """How many bytes a group's committed offsets may take. Not a setting of Kafka, which has no such limit."""
    members_max_bytes: int = INT32_MAX
    """How many bytes a group's members may take together, one of them an eighth of it. Not a setting of Kafka
    either."""
    expressions: ExpressionLimits | None = None
    """None: no limits, as for requests that a broker has already accepted."""
    topics_version: int = 0
    """Changes whenever a topic has been created; no setting."""
    is_of_a_recording: bool = False
    """Whether a broker has accepted the requests; no setting. Regular expressions are then resolved when requests say
    so: a broker resolves them in the background, and only a recording shows when.
    """
    consumer: ConsumerConfig = field(default_factory=ConsumerConfig)
    """The settings of the newer protocol."""

    def __post_init__(self) -> None:
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise ValueError(
                f"group.min.session.timeout.ms={self.group_min_session_timeout_ms}: "
                f"is above group.max.session.timeout.ms={self.group_max_session_timeout_ms}"
            )

    def of_a_recording(self) -> GroupConfig:
        """The same settings for requests that were recorded, which also report what a broker did in the background."""
        widest: dict[str, Any] = {f"min_{name}": 0 for name in BOUNDED} | {f"max_{name}": INT32_MAX for name in BOUNDED}
        return replace(self, is_of_a_recording=True, consumer=replace(self.consumer, **widest))

    @property
    def kafka(self) -> Differences:
        """What the Kafka version in use answers otherwise than another one."""
        return DIFFERENCES[self.kafka_version]

    @property
    def offsets_retention_ms(self) -> int:
        """The retention in ms, which may need more than 32 bits."""
        return self.offsets_retention_minutes * 60_000

    def has_partition(self, topic: str, partition: int) -> bool:
        """True if the topic exists and has this partition."""
        if self.topics is None:
            return partition >= 0
        return 0 <= partition < self.topics.get(topic, 0)


KEYS: dict[str, str] = {f.name: f.metadata["key"] for f in fields(GroupConfig) if "key" in f.metadata}
"""Each setting's key, by its field's name; for those of the newer protocol see `CONSUMER_KEYS`."""
