"""The broker settings that change an answer, under Kafka's own keys, with Kafka's defaults.

Knows how to read a setting and what contradicts what; knows no file, no Spark setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

INT32_MAX = 2147483647
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member's first, parked JoinGroup lives (a constant in Kafka, no setting)."""


class ConfigError(ValueError):
    """A setting that cannot be used; the text names the key and the value."""


def _setting(key: str, default: Any) -> Any:
    return field(default=default, metadata={"key": key})


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Kafka's group settings. Times in ms unless the name says minutes.

    topics: the topics that exist, with their partition counts; None means every topic and partition exists.
    """

    group_min_session_timeout_ms: int = _setting("group.min.session.timeout.ms", 6000)
    group_max_session_timeout_ms: int = _setting("group.max.session.timeout.ms", 1_800_000)
    group_initial_rebalance_delay_ms: int = _setting("group.initial.rebalance.delay.ms", 3000)
    group_max_size: int = _setting("group.max.size", INT32_MAX)
    offset_metadata_max_bytes: int = _setting("offset.metadata.max.bytes", 4096)
    offsets_retention_minutes: int = _setting("offsets.retention.minutes", 10_080)
    offsets_retention_check_interval_ms: int = _setting("offsets.retention.check.interval.ms", 600_000)
    offsets_topic_num_partitions: int = _setting("offsets.topic.num.partitions", 50)
    topics: Mapping[str, int] | None = _setting("topics", None)

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value < least:
                raise ConfigError(f"{KEYS[name]}={value}: must be at least {least}")
            if value > INT32_MAX:
                raise ConfigError(f"{KEYS[name]}={value}: must be at most {INT32_MAX}")
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise ConfigError(
                f"group.min.session.timeout.ms={self.group_min_session_timeout_ms}: "
                f"is above group.max.session.timeout.ms={self.group_max_session_timeout_ms}"
            )

    @property
    def offsets_retention_ms(self) -> int:
        """Retention in ms; wider than 32 bits on purpose."""
        return self.offsets_retention_minutes * 60_000

    def has_partition(self, topic: str, partition: int) -> bool:
        """True if the topic exists and has this partition."""
        if self.topics is None:
            return partition >= 0
        return 0 <= partition < self.topics.get(topic, 0)

    @classmethod
    def from_pairs(cls, pairs: Mapping[str, str]) -> GroupConfig:
        """Settings by Kafka's keys, values as text. Raises ConfigError: unknown key, not a number, out of range."""
        names = {key: name for name, key in KEYS.items()}
        values: dict[str, Any] = {}
        for key, text in pairs.items():
            if key not in names:
                raise ConfigError(f"{key}: is no setting; known are {', '.join(sorted(names))}")
            values[names[key]] = parse_topics(text) if key == "topics" else _parse_int(key, text)
        return cls(**values)


KEYS: dict[str, str] = {f.name: f.metadata["key"] for f in fields(GroupConfig)}

_LEAST = {
    "group_min_session_timeout_ms": 0,
    "group_max_session_timeout_ms": 0,
    "group_initial_rebalance_delay_ms": 0,
    "group_max_size": 1,
    "offset_metadata_max_bytes": 0,
    "offsets_retention_minutes": 1,
    "offsets_retention_check_interval_ms": 1,
    "offsets_topic_num_partitions": 1,
}


def _parse_int(key: str, text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise ConfigError(f"{key}={text}: is not a whole number") from None


def parse_topics(text: str) -> dict[str, int]:
    """`t1:4,t2:4` -> {"t1": 4, "t2": 4}; an empty text names no topic at all."""
    topics: dict[str, int] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, count = part.rpartition(":")
        if not colon or not name or not count.isdecimal() or int(count) < 1:
            raise ConfigError(f"topics={text}: {part!r} is not of the form topic:partitions")
        topics[name] = int(count)
    return topics
