"""Recorded answers beside ours: what is counted, what is shown, and what waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.replay.comparison import Comparison
from request_log.lines.wire import message_of
from request_log.parity import Parity
from request_log.recorded import OrderedRequest, Recorded
from schemas.effect_rows import EffectRow, row_of
from schemas.effects import Reply, RequestDropped
from schemas.errors import Error
from schemas.messages import (
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    Response,
)
from schemas.tables import EFFECTS_FOLDER
from tests.views.story import write_effects

RECORDED: dict[str, tuple[type[Any], int]] = {"Heartbeat": (HeartbeatRequest, 3), "LeaveGroup": (LeaveGroupRequest, 2)}


def row(
    request_id: str, error: Error = Error.NONE, api: str = "Heartbeat", *, is_recorded: bool = True
) -> OrderedRequest:
    kind, version = RECORDED[api]
    envelope = {"request_id": request_id, "api_version": version, "client_id": "c", "client_host": "/h"}
    own = {"group_id": "orders", "member_id": "m"} | ({"generation_id": 1} if kind is HeartbeatRequest else {})
    request: GroupRequest = kind(**envelope, **own, received_at_ms=1)
    response = LeaveGroupResponse(error_code=error) if api == "LeaveGroup" else None
    recorded = Recorded(error, 2, 1.0, 0.0, 0.0, None, message_of(api, version), None, response)
    return OrderedRequest("orders", request, recorded if is_recorded else None)


def reply(request_id: str, response: Response, api: str = "Heartbeat") -> EffectRow:
    told = Reply(
        at_ms=1,
        request_id=request_id,
        api=api,
        api_version=RECORDED[api][1],
        error_code=response.error_code,  # type: ignore[attr-defined]
        member_id="m",
        client_id="c",
        generation_id=1,
        received_at_ms=1,
        response=response,
    )
    return row_of(told, 0)


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    write_effects(tmp_path, {})
    return Comparison(tmp_path / EFFECTS_FOLDER, Parity())


def test_answers_are_equal_different_or_still_to_come(comparison: Comparison, tmp_path: Path) -> None:
    comparison.expect(
        [row("same"), row("other"), row("later", Error.REBALANCE_IN_PROGRESS), row("made up", is_recorded=False)]
    )
    comparison.expect([row("left", api="LeaveGroup"), row("gone", api="LeaveGroup")])
    effects = [
        reply("same", HeartbeatResponse()),
        reply("other", HeartbeatResponse(error_code=Error.UNKNOWN_MEMBER_ID)),
        reply("nobody's", HeartbeatResponse()),
        reply("left", LeaveGroupResponse(), "LeaveGroup"),
        row_of(RequestDropped(at_ms=1, request_id="gone", api="LeaveGroup", member_id="m", why="w"), 1),
    ]
    write_effects(tmp_path, {"orders": effects})
    comparison.compare()
    parity = comparison.parity
    assert (parity.equal, parity.different) == ({"Heartbeat": 1, "LeaveGroup": 1}, {"Heartbeat": 1, "LeaveGroup": 1})
    first, second = parity.first
    assert (first.request_id, first.recorded, first.ours) == (
        "other",
        {"error_code": Error.NONE},
        {"error_code": Error.UNKNOWN_MEMBER_ID},
    )
    assert (second.request_id, second.ours) == ("gone", {"error_code": None})
    assert [waiting.request.request_id for waiting in comparison.unanswered] == ["later"]

    write_effects(tmp_path, {"orders": [reply("later", HeartbeatResponse(error_code=Error.REBALANCE_IN_PROGRESS))]})
    comparison.compare()
    assert parity.equal["Heartbeat"] == 2
    assert comparison.unanswered == []


def test_what_is_never_answered_is_a_difference(comparison: Comparison) -> None:
    comparison.expect([row("beat"), row("leave", api="LeaveGroup")])
    comparison.compare()
    assert comparison.parity.compared == 0
    comparison.close()
    assert comparison.parity.different == {"Heartbeat": 1, "LeaveGroup": 1}
