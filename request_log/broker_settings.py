"""Broker settings that a log gives away, under Kafka's keys, for whoever does not know how the broker was set up.

How long the first member of a new group waits shows the initial delay; who is refused for a full group shows the most
members of one; session timeouts that are taken or refused show their bounds. Only what differs from Kafka's defaults is
told. Knows JoinGroups and their answers; keeps no more than a few numbers and one for each group.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator_udfs.protocol.config import KEYS, GroupConfig
from request_log.recorded import LoggedRequest
from schemas.errors import Error
from schemas.messages import JoinGroupRequest, JoinGroupResponse

LATE_AT_MOST_MS = 80
"""How much longer than the initial delay its members wait."""
FIRST_GENERATION = 1
_IDS_KEPT = 100_000
_DEFAULTS = GroupConfig()


@dataclass(slots=True)
class SettingsSeen:
    """What the JoinGroups of a log show, one after the other; those that are shown twice show nothing else.

    given_out: ids whose members have not joined with them yet. waits_ms: the shortest of a new group's first member.
    most_members, full: by group. taken, refused: session timeouts, ms.
    """

    given_out: dict[str, None] = field(default_factory=dict)
    waits_ms: list[float] = field(default_factory=list)
    most_members: dict[str, int] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)

    def note(self, entry: LoggedRequest) -> None:
        """Looks at one request."""
        request, recorded = entry.request, entry.recorded
        if not isinstance(request, JoinGroupRequest):
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
        members = len(response.members)
        self.most_members[entry.group_id] = max(members, self.most_members.get(entry.group_id, 0))
        is_new = self.given_out.pop(request.member_id, 0) is None
        if is_new and response.generation_id == FIRST_GENERATION and response.leader == request.member_id:
            self.waits_ms.append(entry.recorded.total_ms)
            self.waits_ms = [min(self.waits_ms)]

    def shown(self) -> dict[str, str]:
        """The settings that differ from Kafka's defaults."""
        found = {
            "group_initial_rebalance_delay_ms": self._initial_delay_ms(),
            "group_max_size": max((self.most_members.get(group_id, 0) for group_id in self.full), default=0) or None,
            "group_min_session_timeout_ms": self._least_session_ms(),
            "group_max_session_timeout_ms": self._longest_session_ms(),
        }
        return {
            KEYS[name]: str(value) for name, value in found.items() if value not in (None, getattr(_DEFAULTS, name))
        }

    def _initial_delay_ms(self) -> int | None:
        """The shortest wait, unless it is about one or more of the default's turns."""
        default_ms = _DEFAULTS.group_initial_rebalance_delay_ms
        for wait_ms in self.waits_ms:
            if wait_ms >= default_ms and wait_ms % default_ms <= LATE_AT_MOST_MS:
                return None
            whole_ms = int(wait_ms // 100 * 100)
            return whole_ms if wait_ms - whole_ms <= LATE_AT_MOST_MS else int(wait_ms)
        return None

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
