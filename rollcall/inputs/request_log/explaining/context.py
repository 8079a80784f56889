"""The evidence for an explanation: a followed group, a request's recorded answer, and its next requests. Finds what
these show of a group: the members of each generation, who is yet to join, and members' fields. Knows the messages;
infers nothing from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.join_group import TWO_STEP_JOIN_SINCE
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.causes import EndCause
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    API_OF,
    APIS,
    GoneMember,
    GroupObservedRequest,
    GroupRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    ObservedMember,
    SyncGroupResponse,
)

LEAST_SILENCE_MS = 6000
"""The shortest session that a broker allows by default: a member that was silent for less did not expire."""
NEWEST_JOIN = APIS["JoinGroup"].versions.last
ACCEPTED = (Error.NONE, Error.REBALANCE_IN_PROGRESS)

Explanation = list[GroupRequest]


class Context(NamedTuple):
    """The evidence for an explanation."""

    group: Group
    """The group as the model has it."""
    entry: LoggedRequest
    """The request whose answer is to be explained."""
    upcoming: list[LoggedRequest]
    """Later requests of the group that are read already."""
    parked: Mapping[str, LoggedRequest]
    """The requests that wait for an answer, by id."""
    offered: Mapping[str, JoinGroupRequest]
    """Newcomers' first JoinGroups, by the id that each was given for the second one."""

    def seen(self, why: str, **facts: object) -> GroupObservedRequest:
        """An observation to add before this entry."""
        by = self.entry.request
        return GroupObservedRequest(
            request_id=by.request_id,
            api_version=0,
            received_at_ms=by.received_at_ms,
            group_id=self.group.group_id,
            why=why,
            **facts,  # type: ignore[arg-type]
        )

    @property
    def later(self) -> tuple[LoggedRequest, ...]:
        """The request and those after it."""
        return (self.entry, *self.upcoming)

    @property
    def at_hand(self) -> tuple[LoggedRequest, ...]:
        """The request, those that wait for an answer, and those after it."""
        return (self.entry, *self.parked.values(), *self.upcoming)

    def seen_gone(self, why: str, *member_ids: str) -> GroupObservedRequest:
        """An observation that these members are gone: expired, as far as their silence allows it."""
        return self.seen(why, gone=[gone_member(one, is_expiry=self._may_have_expired(one)) for one in member_ids])

    def _may_have_expired(self, member_id: str) -> bool:
        member = self.group.members.get(member_id)
        return member is not None and self.entry.began_ms - member.last_seen_at_ms >= LEAST_SILENCE_MS

    def members_of(self, generation_id: int) -> list[ObservedMember]:
        """All who are seen to be members of this generation, by this request or by those read already. Up to the first
        unknown client that joins, which may be a static member under a new id.
        """
        members: dict[str, ObservedMember] = {}
        for entry in self.later:
            request, response, error = entry.request, entry.recorded.response, entry.recorded.error
            if isinstance(request, JoinGroupRequest) and not request.member_id and error is Error.NONE:
                break
            if generation_named(request) != generation_id or error not in ACCEPTED:
                continue
            known = members.setdefault(entry.member_id, sender_of(request))
            if isinstance(response, SyncGroupResponse) and error is Error.NONE:
                known.assignment = response.assignment
        return list(members.values())

    @property
    def types(self) -> dict[str, str | None]:
        """Protocol type and name, as far as any request or answer at hand shows them."""
        protocol_type, name = self.group.protocol_type, self.group.protocol_name
        for entry in self.later:
            request, response = entry.request, entry.recorded.response
            if isinstance(request, JoinGroupRequest):
                protocol_type = protocol_type or request.protocol_type
            if isinstance(response, SyncGroupResponse):
                protocol_type, name = protocol_type or response.protocol_type, name or response.protocol_name
        return {"protocol_type": protocol_type, "protocol_name": name}

    def generation(self, generation_id: int) -> list[JoinGroupResponseMember] | None:
        """The members of a generation by its leader's answer; None if that is not at hand."""
        return next((one.members for one in self.joined(generation_id) if one.members), None)

    @property
    def next_generation(self) -> list[JoinGroupResponseMember] | None:
        """The members of the next one."""
        return self.generation(self.group.generation_id + 1)

    def joined(self, generation_id: int) -> Iterator[JoinGroupResponse]:
        """The answers to its members' JoinGroups."""
        for entry in self.at_hand:
            response = entry.recorded.response
            if isinstance(response, JoinGroupResponse) and response.generation_id == generation_id:
                yield response

    def is_joining(self, member_id: str) -> bool:
        """Whether a JoinGroup of this member is at hand."""
        return any(
            isinstance(entry.request, JoinGroupRequest)
            and member_id in (entry.request.member_id, entry.request.recorded_member_id)
            for entry in self.at_hand
        )

    def is_named(self, member_id: str | None) -> bool:
        """Whether a later request has this member id."""
        return any(entry.member_id == member_id for entry in self.upcoming)

    def newcomer_without_line(self) -> JoinGroupResponseMember | None:
        """A client that got an id by this request and is in the next generation, but has no line of its JoinGroup."""
        request = self.entry.request
        member_id = request.recorded_member_id if isinstance(request, JoinGroupRequest) else None
        others = () if self.is_named(member_id) else (*self.parked.values(), *self.upcoming)
        joined = next((one for one in others if one.joined_generation_id >= 0), None)
        if joined is None:
            return None
        response = joined.recorded.response
        assert isinstance(response, JoinGroupResponse)
        if response.leader == member_id:
            return JoinGroupResponseMember(member_id=response.leader, metadata=b"")
        listed = self.generation(response.generation_id) or ()
        return next((member for member in listed if member.member_id == member_id), None)

    def unlogged_join(self, member_id: str, listed: JoinGroupResponseMember | None = None) -> JoinGroupRequest | None:
        """The JoinGroup of a member that no line shows: its client died before the answer. listed: the leader's answer
        lists it so. Its fields are those of its first JoinGroup or an earlier one, or another member's.
        """
        group, instance_id = self.group, None if listed is None else listed.group_instance_id
        offered, member = self.offered.get(member_id), group.members.get(member_id)
        candidates = (member, *group.members.values()) if member is not None else tuple(group.members.values())
        alike = next((m for m in candidates if m.has_known_timeouts), None)
        if offered is None and alike is None:
            return None
        is_known = member is not None or member_id in group.pending
        name = group.protocol_name or ""
        if offered is not None:
            protocols = {protocol.name: protocol.metadata for protocol in offered.protocols}
        else:
            assert alike is not None
            protocols = {**(alike.protocols or {name: b""})}
            if name in protocols and listed is not None and listed.metadata:
                protocols[name] = listed.metadata
        source = offered or member
        timeouts = offered or alike
        assert timeouts is not None
        return JoinGroupRequest(
            request_id=f"{self.entry.request.request_id}+{member_id}",
            api_version=NEWEST_JOIN if is_known or instance_id is not None else TWO_STEP_JOIN_SINCE - 1,
            client_id=source.client_id if source is not None else member_id[:-37],
            client_host=source.client_host if source is not None else "",
            received_at_ms=self.entry.request.received_at_ms,
            group_id=group.group_id,
            session_timeout_ms=timeouts.session_timeout_ms,
            rebalance_timeout_ms=timeouts.rebalance_timeout_ms,
            member_id=member_id if is_known else "",
            group_instance_id=instance_id,
            protocol_type=group.protocol_type or (offered.protocol_type if offered is not None else ""),
            protocols=[JoinGroupProtocol(name=n, metadata=m) for n, m in protocols.items()],
            recorded_member_id=None if is_known else member_id,
            inferred_cause=None if member is not None else "member_joined",
        )


def gone_member(member_id: str, *, is_expiry: bool) -> GoneMember:
    """A member that went without a request: its session expired, or the cause is unknown."""
    cause = EndCause.SESSION_EXPIRED if is_expiry else EndCause.UNKNOWN
    return GoneMember(member_id=member_id, end_cause=cause.value)


def unseen_id(group_instance_id: str) -> str:
    """A placeholder for the id of a static member that the log never names."""
    return f"{group_instance_id}-unseen"


def with_protocols(group: Group, protocols: list[JoinGroupProtocol]) -> list[ObservedMember]:
    """Members with unknown protocols, given those that a newcomer is accepted with."""
    empty = [JoinGroupProtocol(name=protocol.name, metadata=b"") for protocol in protocols]
    return [
        ObservedMember(member_id=member.member_id, protocols=empty)
        for member in group.members.values()
        if not member.has_known_timeouts
    ]


def generation_named(request: GroupRequest) -> int | None:
    """The generation that a request names; None for a request of an API that names none."""
    field = API_OF[type(request)].generation
    return getattr(request, field) if field else None


def sender_of(
    request: GroupRequest, member_id: str | None = None, group_instance_id: str | None = None
) -> ObservedMember:
    """The member that sends a request, under its own ids or others."""
    return ObservedMember(
        member_id=getattr(request, "member_id", "") if member_id is None else member_id,
        group_instance_id=group_instance_id or getattr(request, "group_instance_id", None),
        client_id=request.client_id,
        client_host=request.client_host,
    )
