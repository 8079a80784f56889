"""What may be set for a single group: the keys, their types, their bounds, and the defaults.

Kafka's `org.apache.kafka.coordinator.group.GroupConfig`. The coordinator uses those of consumer groups; those of share
and of streams groups are only kept and described. Knows keys and values; knows no request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from rollcall.coordinator_udfs.protocol.config import BOUNDED, CONSUMER_KEYS, INT32_MAX, ConsumerConfig

SESSION_TIMEOUT = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"
_OF_CONSUMERS = {f"consumer.{name.removesuffix('_ms').replace('_', '.')}.ms": name for name in BOUNDED}
"""The field of ConsumerConfig that is the default of each of these keys."""
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,20}")
_DURATION = re.compile(r"by_duration:P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d{1,9})?S)?)?")
_CACHED = 1024


class ConfigType(IntEnum):
    """How a value is read (org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigType)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3


class GroupKey(NamedTuple):
    broker_key: str
    """The broker's key with the same meaning; empty: there is none."""
    default: str
    type: ConfigType = ConfigType.INT
    least: int = 1
    """The least value, whatever the broker's settings."""
    bounds: tuple[int, int] = (0, INT32_MAX)
    """The broker's bounds, if its settings have none."""
    allowed: str = ""
    """The pattern that a text must match."""
    means: str = ""


GROUP_KEYS: dict[str, GroupKey] = {
    SESSION_TIMEOUT: GroupKey(
        "group.consumer.session.timeout.ms", "45000", means="How long a member may be silent before it is removed."
    ),
    HEARTBEAT_INTERVAL: GroupKey(
        "group.consumer.heartbeat.interval.ms", "5000", means="How often members are asked to send a heartbeat."
    ),
    "consumer.assignment.interval.ms": GroupKey(
        "group.consumer.assignment.interval.ms", "1000", least=0, means="The least time between two assignments."
    ),
    "share.session.timeout.ms": GroupKey("group.share.session.timeout.ms", "45000", bounds=(45_000, 60_000)),
    "share.heartbeat.interval.ms": GroupKey("group.share.heartbeat.interval.ms", "5000", bounds=(5_000, 15_000)),
    "share.assignment.interval.ms": GroupKey("group.share.assignment.interval.ms", "1000", least=0, bounds=(0, 15_000)),
    "share.record.lock.duration.ms": GroupKey(
        "group.share.record.lock.duration.ms", "30000", least=1000, bounds=(15_000, 60_000)
    ),
    "share.delivery.count.limit": GroupKey("group.share.delivery.count.limit", "5", least=2, bounds=(2, 10)),
    "share.partition.max.record.locks": GroupKey(
        "group.share.partition.max.record.locks", "2000", least=100, bounds=(100, 4000)
    ),
    "share.auto.offset.reset": GroupKey(
        *("", "latest", ConfigType.STRING), allowed=f"earliest|latest|{_DURATION.pattern}"
    ),
    "share.isolation.level": GroupKey(
        *("", "read_uncommitted", ConfigType.STRING), allowed="read_committed|read_uncommitted"
    ),
    "share.renew.acknowledge.enable": GroupKey("", "true", ConfigType.BOOLEAN),
    "streams.session.timeout.ms": GroupKey("group.streams.session.timeout.ms", "45000", bounds=(45_000, 60_000)),
    "streams.heartbeat.interval.ms": GroupKey("group.streams.heartbeat.interval.ms", "5000", bounds=(5_000, 15_000)),
    "streams.assignment.interval.ms": GroupKey(
        "group.streams.assignment.interval.ms", "1000", least=0, bounds=(0, 15_000)
    ),
    "streams.num.standby.replicas": GroupKey("group.streams.num.standby.replicas", "0", least=0, bounds=(0, 2)),
    "streams.initial.rebalance.delay.ms": GroupKey("group.streams.initial.rebalance.delay.ms", "3000", least=0),
}
"""Every key that Kafka 4.3 takes for a group."""
_LESS_THAN_A_SESSION = ("consumer", "share", "streams")


class UnfitConfig(ValueError):
    """A key or value that may not be set; the text names both as Kafka does."""


def value_of(name: str, value: str) -> str:
    """A value as it is kept. Raises UnfitConfig: an unknown key, a value that its key does not take."""
    key = GROUP_KEYS.get(name)
    if key is None:
        raise UnfitConfig(f"Unknown group config name: {name}")
    text = value.strip()
    match key.type:
        case ConfigType.INT:
            return str(_whole_number(name, text, value, key.least))
        case ConfigType.BOOLEAN if text.lower() not in ("true", "false"):
            raise UnfitConfig(f"{_invalid(name, value)}: Expected value to be either true or false")
        case ConfigType.BOOLEAN:
            return text.lower()
        case ConfigType.STRING if re.fullmatch(key.allowed, text) is None:
            raise UnfitConfig(f"{_invalid(name, value)}: is not {key.allowed.partition('|by_duration')[0]}")
        case ConfigType.STRING:
            return text


def _whole_number(name: str, text: str, value: str, least: int) -> int:
    number = int(text) if _WHOLE_NUMBER.fullmatch(text) else None
    if number is None or not -INT32_MAX - 1 <= number <= INT32_MAX:
        raise UnfitConfig(f"{_invalid(name, value)}: Not a number of type INT")
    if number < least:
        raise UnfitConfig(f"{_invalid(name, value)}: Value must be at least {least}")
    return number


def _invalid(name: str, value: str) -> str:
    return f"Invalid value {value} for configuration {name}"


def check_bounds(configs: Mapping[str, str], broker: ConsumerConfig) -> None:
    """Raises UnfitConfig: a value outside the broker's bounds; a session that is not longer than a heartbeat."""
    for name, value in configs.items():
        key = GROUP_KEYS[name]
        if key.type is not ConfigType.INT:
            continue
        least, most = bounds_of(name, broker)
        family, _, rest = key.broker_key.removeprefix("group.").partition(".")
        rest = rest.removeprefix("num.")
        if int(value) < least:
            raise UnfitConfig(f"{name} must be greater than or equal to group.{family}.min.{rest}")
        if int(value) > most:
            raise UnfitConfig(f"{name} must be less than or equal to group.{family}.max.{rest}")
    for family in _LESS_THAN_A_SESSION:
        session, interval = f"{family}.session.timeout.ms", f"{family}.heartbeat.interval.ms"
        if session not in configs and interval not in configs:
            continue
        if int(in_force(session, configs, broker)) <= int(in_force(interval, configs, broker)):
            raise UnfitConfig(f"{session} must be greater than {interval}")


def bounds_of(name: str, broker: ConsumerConfig) -> tuple[int, int]:
    """The least and the greatest value that a broker accepts; its default for every group is always accepted."""
    field = _OF_CONSUMERS.get(name)
    if field is None:
        return GROUP_KEYS[name].bounds
    own = getattr(broker, field)
    return min(own, getattr(broker, f"min_{field}")), max(own, getattr(broker, f"max_{field}"))


def in_force(name: str, configs: Mapping[str, str], broker: ConsumerConfig) -> str:
    """The value in force for a group: what is set for it, or the broker's default."""
    return configs.get(name) or of_broker(name, broker)


def of_broker(name: str, broker: ConsumerConfig) -> str:
    """The broker's value for every group."""
    field = _OF_CONSUMERS.get(name)
    return GROUP_KEYS[name].default if field is None else str(getattr(broker, field))


def consumer_config_of(configs: Mapping[str, str], broker: ConsumerConfig) -> ConsumerConfig:
    """The settings of consumer groups as they hold for one of them.

    As in Kafka, a value that was accepted under other bounds is limited to the present ones.
    """
    return _applied(tuple((name, configs[name]) for name in _OF_CONSUMERS if name in configs), broker)


@lru_cache(_CACHED)
def _applied(configs: tuple[tuple[str, str], ...], broker: ConsumerConfig) -> ConsumerConfig:
    own: dict[str, Any] = {}
    for name, value in configs:
        least, most = bounds_of(name, broker)
        own[_OF_CONSUMERS[name]] = min(max(int(value), least), most)
    session_ms = own.get("session_timeout_ms", broker.session_timeout_ms)
    interval_ms = own.get("heartbeat_interval_ms", broker.heartbeat_interval_ms)
    # New bounds may have made the two equal; no member could keep such a session alive.
    own["heartbeat_interval_ms"] = max(1, min(interval_ms, session_ms - 1))
    return replace(broker, **own)


assert set(_OF_CONSUMERS.values()) <= CONSUMER_KEYS.keys()
