"""Tries a request, a deadline or an observation on a copy of the group: does it fit the recording? A trial fits on two
conditions. Every answer equals the recorded one and was recorded at about that time. A request that is parked was
recorded as one that may have waited. A trial changes nothing; the caller decides whether to adopt it.

Knows the core's entrances and the recorded answers; knows no order of requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.inputs.request_log.parity import difference
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.effects import Effect, Reply, RequestDropped, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import GroupRequest, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest

ANSWERED_EARLIER_MS = 50
"""How long before the model answers a parked request its answer may have been recorded."""
ANSWERED_LATER_MS = 3000
"""How long after."""

SHORT_OF_A_DELAY_MS = 200
"""How much earlier than its deadline an initial delay may end; only an expiry ends it early."""

Parked = Mapping[str, LoggedRequest]

_AFTER_WAITING = frozenset(
    {
        Error.NONE,
        Error.UNKNOWN_MEMBER_ID,
        Error.FENCED_INSTANCE_ID,
        Error.REBALANCE_IN_PROGRESS,
        Error.INCONSISTENT_GROUP_PROTOCOL,
    }
)


@dataclass(slots=True)
class Trial:
    """The outcome of one request or deadline."""

    group: Group
    """The group as it would be."""
    effects: list[Effect]
    at_ms: int
    fits: bool
    """Whether nothing in the recording contradicts it."""

    def answers(self, request_id: str) -> bool:
        """Whether it would have answered a request."""
        return any(isinstance(effect, Reply) and effect.request_id == request_id for effect in self.effects)


def try_request(before: Group, entry: LoggedRequest, at_ms: int, parked: Parked, config: GroupConfig) -> Trial:
    """A recorded request at this time."""
    group = before.copy()
    effects = step(group, entry.request, at_ms, config)
    return Trial(group, effects, at_ms, _fits(group, effects, at_ms, parked, entry))


def try_unlogged(before: Group, request: GroupRequest, at_ms: int, parked: Parked, config: GroupConfig) -> Trial:
    """A request without a line, such as an observation, at this time, after whatever is due by then."""
    group = before.copy()
    effects = expire_due(group, at_ms - 1, config) + step(group, request, at_ms, config)
    return Trial(group, effects, at_ms, _fits(group, effects, at_ms, parked, None))


def try_deadline(before: Group, at_ms: int, parked: Parked, config: GroupConfig) -> Trial:
    """Every deadline up to this time."""
    group = before.copy()
    effects = expire_due(group, at_ms, config)
    return Trial(group, effects, at_ms, _fits(group, effects, at_ms, parked, None))


def _fits(group: Group, effects: list[Effect], at_ms: int, parked: Parked, entry: LoggedRequest | None) -> bool:
    for effect in effects:
        if not isinstance(effect, Reply | RequestDropped | RequestParked):
            continue
        match effect:
            case Reply():
                answered = entry if entry is not None and entry.request.request_id == effect.request_id else None
                waiting = answered or parked.get(effect.request_id)
                if waiting is None:
                    continue
                recorded = waiting.recorded
                if difference(waiting.request, waiting.group_id, recorded, effect.response) is not None:
                    return False
                lag_ms = recorded.answered_at_ms - at_ms
                if answered is None and not -ANSWERED_EARLIER_MS <= lag_ms <= ANSWERED_LATER_MS:
                    return False
            case RequestDropped():
                if effect.request_id in parked:
                    return False
            case RequestParked():
                if entry is not None and not _may_wait(group, entry):
                    return False
            case _:
                assert_never(effect)
    return True


def _may_wait(group: Group, entry: LoggedRequest) -> bool:
    """Whether a request may get its recorded answer in the end if it is parked now."""
    recorded = entry.recorded
    if recorded.error not in _AFTER_WAITING:
        return False
    request = entry.request
    match request:
        case JoinGroupRequest() if recorded.error is Error.NONE and group.state is GroupState.PREPARING_REBALANCE:
            response = recorded.response
            assert isinstance(response, JoinGroupResponse)
            is_initial = group.initial_delay_left_ms is not None and group.join_deadline_ms is not None
            earliest_ms = (group.join_deadline_ms or 0) - SHORT_OF_A_DELAY_MS if is_initial else 0
            return response.generation_id == group.generation_id + 1 and recorded.answered_at_ms >= earliest_ms
        case JoinGroupRequest() if recorded.error is Error.REBALANCE_IN_PROGRESS:
            return False
        case JoinGroupRequest() | SyncGroupRequest():
            return True
        case _:
            return False


def waits_in_vain(entry: LoggedRequest, trial: Trial) -> bool:
    """Whether it is a SyncGroup that was answered REBALANCE_IN_PROGRESS, and by this trial would wait for that."""
    is_vain = isinstance(entry.request, SyncGroupRequest) and entry.recorded.error is Error.REBALANCE_IN_PROGRESS
    return is_vain and not trial.answers(entry.request.request_id)


def has_changed(before: Group, after: Group) -> bool:
    """Whether other requests would be answered differently now."""
    return (
        before.state is not after.state
        or before.generation_id != after.generation_id
        or not before.members.keys() <= after.members.keys()
    )
