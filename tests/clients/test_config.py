"""A consumer's settings: Kafka's keys and defaults, and a clear word about what cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.answers.clients.config import ApiVersions, ConsumerConfig, ConsumerConfigError
from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import from_texts


def test_the_defaults_are_kafkas() -> None:
    config = ConsumerConfig()
    assert (config.session_timeout_ms, config.heartbeat_interval_ms, config.max_poll_interval_ms) == (
        45_000,
        3000,
        300_000,
    )
    assert config.partition_assignment_strategy == ("range", "cooperative-sticky")
    assert (config.enable_auto_commit, config.auto_commit_interval_ms) == (True, 5000)
    assert (config.request_timeout_ms, config.retry_backoff_ms, config.retry_backoff_max_ms) == (30_000, 100, 1000)
    assert config.join_rebalance_timeout_ms == 300_000
    assert config.join_request_timeout_ms == 305_000


def test_settings_are_read_by_kafkas_keys() -> None:
    config = from_texts(
        ConsumerConfig,
        {
            "group.id": "orders",
            "group.instance.id": "pod-1",
            "session.timeout.ms": " 10000 ",
            "enable.auto.commit": "False",
            "partition.assignment.strategy": "sticky, range",
            "rebalance.timeout.ms": "60000",
            "internal.leave.group.on.close": "true",
        },
    )
    assert config == ConsumerConfig(
        group_id="orders",
        group_instance_id="pod-1",
        session_timeout_ms=10_000,
        enable_auto_commit=False,
        partition_assignment_strategy=("sticky", "range"),
        rebalance_timeout_ms=60_000,
    )
    assert config.is_static
    assert config.join_rebalance_timeout_ms == 60_000


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"session.timeout": "1"}, "session.timeout: is not a setting; did you mean session.timeout.ms?"),
        ({"session.timeout.ms": "ten"}, "session.timeout.ms=ten: is not a whole number"),
        ({"enable.auto.commit": "yes"}, "enable.auto.commit=yes: is neither true nor false"),
        ({"max.poll.interval.ms": "0"}, "max.poll.interval.ms=0: must be at least 1"),
        ({"max.poll.interval.ms": "2147483648"}, "max.poll.interval.ms=2147483648: must be at most 2147483647"),
        ({"heartbeat.interval.ms": "45000"}, "heartbeat.interval.ms=45000: must be below session.timeout.ms=45000"),
        ({"partition.assignment.strategy": ","}, "partition.assignment.strategy=: must name at least one"),
        (
            {"partition.assignment.strategy": "range,range"},
            "partition.assignment.strategy=range,range: must name at least one, each once",
        ),
        ({"group.instance.id": ""}, "group.instance.id=: must not be empty"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_value(pairs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_texts(ConsumerConfig, pairs)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"join_group": 10}, "api_versions.join_group=10: 0 to 9 are spoken"),
        ({"offset_commit": 10}, "api_versions.offset_commit=10: 2 to 9 are spoken"),
        ({"offset_commit": 1}, "api_versions.offset_commit=1: 2 to 9 are spoken"),
        ({"heartbeat": -1}, "api_versions.heartbeat=-1: 0 to 4 are spoken"),
    ],
)
def test_a_version_that_nobody_speaks_is_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ConsumerConfigError) as refused:
        ApiVersions(**settings)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"group_instance_id": "pod-1", "api_versions": ApiVersions(join_group=4)},
            "group.instance.id=pod-1: JoinGroup v4 cannot carry it",
        ),
        ({"consumer_protocol_version": 4}, "consumer_protocol_version=4: is outside 0..3"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConsumerConfigError) as refused:
        ConsumerConfig(**settings)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("first_ms", "most_ms", "waits"),
    [(100, 1000, [100, 200, 400, 800, 1000, 1000]), (500, 200, [200, 200]), (0, 1000, [0, 0, 0])],
)
def test_a_backoff_doubles_up_to_its_limit(first_ms: int, most_ms: int, waits: list[int]) -> None:
    config = ConsumerConfig(retry_backoff_ms=first_ms, retry_backoff_max_ms=most_ms)
    assert [config.backoff_ms(attempts) for attempts in range(len(waits))] == waits
    assert config.backoff_ms(10_000) == waits[-1]
