"""A consumer's settings, under Kafka's own keys, with Kafka's defaults, and the API versions its library speaks.

Knows each setting's bounds and which settings contradict each other; must not know texts, which
`rollcall.programs.settings` reads, a clock or a group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rollcall.schemas.consumer_protocol import HIGHEST_VERSION
from rollcall.schemas.messages import APIS, JoinGroupRequest, OffsetCommitRequestTopic
from rollcall.schemas.wire_fields import first_version, versions_of

INT32_MAX = 2147483647
JOIN_GROUP_TIMEOUT_LAPSE_MS = 5000
"""A JoinGroup is awaited this much longer than the rebalance timeout."""

_COMMIT_BY_NAME = versions_of(OffsetCommitRequestTopic, "name")
STATIC_MEMBERS_SINCE = first_version(JoinGroupRequest, "group_instance_id")


class ConsumerConfigError(ValueError):
    """A setting that cannot be used; the text names the key and the value."""


@dataclass(frozen=True, slots=True)
class ApiVersions:
    """The version of each API that a client library sends; the defaults are the Java client's.

    OffsetCommit ends at v9: v10 names topics by an id that a member does not know.
    """

    join_group: int = 9
    sync_group: int = 5
    heartbeat: int = 4
    leave_group: int = 5
    offset_commit: int = _COMMIT_BY_NAME.last

    def __post_init__(self) -> None:
        for name, api in _API_NAMES.items():
            version, known = getattr(self, name), APIS[api].versions
            last = _COMMIT_BY_NAME.last if api == "OffsetCommit" else known.last
            if not known.first <= version <= last:
                raise ConsumerConfigError(f"api_versions.{name}={version}: {known.first} to {last} are spoken")


_API_NAMES = {
    "join_group": "JoinGroup",
    "sync_group": "SyncGroup",
    "heartbeat": "Heartbeat",
    "leave_group": "LeaveGroup",
    "offset_commit": "OffsetCommit",
}


def _setting(key: str, default: Any, least: int | None = None) -> Any:
    return field(default=default, metadata={"key": key, "least": least})


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """The settings of Kafka's consumer that matter to its group. Times in ms."""

    group_id: str = _setting("group.id", "")
    client_id: str = _setting("client.id", "")
    group_instance_id: str | None = _setting("group.instance.id", None)
    session_timeout_ms: int = _setting("session.timeout.ms", 45_000, 1)
    heartbeat_interval_ms: int = _setting("heartbeat.interval.ms", 3000, 1)
    max_poll_interval_ms: int = _setting("max.poll.interval.ms", 300_000, 1)
    rebalance_timeout_ms: int | None = _setting("rebalance.timeout.ms", None, 1)
    """None means max.poll.interval.ms, as in the Java client; some libraries set it apart."""
    partition_assignment_strategy: tuple[str, ...] = _setting(
        "partition.assignment.strategy", ("range", "cooperative-sticky")
    )
    group_remote_assignor: str | None = _setting("group.remote.assignor", None)
    """Of a group of the newer protocol: whom the member asks to assign; None: the coordinator's first assignor."""
    enable_auto_commit: bool = _setting("enable.auto.commit", True)
    auto_commit_interval_ms: int = _setting("auto.commit.interval.ms", 5000, 0)
    request_timeout_ms: int = _setting("request.timeout.ms", 30_000, 1)
    retry_backoff_ms: int = _setting("retry.backoff.ms", 100, 0)
    retry_backoff_max_ms: int = _setting("retry.backoff.max.ms", 1000, 0)
    leave_group_on_close: bool = _setting("internal.leave.group.on.close", True)
    api_versions: ApiVersions = ApiVersions()
    consumer_protocol_version: int = HIGHEST_VERSION
    """Like `api_versions` a property of the client library, not a setting of Kafka."""

    def __post_init__(self) -> None:
        for each in fields(self):
            _refuse_out_of_range(each.metadata.get("key", each.name), getattr(self, each.name), each.metadata)
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConsumerConfigError(
                f"heartbeat.interval.ms={self.heartbeat_interval_ms}: "
                f"must be below session.timeout.ms={self.session_timeout_ms}"
            )
        names = self.partition_assignment_strategy
        if not names or len(set(names)) < len(names):
            text = ",".join(names)
            raise ConsumerConfigError(f"partition.assignment.strategy={text}: must name at least one, each once")
        if self.group_instance_id is not None and self.api_versions.join_group < STATIC_MEMBERS_SINCE:
            raise ConsumerConfigError(
                f"group.instance.id={self.group_instance_id}: JoinGroup v{self.api_versions.join_group} cannot carry it"
            )
        if self.group_instance_id == "":
            raise ConsumerConfigError("group.instance.id=: must not be empty")
        if not 0 <= self.consumer_protocol_version <= HIGHEST_VERSION:
            raise ConsumerConfigError(
                f"consumer_protocol_version={self.consumer_protocol_version}: is outside 0..{HIGHEST_VERSION}"
            )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def join_rebalance_timeout_ms(self) -> int:
        """How long the coordinator waits for this member in a rebalance."""
        return self.max_poll_interval_ms if self.rebalance_timeout_ms is None else self.rebalance_timeout_ms

    @property
    def join_request_timeout_ms(self) -> int:
        """How long a JoinGroup may stay unanswered. Source: AbstractCoordinator.sendJoinGroupRequest."""
        return max(self.request_timeout_ms, self.join_rebalance_timeout_ms + JOIN_GROUP_TIMEOUT_LAPSE_MS)

    def backoff_ms(self, attempts: int) -> int:
        """How long to wait after this many failures in a row before this one: doubling, without jitter."""
        first = min(self.retry_backoff_ms, self.retry_backoff_max_ms)
        return min(first << min(attempts, 31), self.retry_backoff_max_ms)


def _refuse_out_of_range(key: str, value: Any, limits: Mapping[str, Any]) -> None:
    least = limits.get("least")
    if least is None or value is None:
        return
    if value < least:
        raise ConsumerConfigError(f"{key}={value}: must be at least {least}")
    if value > INT32_MAX:
        raise ConsumerConfigError(f"{key}={value}: must be at most {INT32_MAX}")
