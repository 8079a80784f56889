"""How much room a group has for its members and its offsets: every turn of a group reads and writes all of them.

Kafka has no such limits, but stores a group's members in one record, of 1 MB unless it is configured otherwise. A
leader gets all members at once. See `GroupConfig.members_max_bytes` and `GroupConfig.offsets_max_bytes`. Knows what a
request adds to a group; must not know what follows from it.
"""

from __future__ import annotations

from copy import copy

from rollcall.coordinator_udfs.protocol.config import INT32_MAX, GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.group import (
    ClassicMember,
    ConsumerGroup,
    ConsumerMember,
    size_of_consumer,
)
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import (
    Member,
    size_of_bytes,
    size_of_classic,
    size_of_gone,
    size_of_names,
    size_of_protocols,
    size_of_text,
)
from rollcall.coordinator_udfs.protocol.membership import protocols_of
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, JoinGroupRequest, SyncGroupRequest

_MEMBER_SHARE = 8
"""One member takes at most one in this many parts of a group's room."""
_NEWCOMERS_NINTHS = 9
"""Newcomers are accepted while nine tenths are not used up; the last tenth is for updates of members."""
_OFFSET_BYTES = 100
"""About what an offset takes beside its names."""


def why_no_room_to_join(group: Group, request: JoinGroupRequest, config: GroupConfig) -> str | None:
    """Why a JoinGroup asks for more than the group, of either kind, has room for; None if it does not."""
    if _is_unlimited(group, config):
        return None
    member = _member_of(group, request.member_id, request.group_instance_id)
    protocols = protocols_of(request)
    # An id that is not known yet begins with another name of the member.
    member_id = request.member_id or (request.group_instance_id or request.client_id) + " " * 37
    names = (member_id, request.client_id, request.client_host, request.group_instance_id)
    if group.consumer is None:
        size = size_of_names(*names) + size_of_protocols(protocols)
        size += size_of_bytes(member.assignment) if isinstance(member, Member) else 0
    else:
        after = _named(member, *names)
        after.topics, after.pattern, after.classic = (), "", ClassicMember(request.session_timeout_ms, protocols)
        # The topics are stored once more, read from the metadata, as JSON.
        size = size_of_consumer(after) + (6 * len(request.protocols[0].metadata) if protocols else 0)
    return _why_no_room(group, member, size + _size_of_replaced(member, request.member_id), config)


def why_no_room_to_beat(
    group: Group, request: ConsumerGroupHeartbeatRequest, member_id: str, config: GroupConfig
) -> str | None:
    """The same for a ConsumerGroupHeartbeat. member_id: the request's, or the one made for it."""
    if _is_unlimited(group, config):
        return None
    member = _member_of(group, member_id, request.instance_id)
    if isinstance(member, ConsumerMember) and _says_nothing_longer(request, member):
        return None
    after = _named(member, member_id, request.client_id, request.client_host, request.instance_id)
    after.classic = None
    if request.subscribed_topic_names is not None:
        after.topics = tuple(request.subscribed_topic_names)
    if request.subscribed_topic_regex is not None:
        after.pattern = request.subscribed_topic_regex
    if request.rack_id is not None:
        after.rack_id = request.rack_id
    if request.server_assignor is not None:
        after.server_assignor = request.server_assignor
    return _why_no_room(group, member, size_of_consumer(after) + _size_of_replaced(member, member_id), config)


def has_room_to_assign(group: Group, request: SyncGroupRequest, config: GroupConfig) -> bool:
    """Whether the members of a classic group can be given the assignments that their leader brings."""
    if _is_unlimited(group, config):
        return True
    sizes = {each.member_id: size_of_bytes(each.assignment) for each in request.assignments}
    brought = sum(size for member_id, size in sizes.items() if member_id in group.members)
    if max(sizes.values(), default=0) > config.members_max_bytes // _MEMBER_SHARE:
        return False
    if _surely_takes(group, brought, config.members_max_bytes):
        return True
    held = group.held_bytes - sum(size_of_bytes(member.assignment) for member in group.members.values())
    group.held_at_most = None
    return held + brought <= config.members_max_bytes


def _member_of(group: Group, member_id: str, instance_id: str | None) -> Member | ConsumerMember | None:
    """The member that sent a request, or that it replaces."""
    roster: Group | ConsumerGroup = group if group.consumer is None else group.consumer
    return roster.members.get(roster.static_member_id(instance_id) or member_id)


def _named(
    member: Member | ConsumerMember | None, member_id: str, client_id: str, client_host: str, instance_id: str | None
) -> ConsumerMember:
    """A consumer group's member under the names of a request; what the request does not name stays."""
    if not isinstance(member, ConsumerMember):
        return ConsumerMember(member_id, client_id, client_host, 0, instance_id)
    after = copy(member)
    after.member_id, after.client_id, after.client_host = member_id, client_id, client_host
    after.instance_id = instance_id or member.instance_id
    return after


def _size_of_replaced(member: Member | ConsumerMember | None, member_id: str) -> int:
    """Of what the rebalance under way keeps of a static member that is replaced."""
    return 0 if member is None or member.member_id == member_id else size_of_gone(member)


def _says_nothing_longer(request: ConsumerGroupHeartbeatRequest, member: ConsumerMember) -> bool:
    return (
        request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rack_id is None
        and request.instance_id in (None, member.instance_id)
        and (request.client_id, request.client_host) == (member.client_id, member.client_host)
    )


def _why_no_room(group: Group, member: Member | ConsumerMember | None, size: int, config: GroupConfig) -> str | None:
    most = config.members_max_bytes
    if size > most // _MEMBER_SHARE:
        return f"The member would take {size} bytes, at most {most // _MEMBER_SHARE} are taken."
    before = 0
    if member is not None:
        before = size_of_classic(member) if isinstance(member, Member) else size_of_consumer(member)
    if size <= before:
        return None
    if member is None:
        most = most // 10 * _NEWCOMERS_NINTHS
    if _surely_takes(group, size, most):
        return None
    group.held_at_most = group.held_bytes + size
    held = group.held_at_most - before
    return None if held <= most else f"The group's members would take {held} bytes, at most {most} are taken."


def _is_unlimited(group: Group, config: GroupConfig) -> bool:
    if config.members_max_bytes < INT32_MAX:
        return False
    # The request at hand is not counted.
    group.held_at_most = None
    return True


def _surely_takes(group: Group, size: int, most: int) -> bool:
    """Whether this many more bytes certainly fit, without looking at all members; if so they count as used."""
    if group.held_at_most is None or group.held_at_most + size > most:
        return False
    group.held_at_most += size
    return True


class OffsetsRoom:
    """The room left in a group while one request is answered."""

    def __init__(self, group: Group, max_bytes: int) -> None:
        self._group = group
        self._max_bytes = max_bytes
        self._left_bytes: int | None = None

    def takes(self, topic: str, partition: int, metadata: str) -> bool:
        """Whether an offset has room, which it then uses; one that needs no more bytes always has."""
        stored = self._group.offsets.get((topic, partition))
        if stored is not None and metadata in ("", stored.metadata):
            return True
        grows_bytes = size_of_offset(topic, metadata) - (
            0 if stored is None else size_of_offset(topic, stored.metadata)
        )
        if grows_bytes <= 0:
            return True
        if self._left_bytes is None:
            self._left_bytes = self._max_bytes - sum(
                size_of_offset(at[0], o.metadata) for at, o in self._group.offsets.items()
            )
        if grows_bytes > self._left_bytes:
            return False
        self._left_bytes -= grows_bytes
        return True


def size_of_offset(topic: str, metadata: str) -> int:
    """Bytes that a partition's offset takes."""
    return _OFFSET_BYTES + size_of_text(topic + metadata)
