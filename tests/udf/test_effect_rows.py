"""Effects as rows: every kind has one, its columns are the table's, and its detail says what the columns do not."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.state_codec import StateRow
from rollcall.schemas.causes import Cause, CauseKind, EndCause
from rollcall.schemas.effect_rows import LINE, EffectRow, detail_of_response, row_of, texts_of
from rollcall.schemas.effects import AnyEffect, GroupCreated, MemberRemoved, RebalanceStarted, Reply, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import HeartbeatResponse, JoinGroupResponse, LeaveGroupResponse
from rollcall.schemas.tables import EFFECTS, STATE
from tests.written_effects import effect

KINDS: tuple[type, ...] = get_args(AnyEffect)


def test_a_rows_columns_are_the_tables_but_for_its_day() -> None:
    assert {*EffectRow.__struct_fields__, "at_date"} == set(EFFECTS.names)
    assert LINE.names == EFFECTS.names[:-1]


def test_a_state_rows_columns_are_the_state_schemas() -> None:
    assert list(StateRow._fields) == STATE.names


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_effect_becomes_a_row_by_its_name(kind: type) -> None:
    fields = {f.name: _some(f.type) for f in msgspec.structs.fields(kind) if f.required}
    row = row_of(kind(**fields), 3)
    assert (row.effect, row.seq, row.at_ms) == (kind.__struct_config__.tag, 3, 1)  # type: ignore[attr-defined]


def _some(hint: Any) -> Any:
    """A value of a field's type."""
    known: dict[Any, Any] = {
        int: 1,
        str: "x",
        bytes: b"",
        bool: True,
        Cause: Cause(kind=CauseKind.MEMBER_LEFT),
        EndCause: EndCause.MEMBER_LEFT,
        GroupState: GroupState.STABLE,
        Error: Error.NONE,
    }
    if hint in known:
        return known[hint]
    if getattr(hint, "__name__", "") == "Response":
        return HeartbeatResponse()
    return None if type(None) in get_args(hint) else []


def reply(response: Any, version: int = 4) -> Reply:
    return Reply(
        at_ms=9,
        request_id="r",
        api="Heartbeat",
        api_version=version,
        error_code=Error.NONE,
        member_id="m",
        client_id="c",
        generation_id=2,
        received_at_ms=7,
        response=response,
    )


def test_a_heartbeats_reply_is_known_by_its_columns_alone() -> None:
    row = row_of(reply(HeartbeatResponse()), 0)
    assert row == EffectRow(0, "reply", 9, "r", "Heartbeat", 4, "NONE", 7, 2, "m", "c")


@pytest.mark.parametrize(
    ("response", "version", "detail"),
    [
        (HeartbeatResponse(), 0, None),
        (LeaveGroupResponse(), 2, None),
        (LeaveGroupResponse(), 3, {"throttle_time_ms": 0, "error_code": "NONE", "members": []}),
        (
            JoinGroupResponse(error_code=Error.MEMBER_ID_REQUIRED, member_id="m", protocol_name=""),
            1,
            {
                "error_code": "MEMBER_ID_REQUIRED",
                "generation_id": -1,
                "protocol_name": "",
                "leader": "",
                "member_id": "m",
                "members": [],
            },
        ),
    ],
)
def test_a_replys_detail_is_what_its_version_carries(response: Any, version: int, detail: Any) -> None:
    text = detail_of_response(response, version)
    assert text is None if detail is None else json.loads(text or "") == {"response": detail}


def test_what_columns_say_is_not_said_again() -> None:
    parked = RequestParked(at_ms=1, request_id="r", api="JoinGroup", member_id="m", generation_id=4)
    assert row_of(parked, 0) == EffectRow(
        0, "request_parked", 1, request_id="r", api="JoinGroup", generation_id=4, member_id="m"
    )
    assert row_of(GroupCreated(at_ms=1), 0).detail is None


def test_a_cause_stands_in_its_column_and_whole_in_the_detail() -> None:
    cause = Cause(kind=CauseKind.SESSION_EXPIRED, member_id="m", client_id="c")
    started = effect(RebalanceStarted, 1, from_generation_id=4, cause=cause)
    row = row_of(started, 0)
    assert (row.cause, row.generation_id, row.member_id) == ("session_expired", 4, None)
    assert json.loads(row.detail or "")["cause"]["client_id"] == "c"
    gone = effect(MemberRemoved, 1, member_id="m", end_cause=EndCause.SYNC_TIMEOUT)
    assert row_of(gone, 0).cause == "sync_timeout"


def test_a_groups_rows_are_split_into_texts_of_bounded_length() -> None:
    rows = [EffectRow(n, "reply", 1) for n in range(12_001)]
    texts = texts_of("orders", rows)
    lines = [[json.loads(line) for line in text.split("\n")[:-1]] for text in texts]
    assert [len(each) for each in lines] == [5000, 5000, 2001]
    assert {row["group_id"] for each in lines for row in each} == {"orders"}
    assert all(text.endswith("\n") for text in texts)
    assert texts_of("orders", []) == []


def test_spark_reads_the_columns_in_their_types() -> None:
    assert LINE.ddl.startswith("group_id string, seq long, effect string, at_ms long")
