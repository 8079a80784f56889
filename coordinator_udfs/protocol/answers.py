"""Replies: an answer in the shape its version wants, sent at once or to a request that was parked.

Knows what a version changes in an answer; knows no state of a group.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import Member, ParkedJoin, ParkedSync
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.effects import Reply, RequestDropped, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)

NULL_PROTOCOL_NAME_SINCE = 7


def answer(
    request: Request,
    api: str,
    error: Error,
    response: Response,
    turn: Turn,
    member_id: str = "",
    generation_id: int = -1,
) -> None:
    """Answers a request at once."""
    turn.effects.append(
        Reply(
            at_ms=turn.now_ms,
            request_id=request.request_id,
            api=api,
            api_version=request.api_version,
            error_code=error,
            member_id=member_id,
            client_id=request.client_id,
            generation_id=generation_id,
            received_at_ms=turn.now_ms,
            response=response,
        )
    )


def refuse_join(request: JoinGroupRequest, error: Error, turn: Turn, *, member_id: str) -> None:
    """Answers a JoinGroup with an error."""
    send_join(request, request.client_id, join_refusal(request, error, member_id), turn)


def join_refusal(request: JoinGroupRequest, error: Error, member_id: str) -> JoinGroupResponse:
    """The answer to a JoinGroup that is refused: without generation, protocol and leader."""
    return JoinGroupResponse(
        error_code=error, member_id=member_id, protocol_name=_missing_protocol_name(request.api_version)
    )


def _missing_protocol_name(api_version: int) -> str | None:
    """Up to v6 a missing protocol name is an empty text, from v7 an empty one is null."""
    return None if api_version >= NULL_PROTOCOL_NAME_SINCE else ""


def send_join(to: JoinGroupRequest | ParkedJoin, client_id: str, response: JoinGroupResponse, turn: Turn) -> None:
    """Answers a JoinGroup."""
    response.protocol_name = response.protocol_name or _missing_protocol_name(to.api_version)
    member_id = response.member_id or (to.member_id if isinstance(to, JoinGroupRequest) else "")
    _send(to, "JoinGroup", member_id, client_id, response.generation_id, response, turn)


def send_sync(
    to: SyncGroupRequest | ParkedSync,
    member_id: str,
    client_id: str,
    generation_id: int,
    response: SyncGroupResponse,
    turn: Turn,
) -> None:
    """Answers a SyncGroup."""
    _send(to, "SyncGroup", member_id, client_id, generation_id, response, turn)


def _send(
    to: Request | ParkedJoin | ParkedSync,
    api: str,
    member_id: str,
    client_id: str,
    generation_id: int,
    response: JoinGroupResponse | SyncGroupResponse,
    turn: Turn,
) -> None:
    turn.emit(
        Reply(
            at_ms=turn.now_ms,
            request_id=to.request_id,
            api=api,
            api_version=to.api_version,
            error_code=response.error_code,
            member_id=member_id,
            client_id=client_id,
            generation_id=generation_id,
            received_at_ms=turn.now_ms if isinstance(to, Request) else to.received_at_ms,
            response=response,
        )
    )


def current_generation(group: Group, member: Member) -> JoinGroupResponse:
    """The answer to a member of the current generation; only the leader gets the members."""
    is_leader = group.leader_id == member.member_id
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=current_members(group) if is_leader else [],
    )


def current_members(group: Group) -> list[JoinGroupResponseMember]:
    """All members with their metadata for the selected protocol, absent static ones too."""
    name = group.protocol_name or ""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.protocols.get(name, b""),
        )
        for member in group.members.values()
    ]


def refuse_sync(request: SyncGroupRequest, error: Error, turn: Turn) -> None:
    """Answers a SyncGroup with an error."""
    response = SyncGroupResponse(error_code=error)
    send_sync(request, request.member_id, request.client_id, request.generation_id, response, turn)


def refuse_parked(group: Group, member: Member, error: Error, turn: Turn) -> bool:
    """Answers what a member has parked with an error; whether there was anything."""
    join, sync = group.take_parked_join(member), member.parked_sync
    member.parked_sync = None
    if join is not None:
        send_join(join, member.client_id, JoinGroupResponse(error_code=error, member_id=member.member_id), turn)
    if sync is not None:
        response = SyncGroupResponse(error_code=error)
        send_sync(sync, member.member_id, member.client_id, group.generation_id, response, turn)
    return join is not None or sync is not None


def park_join(group: Group, member: Member, request: JoinGroupRequest, turn: Turn) -> None:
    """Parks a JoinGroup; an earlier one of the same member that is still parked is never answered."""
    parked = ParkedJoin(request.request_id, request.api_version, turn.now_ms, request.recorded_leader_id)
    replaced = group.park_join(member, parked)
    if replaced is not None:
        drop(replaced, "JoinGroup", member.member_id, "replaced by a later JoinGroup of the same member", turn)
    _parked(request, "JoinGroup", member.member_id, group.generation_id, turn)


def park_sync(group: Group, member: Member, request: SyncGroupRequest, turn: Turn) -> None:
    """Parks a SyncGroup; an earlier one of the same member that is still parked is never answered."""
    if member.parked_sync is not None:
        drop(
            member.parked_sync, "SyncGroup", member.member_id, "replaced by a later SyncGroup of the same member", turn
        )
    member.parked_sync = ParkedSync(request.request_id, request.api_version, turn.now_ms)
    _parked(request, "SyncGroup", member.member_id, group.generation_id, turn)


def drop_parked(group: Group, member: Member, why: str, turn: Turn) -> None:
    """Records that what a member has parked will never be answered."""
    join, sync = group.take_parked_join(member), member.parked_sync
    member.parked_sync = None
    for parked, api in ((join, "JoinGroup"), (sync, "SyncGroup")):
        if parked is not None:
            drop(parked, api, member.member_id, why, turn)


def drop(parked: ParkedJoin | ParkedSync, api: str, member_id: str, why: str, turn: Turn) -> None:
    """Records that a parked request will never be answered, as in Kafka."""
    turn.emit(RequestDropped(at_ms=turn.now_ms, request_id=parked.request_id, api=api, member_id=member_id, why=why))


def _parked(request: Request, api: str, member_id: str, generation_id: int, turn: Turn) -> None:
    turn.emit(
        RequestParked(
            at_ms=turn.now_ms, request_id=request.request_id, api=api, member_id=member_id, generation_id=generation_id
        )
    )
