"""The settings: Kafka's keys, Kafka's defaults, and an error that names the key and the value."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.config import CONSUMER_KEYS, KEYS, ConsumerConfig, GroupConfig, MigrationPolicy
from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.coordinator_udfs.trace import config_from
from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import from_texts
from tests.protocol.rules import rule


@rule("Settings: Kafka's defaults")
def test_the_defaults_are_kafkas() -> None:
    config = GroupConfig()
    assert {key: getattr(config, name) for name, key in KEYS.items()} == {
        "group.min.session.timeout.ms": 6_000,
        "group.max.session.timeout.ms": 1_800_000,
        "group.initial.rebalance.delay.ms": 3_000,
        "group.max.size": 2_147_483_647,
        "offset.metadata.max.bytes": 4_096,
        "offsets.retention.minutes": 10_080,
        "offsets.retention.check.interval.ms": 600_000,
        "kafka.version": KafkaVersion.V4_4,
        "topics": None,
    }


@rule("Settings: read by Kafka's keys")
def test_settings_are_read_by_their_keys() -> None:
    config = from_texts(GroupConfig, {"group.max.size": " 2 ", "topics": "t1:4, t2:1,"})
    assert (config.group_max_size, config.topics) == (2, {"t1": 4, "t2": 1})


@rule("Settings: without a list of topics every partition exists, with an empty one none does")
def test_which_partitions_exist() -> None:
    assert GroupConfig().has_partition("any", 99)
    assert not GroupConfig().has_partition("any", -1)
    listed = from_texts(GroupConfig, {"topics": "t1:4"})
    assert [listed.has_partition("t1", partition) for partition in (-1, 0, 3, 4)] == [False, True, True, False]
    assert not from_texts(GroupConfig, {"topics": ""}).has_partition("t1", 0)


@rule("Settings: Kafka's defaults of the newer protocol")
def test_the_defaults_of_consumer_groups_are_kafkas() -> None:
    config = ConsumerConfig()
    assert {key: getattr(config, name) for name, key in CONSUMER_KEYS.items()} == {
        "group.consumer.session.timeout.ms": 45_000,
        "group.consumer.heartbeat.interval.ms": 5_000,
        "group.consumer.assignment.interval.ms": 1_000,
        "group.consumer.min.session.timeout.ms": 45_000,
        "group.consumer.max.session.timeout.ms": 60_000,
        "group.consumer.min.heartbeat.interval.ms": 5_000,
        "group.consumer.max.heartbeat.interval.ms": 15_000,
        "group.consumer.min.assignment.interval.ms": 0,
        "group.consumer.max.assignment.interval.ms": 15_000,
        "group.consumer.max.size": 2_147_483_647,
        "group.consumer.assignors": ("uniform", "range"),
        "group.consumer.migration.policy": MigrationPolicy.BIDIRECTIONAL,
        "group.consumer.regex.refresh.interval.ms": 600_000,
    }


@rule("Settings: those of the newer protocol are read beside the others")
def test_settings_of_consumer_groups_are_read() -> None:
    words = ["group.max.size=2", "group.consumer.max.size=3", "group.consumer.assignors=range", "topics=t1:4"]
    config = config_from([*words, "group.consumer.migration.policy=upgrade"])
    assert (config.group_max_size, config.topics) == (2, {"t1": 4})
    assert config.consumer == ConsumerConfig(max_size=3, assignors=("range",), migration_policy=MigrationPolicy.UPGRADE)


@rule("Settings: what cannot be used is named with its value")
@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("group.max.sise=2", "group.max.sise: is not a setting"),
        ("group.max.size=two", "group.max.size=two: is not a whole number"),
        ("group.max.size=0", "group.max.size=0: must be at least 1"),
        ("group.max.size=2147483648", "group.max.size=2147483648: must be at most 2147483647"),
        ("group.min.session.timeout.ms=1800001", "is above group.max.session.timeout.ms=1800000"),
        ("group.initial.rebalance.delay.ms=-1", "group.initial.rebalance.delay.ms=-1: must be at least 0"),
        ("kafka.version=4.2", "kafka.version=4.2: is neither 4.3 nor 4.4"),
        ("topics=t1", "topics=t1: 't1' is not of the form topic:partitions"),
        ("topics=t1:0", "'t1:0' is not of the form"),
        ("topics=:4", "':4' is not of the form"),
        ("group.consumer.max.size=0", "group.consumer.max.size=0: must be at least 1"),
        ("group.consumer.session.timeout.ms=5000", "interval.ms=5000: is not below group.consumer.session.timeout.ms"),
        ("group.consumer.min.session.timeout.ms=60001", "=60001: is above group.consumer.max.session.timeout.ms=60000"),
        ("group.consumer.assignors=sticky", "group.consumer.assignors=sticky: must name some of uniform, range"),
        ("group.consumer.assignors=range,range", "each once"),
        ("group.consumer.migration.policy=maybe", "group.consumer.migration.policy=maybe: is not one of bidirectional"),
        ("group.consumer.regex.refresh.interval.ms=9999", "must be at least 10000"),
        ("group.consumer.maximum=1", "group.consumer.maximum: is not a setting"),
    ],
)
def test_a_bad_setting_is_named(word: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        config_from([word])
    assert says in str(error.value)
