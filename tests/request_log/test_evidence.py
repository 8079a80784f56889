"""What is reported as certain has its evidence: for each kind of rebalance what in the recording proves it.

Over every capture and incident that the tests have, of classic and of consumer groups: a row of `rebalances` whose
is_inferred is false stands on a request of the culprit, or, where nobody asked for it, on an answer that shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import pytest

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN, LEAVE
from rollcall.inputs.request_log.recorded import OrderedRequest
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import RebalanceStarted
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
)
from tests.derived import WHAT_IS_PROVEN
from tests.request_log.imported import Imported
from tests.request_log.recordings import INCIDENTS, capture, incident
from tests.request_log.truth import BOTH_PROTOCOLS
from tests.request_log.truth import NAMES as CLASSIC
from tests.shares import HEAD

INCIDENT_NAMES = sorted(path.name.partition(".")[0] for path in INCIDENTS.glob("*.log.gz"))
LOGS = [*((capture, name) for name in (*CLASSIC, *BOTH_PROTOCOLS)), *((incident, name) for name in INCIDENT_NAMES)]
NEAR_MS = 50


class Row(NamedTuple):
    """A rebalance that is reported as certain, and the recorded requests of its group in order of time."""

    started: RebalanceStarted
    requests: list[OrderedRequest]

    def now(self) -> Iterator[OrderedRequest]:
        """The requests of about the moment when it began."""
        return (each for each in self.requests if abs(each.request.received_at_ms - self.started.at_ms) <= NEAR_MS)

    def later(self) -> Iterator[OrderedRequest]:
        return (each for each in self.requests if each.request.received_at_ms >= self.started.at_ms)


def is_accepted(each: OrderedRequest) -> bool:
    return each.recorded is not None and each.recorded.error in (Error.NONE, Error.REBALANCE_IN_PROGRESS)


def asks_as_culprit(row: Row, *kinds: type) -> bool:
    """The culprit, by its member id or instance id, sent such a request then, which was not refused."""
    cause = row.started.cause
    for each in row.now():
        request = each.request
        # A JoinGroup that waited was taken, also where its sender was removed meanwhile.
        has_waited = each.recorded is not None and each.recorded.remote_ms > NEAR_MS
        if not isinstance(request, kinds) or not (is_accepted(each) or has_waited):
            continue
        reported = getattr(each.recorded.response if each.recorded else None, "member_id", None)
        ids = {getattr(request, "member_id", None), getattr(request, "recorded_member_id", None), reported}
        ids |= {member.member_id for member in getattr(request, "members", ())}
        instances = {getattr(request, "group_instance_id", None), getattr(request, "instance_id", None)}
        instances |= {member.group_instance_id for member in getattr(request, "members", ())}
        if cause.member_id in ids or (cause.group_instance_id is not None and cause.group_instance_id in instances):
            return True
    return False


def has_joined(row: Row) -> bool:
    return asks_as_culprit(row, JoinGroupRequest, ConsumerGroupHeartbeatRequest)


def has_left(row: Row) -> bool:
    beats = [each.request for each in row.now() if isinstance(each.request, ConsumerGroupHeartbeatRequest)]
    leaves = any(beat.member_id == row.started.cause.member_id and beat.member_epoch == LEAVE for beat in beats)
    return leaves or asks_as_culprit(row, LeaveGroupRequest)


def is_shown_by_an_answer(row: Row) -> bool:
    """An answer to somebody shows that the group was no longer in the generation or epoch that it left."""
    from_id = row.started.from_generation_id
    for each in row.later():
        request = each.request
        if not is_accepted(each) or each.recorded is None:
            continue
        match request, each.recorded.response:
            case HeartbeatRequest(), _ if each.recorded.error is Error.REBALANCE_IN_PROGRESS:
                return True
            case JoinGroupRequest(), JoinGroupResponse(generation_id=reported) if reported > from_id:
                return True
            case ConsumerGroupHeartbeatRequest(member_epoch=epoch), ConsumerGroupHeartbeatResponse(
                member_epoch=reported
            ):
                if reported - (epoch == JOIN) > from_id:
                    return True
            case _:
                pass
    return False


def has_seen_topics(row: Row) -> bool:
    """Of a classic group a member joined again for it; of a consumer group an answer shows another epoch."""
    return has_joined(row) or is_shown_by_an_answer(row)


EVIDENCE: dict[str, Callable[[Row], bool]] = {
    CauseKind.MEMBER_JOINED: has_joined,
    CauseKind.MEMBER_REJOINED: has_joined,
    CauseKind.COOPERATIVE_FOLLOWUP: has_joined,
    CauseKind.STATIC_MEMBER_REPLACED: has_joined,
    CauseKind.SUBSCRIPTION_CHANGED: has_joined,
    CauseKind.MEMBER_LEFT: has_left,
    CauseKind.POLL_TIMEOUT: has_left,
    CauseKind.ADMIN_REMOVED: lambda row: any(isinstance(each.request, LeaveGroupRequest) for each in row.now()),
    CauseKind.SESSION_EXPIRED: is_shown_by_an_answer,
    CauseKind.SYNC_TIMEOUT: is_shown_by_an_answer,
    CauseKind.REBALANCE_TIMEOUT: is_shown_by_an_answer,
    CauseKind.METADATA_CHANGED: has_seen_topics,
    CauseKind.PATTERN_RESOLVED: is_shown_by_an_answer,
}
"""What proves each kind. A coordinator that changed and a cause that is not known are never certain."""


@cache
def rows(source: Callable[[str], Imported], name: str) -> list[tuple[str, Row]]:
    found = source(name)
    by_group: dict[str, list[OrderedRequest]] = {}
    for each in found.rows:
        if each.recorded is not None:
            by_group.setdefault(each.group_id, []).append(each)
    return [
        (group_id, Row(effect, by_group.get(group_id, [])))
        for group_id, effect in found.effects
        if isinstance(effect, RebalanceStarted) and not effect.cause.is_inferred
    ]


@pytest.mark.parametrize(("source", "name"), LOGS, ids=[name for _, name in LOGS])
def test_every_rebalance_that_is_reported_as_certain_has_its_evidence(
    source: Callable[[str], Imported], name: str
) -> None:
    unproven = [
        (group_id, row.started)
        for group_id, row in rows(source, name)
        if row.started.cause.kind not in EVIDENCE or not EVIDENCE[row.started.cause.kind](row)
    ]
    assert unproven == []


def test_the_logs_have_rows_of_nearly_every_kind() -> None:
    seen = {str(row.started.cause.kind) for source, name in LOGS for _, row in rows(source, name)}
    rare = {CauseKind.ADMIN_REMOVED, CauseKind.MEMBER_REJOINED, CauseKind.PATTERN_RESOLVED}
    assert seen >= set(EVIDENCE) - rare


# ---------------------------------------------------------------- nothing wrong is certain

MOST_WRONG = 0.02
ROW = re.compile(
    r"^\| (?:request log|topic) \| [^|]+ \| (?P<cases>\d+) \| \d+ \([^|]+\) \| (?P<open>\d+) \([^|]+\) "
    r"\| (?P<wrong>\d+) \| (?P<certain>\d+) \|$",
    re.MULTILINE,
)


def test_nothing_wrong_is_reported_as_certain_and_little_at_all() -> None:
    table = WHAT_IS_PROVEN.read_text().partition(HEAD)[2].partition("\n\n")[0]
    rows = list(ROW.finditer(table))
    assert len(rows) == len(table.splitlines()) > 0
    for row in rows:
        cases, still_open, wrong, certain = (int(row[name]) for name in ("cases", "open", "wrong", "certain"))
        assert certain == 0, row[0]
        assert wrong <= MOST_WRONG * (cases - still_open), row[0]
