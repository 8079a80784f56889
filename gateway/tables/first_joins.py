"""The first JoinGroup of a new dynamic member (v4+): the id that the coordinator would give it, known before it does.

A client that names no member id is told one and has to come back with it (KIP-394). The id follows from the request
alone, so the gateway tells it at once where the group as of the last commit, and what is under way to it, leave no
other answer.

Knows the order of JoinGroup's checks. Must not know a table or a clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import msgspec

from coordinator_udfs.protocol.answers import refuse_join
from coordinator_udfs.protocol.config import INT32_MAX, GroupConfig
from coordinator_udfs.protocol.join_group import TWO_STEP_JOIN_SINCE, new_member_id
from coordinator_udfs.protocol.states import GroupState
from coordinator_udfs.protocol.turn import Turn
from gateway.tables.membership import Standing
from schemas.effects import Reply
from schemas.errors import Error
from schemas.messages import JoinGroupRequest, Response


def first_answer(
    request: JoinGroupRequest, group: Standing | None, others: Collection[bytes], config: GroupConfig
) -> Response | None:
    """MEMBER_ID_REQUIRED with the new id; None where the coordinator may answer otherwise.

    group: as of the last commit, None: there is none. others: the offers of the JoinGroups to it that are under way.
    """
    if request.api_version < TWO_STEP_JOIN_SINCE or request.member_id or request.group_instance_id is not None:
        return None
    if not request.group_id or not request.protocol_type or not request.protocols:
        return None
    if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
        return None
    is_empty = group is None or group.state == GroupState.EMPTY
    if config.group_max_size < INT32_MAX and (others or not is_empty):
        return None
    if others and set(others) != {offer_of(request)}:
        return None
    if group is not None and not is_empty and not _fits(request, group):
        return None
    member_id = new_member_id(request)
    if group is not None and member_id in group.members:
        return None
    turn = Turn(request.received_at_ms, config)
    refuse_join(request, Error.MEMBER_ID_REQUIRED, turn, member_id=member_id)
    (reply,) = turn.effects
    assert isinstance(reply, Reply)
    return reply.response


def _fits(request: JoinGroupRequest, group: Standing) -> bool:
    """Whether it names the group's type and, among its protocols, the selected one, which all members support."""
    if group.state not in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        return False
    return request.protocol_type == group.protocol_type and group.protocol_name in _names(request)


def offer_of(request: JoinGroupRequest) -> bytes:
    """The type and the names of a JoinGroup's protocols in a few bytes, however long they are: alike or not."""
    offer = msgspec.msgpack.encode([request.protocol_type, *sorted(_names(request))])
    return hashlib.blake2b(offer, digest_size=16).digest()


def _names(request: JoinGroupRequest) -> set[str]:
    return {protocol.name for protocol in request.protocols}
