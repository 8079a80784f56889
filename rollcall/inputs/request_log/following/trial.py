"""What a request, a deadline or an observation leads to on a copy of the group, and whether that fits the recording. A
trial fits on two conditions. Every answer equals the recorded one and was recorded at about that time. A request that
is parked was recorded as one that may have waited. A trial changes nothing; the caller decides whether to adopt it.

Knows effects and the recorded answers; knows no order of requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.parity import difference
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import ANSWERED_EARLIER_MS, ANSWERED_LATER_MS, SHORT_OF_A_DELAY_MS
from rollcall.schemas.effects import Effect, Reply, RequestDropped, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import JoinGroupRequest, SyncGroupRequest

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

    def has_changed(self, before: Group) -> bool:
        """Whether other requests would be answered differently after it."""
        after = self.group
        return (
            before.state is not after.state
            or before.generation_id != after.generation_id
            or not before.members.keys() <= after.members.keys()
        )


def fits(group: Group, effects: list[Effect], at_ms: int, parked: Parked, entry: LoggedRequest | None = None) -> bool:
    """Whether nothing in the recording contradicts these effects. entry: the request that was tried."""
    for effect in effects:
        match effect:
            case Reply():
                answered = entry if entry is not None and entry.request.request_id == effect.request_id else None
                waiting = answered or parked.get(effect.request_id)
                is_fit = waiting is None or _is_answer_to(waiting, effect, None if answered else at_ms)
            case RequestDropped():
                is_fit = effect.request_id not in parked
            case RequestParked():
                is_fit = entry is None or _may_wait(group, entry)
            case _:
                is_fit = True
        if not is_fit:
            return False
    return True


def _is_answer_to(waiting: LoggedRequest, reply: Reply, at_ms: int | None) -> bool:
    """Whether it equals the recorded answer; at_ms: and whether that was given at about this time."""
    recorded = waiting.recorded
    return difference(waiting.request, waiting.group_id, recorded, reply.response) is None and (
        at_ms is None or -ANSWERED_EARLIER_MS <= recorded.answered_at_ms - at_ms <= ANSWERED_LATER_MS
    )


def _may_wait(group: Group, entry: LoggedRequest) -> bool:
    """Whether a request may get its recorded answer in the end if it is parked now."""
    error, is_join = entry.recorded.error, isinstance(entry.request, JoinGroupRequest)
    if is_join and error is Error.NONE and group.state is GroupState.PREPARING_REBALANCE:
        is_initial = group.initial_delay_left_ms is not None and group.join_deadline_ms is not None
        earliest_ms = (group.join_deadline_ms or 0) - SHORT_OF_A_DELAY_MS if is_initial else 0
        is_next = entry.joined_generation_id == group.generation_id + 1
        may_wait = is_next and entry.recorded.answered_at_ms >= earliest_ms
    elif is_join:
        may_wait = error is not Error.REBALANCE_IN_PROGRESS
    else:
        may_wait = isinstance(entry.request, SyncGroupRequest)
    return may_wait and error in _AFTER_WAITING
