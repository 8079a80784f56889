"""Broker settings that a log shows, under Kafka's keys, for users who do not know the broker's settings. The wait of a
new group's first member shows the initial delay. A member refused by a full group shows the maximum size. Accepted and
refused session timeouts show their bounds. An Empty group's assignment epoch shows Kafka's version. Only settings that
differ from the defaults are given. And how a user spells settings of single groups:
`groups.orders.consumer.session.timeout.ms=8000` among the broker's.

Knows JoinGroups, ConsumerGroupDescribes and their answers; keeps a few numbers in all, and the latest generation of
each group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rollcall.coordinator_udfs.protocol.config import KEYS, GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState
from rollcall.coordinator_udfs.protocol.group_configs import GROUP_KEYS, SESSION_TIMEOUT, UnfitConfig, value_of
from rollcall.coordinator_udfs.protocol.kafka_versions import DIFFERENCES, KafkaVersion
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import DELAY_LATE_MS
from rollcall.programs.errors import ConfigError
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroup,
    JoinGroupRequest,
    JoinGroupResponse,
)

FIRST_GENERATION = 1
_IDS_KEPT = 100_000
_DEFAULTS = GroupConfig()


@dataclass(slots=True)
class GenerationSeen:
    """Who was seen in one generation of a group."""

    generation_id: int
    members: set[str] = field(default_factory=set)
    """Ids of dynamic members."""
    instances: set[str] = field(default_factory=set)
    """Instance ids of static ones."""


@dataclass(slots=True)
class SettingsSeen:
    """What the JoinGroups of a log show, one after the other. A request that is noted twice changes nothing."""

    given_out: dict[str, None] = field(default_factory=dict)
    """Member ids that were given out and have not joined yet."""
    shortest_wait_ms: float | None = None
    """The shortest wait of a new group's first member."""
    shows_default_delay: bool = False
    """Whether any of these waits was about a multiple of the default delay; then longer waits were late."""
    most_members: dict[str, int] = field(default_factory=dict)
    """The most members that were seen, by group."""
    latest: dict[str, GenerationSeen] = field(default_factory=dict)
    """By group, who was seen in its latest generation."""
    full: set[str] = field(default_factory=set)
    """Groups that refused a member because they were full."""
    taken: set[int] = field(default_factory=set)
    """Session timeouts that were accepted, ms."""
    refused: set[int] = field(default_factory=set)
    """Session timeouts that were refused, ms."""
    kafka_version: KafkaVersion | None = None
    """By a line of API_VERSIONS, or by the first answer that only one version gives, or by what is beside it."""

    def note(self, entry: LoggedRequest) -> None:
        request, recorded = entry.request, entry.recorded
        if isinstance(request, ConsumerGroupDescribeRequest) and self.kafka_version is None:
            assert isinstance(recorded.response, ConsumerGroupDescribeResponse)
            self.kafka_version = next(filter(None, map(_version_of, recorded.response.groups)), None)
        if not isinstance(request, JoinGroupRequest) or request.session_timeout_ms <= 0:
            return
        match recorded.error:
            case Error.MEMBER_ID_REQUIRED:
                self.taken.add(request.session_timeout_ms)
                if len(self.given_out) >= _IDS_KEPT:
                    self.given_out.clear()
                self.given_out[request.recorded_member_id or ""] = None
            case Error.NONE:
                self.taken.add(request.session_timeout_ms)
                self._note_joined(entry, request)
            case Error.GROUP_MAX_SIZE_REACHED:
                self.full.add(entry.group_id)
            case Error.INVALID_SESSION_TIMEOUT:
                self.refused.add(request.session_timeout_ms)
            case _:
                pass

    def _note_joined(self, entry: LoggedRequest, request: JoinGroupRequest) -> None:
        response = entry.recorded.response
        assert isinstance(response, JoinGroupResponse)
        members = max(len(response.members), self._seen_together(entry.group_id, request, response))
        self.most_members[entry.group_id] = max(members, self.most_members.get(entry.group_id, 0))
        is_new = self.given_out.pop(request.member_id, 0) is None
        if is_new and response.generation_id == FIRST_GENERATION and response.leader == request.member_id:
            wait_ms = entry.recorded.total_ms
            self.shortest_wait_ms = wait_ms if self.shortest_wait_ms is None else min(self.shortest_wait_ms, wait_ms)
            self.shows_default_delay |= _shows_default_delay(wait_ms)

    def _seen_together(self, group_id: str, request: JoinGroupRequest, response: JoinGroupResponse) -> int:
        """How many members a generation had at least; its leader may have left no line."""
        seen = self.latest.get(group_id)
        if seen is None or seen.generation_id < response.generation_id:
            seen = self.latest[group_id] = GenerationSeen(response.generation_id)
        if seen.generation_id > response.generation_id:
            return 0
        if request.group_instance_id is not None:
            seen.instances.add(request.group_instance_id)
        else:
            seen.members.add(response.member_id)
        # A static member that came back has another id than the one that the group may still call its leader.
        unseen_leaders = {response.leader} - seen.members if not seen.instances else set()
        return len(seen.members) + len(seen.instances) + len(unseen_leaders)

    def shown(self) -> dict[str, str]:
        """The settings that differ from Kafka's defaults."""
        found = {
            "group_initial_rebalance_delay_ms": self._initial_delay_ms(),
            "group_max_size": max((self.most_members.get(group_id, 0) for group_id in self.full), default=0) or None,
            "group_min_session_timeout_ms": self._least_session_ms(),
            "group_max_session_timeout_ms": self._longest_session_ms(),
            "kafka_version": self.kafka_version,
        }
        return {
            KEYS[name]: str(value) for name, value in found.items() if value not in (None, getattr(_DEFAULTS, name))
        }

    def beside(self, given: Mapping[str, str]) -> dict[str, str]:
        """The settings that a user gives, and those that are shown beside them."""
        return {**self.shown(), **given}

    def _initial_delay_ms(self) -> int | None:
        """The shortest wait; None if the default delay explains it: no wait is shorter, and one shows it."""
        default_ms, wait_ms = _DEFAULTS.group_initial_rebalance_delay_ms, self.shortest_wait_ms
        # An earlier version's state has only the shortest wait, which may be such a multiple itself.
        if wait_ms is None or (self.shows_default_delay and wait_ms >= default_ms) or _shows_default_delay(wait_ms):
            return None
        whole_ms = int(wait_ms // 100 * 100)
        return whole_ms if wait_ms - whole_ms <= DELAY_LATE_MS else int(wait_ms)

    def _least_session_ms(self) -> int | None:
        refused = [ms for ms in self.refused if all(ms < taken for taken in self.taken)]
        bound = max((ms + 1 for ms in refused), default=_DEFAULTS.group_min_session_timeout_ms)
        return min([bound, *self.taken]) if self.taken or refused else None

    def _longest_session_ms(self) -> int | None:
        refused = [ms for ms in self.refused if all(ms > taken for taken in self.taken)]
        if not self.taken:
            return None
        bound = min((ms - 1 for ms in refused), default=_DEFAULTS.group_max_session_timeout_ms)
        return max([bound, *self.taken])


def _version_of(group: DescribedConsumerGroup) -> KafkaVersion | None:
    """The Kafka version that describes a group so; None if several may."""
    if group.group_state != ConsumerGroupState.EMPTY:
        return None
    is_assigned = group.assignment_epoch == group.group_epoch
    fitting = [version for version, of in DIFFERENCES.items() if of.is_empty_group_assigned == is_assigned]
    return fitting[0] if len(fitting) == 1 else None


def _shows_default_delay(wait_ms: float) -> bool:
    """Whether a first member's wait is about a multiple of the default delay."""
    default_ms = _DEFAULTS.group_initial_rebalance_delay_ms
    return wait_ms >= default_ms and wait_ms % default_ms <= DELAY_LATE_MS


PREFIX = "groups."
GroupConfigs = dict[str, dict[str, str]]
"""By group id, what is set only for it, by Kafka's keys."""


def sessions_given(given: Mapping[str, str]) -> dict[str, int]:
    """By group id, how long members of consumer groups may be silent, ms. Raises ConfigError, as split_given."""
    _, of_groups = split_given(given)
    return {group: int(configs[SESSION_TIMEOUT]) for group, configs in of_groups.items() if SESSION_TIMEOUT in configs}


def split_given(given: Mapping[str, str]) -> tuple[dict[str, str], GroupConfigs]:
    """The broker's settings, and what is set for single groups. A group's id may have dots in it.

    Raises ConfigError: a setting of a group that ends with no key, or whose value does not fit.
    """
    broker: dict[str, str] = {}
    of_groups: GroupConfigs = {}
    for name, value in given.items():
        if not name.startswith(PREFIX):
            broker[name] = value
            continue
        rest = name.removeprefix(PREFIX)
        key = next((each for each in GROUP_KEYS if rest.endswith(f".{each}") and rest != f".{each}"), "")
        if not key:
            example = f"{PREFIX}orders.{SESSION_TIMEOUT}"
            raise ConfigError(f"is not of the form groups.GROUP.KEY, as {example}", name, value)
        try:
            of_groups.setdefault(rest.removesuffix(f".{key}"), {})[key] = value_of(key, value)
        except UnfitConfig as unfit:
            raise ConfigError(str(unfit), name, value) from None
    return broker, of_groups
