"""Members of a classic group and ids that were given out; of either kind of group new ids and the members' sizes.

A parked request is data on its member. A new id is derived from the request itself, so that it is the same each time
the request is handled. A size is that of the longest of these: the stored document, the facts, the answers; texts as in
JSON, bytes as base64, and what surrounds them. Knows shapes alone, no limit: the group adds, changes and removes them.
Source: Kafka's ClassicGroupMember.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Container, Iterable, Mapping
from itertools import count
from typing import Protocol

import msgspec

from rollcall.schemas.messages import Request

_MEMBER_BYTES = 650
"""What a member takes beside its own texts and bytes, including its part in the rebalance under way."""
_PART_BYTES = 150


class ParkedJoin(msgspec.Struct):
    """A JoinGroup whose answer waits for the end of the join phase."""

    request_id: str
    api_version: int
    received_at_ms: int
    recorded_leader_id: str | None = None
    """As in JoinGroupRequest."""


class ParkedSync(msgspec.Struct):
    """A SyncGroup whose answer waits for the leader's assignment."""

    request_id: str
    api_version: int
    received_at_ms: int


class Member(msgspec.Struct):
    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: dict[str, bytes]
    """Name to metadata, in the member's order of preference."""
    joined_at_ms: int
    group_instance_id: str | None = None
    assignment: bytes = b""
    is_new: bool = False
    """True while its first JoinGroup is parked."""
    parked_join: ParkedJoin | None = None
    parked_sync: ParkedSync | None = None
    session_deadline_ms: int | None = None
    """None while no session timer runs."""
    last_seen_at_ms: int = 0
    """Its last accepted request of any kind."""
    has_known_timeouts: bool = True
    """False where a recording shows the member but not its JoinGroup; then its timers do not run."""
    session_start: int = 0
    """The number of its session timer, in the order in which the group started them."""

    @property
    def name(self) -> str:
        """Its name in the history: the client id, or the instance id where there is no client id."""
        return self.client_id or self.group_instance_id or self.member_id

    @property
    def supported(self) -> Iterable[str | None]:
        """The names of its protocols; one None if they are unknown, as for a member that only a recording shows."""
        return self.protocols.keys() or (None,)

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """True while a parked request keeps the member alive; a first, parked JoinGroup does not."""
        return not self.is_new and (self.parked_join is not None or self.parked_sync is not None)


class PendingMember(msgspec.Struct):
    """An id given out with MEMBER_ID_REQUIRED that has not come back yet; never static."""

    member_id: str
    client_id: str
    client_host: str
    session_deadline_ms: int
    session_start: int = 0


# ---------------------------------------------------------------- new ids


def fresh_id(group_id: str, request: Request, attempt: int = 0) -> bytes:
    """16 bytes that are unique to a request. attempt: a higher one gives another id, if the first is in use."""
    parts = (group_id, request.client_id, request.request_id, str(request.received_at_ms))
    seed = "\0".join((*parts, str(attempt)) if attempt else parts)
    return hashlib.blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def unused_uuid_text(group_id: str, request: Request, used: Container[str]) -> str:
    """The first of a request's UUIDs, in the base64 that Kafka writes them in, that is not in use and, as Kafka's, does
    not begin with a dash.
    """
    ids = (fresh_id(group_id, request, attempt) for attempt in count())
    texts = (base64.urlsafe_b64encode(each).decode().rstrip("=") for each in ids)
    return next(text for text in texts if text not in used and not text.startswith("-"))


# ---------------------------------------------------------------- how many bytes they take


class HeldBytes:
    """Sizes by member id, and their sum."""

    __slots__ = ("_sizes", "total")

    def __init__(self, sizes: Iterable[tuple[str, int]]) -> None:
        self._sizes = dict(sizes)
        self.total = sum(self._sizes.values())

    def put(self, member_id: str, size: int) -> None:
        """Sets the size of one."""
        self.total += size - self._sizes.get(member_id, 0)
        self._sizes[member_id] = size

    def drop(self, member_id: str) -> None:
        """Removes one, if it is there."""
        self.total -= self._sizes.pop(member_id, 0)


class _Named(Protocol):
    member_id: str
    client_id: str
    client_host: str


def held_by(members: Iterable[Member], pending: Iterable[PendingMember]) -> HeldBytes:
    """What a classic group's members and the ids that it gave out take."""
    held = HeldBytes((member.member_id, size_of_classic(member)) for member in members)
    for each in pending:
        held.put(each.member_id, size_of_pending(each))
    return held


def size_of_names(member_id: str, client_id: str, client_host: str, instance_id: str | None) -> int:
    """For a member's names, since each is written in several places."""
    twice = size_of_text(client_host + instance_id if instance_id else client_host)
    return _MEMBER_BYTES + 3 * size_of_text(member_id + client_id) + 2 * twice


def size_of_classic(member: Member) -> int:
    """Of a member of a classic group."""
    names = size_of_names(member.member_id, member.client_id, member.client_host, member.group_instance_id)
    return names + size_of_protocols(member.protocols) + size_of_bytes(member.assignment)


def size_of_pending(pending: _Named) -> int:
    """Of an id given out."""
    return _PART_BYTES + sum(map(size_of_text, (pending.member_id, pending.client_id, pending.client_host)))


def size_of_gone(member: _Named) -> int:
    """Of what the rebalance under way keeps of a member that left."""
    return size_of_pending(member) + 2 * size_of_text(member.client_id)


def size_of_protocols(protocols: Mapping[str, bytes]) -> int:
    """Of metadata by name."""
    return sum(6 + size_of_text(name) + size_of_bytes(metadata) for name, metadata in protocols.items())


def size_of_topics(topics: Collection[str]) -> int:
    """Of a list of topics, computed at once, since it may be long."""
    return 3 * len(topics) + size_of_text("".join(topics))


def size_of_bytes(data: bytes) -> int:
    """Of bytes as base64."""
    return (len(data) + 2) // 3 * 4


def size_of_text(text: str) -> int:
    """Of a text as JSON: what JSON has to escape takes up to six bytes a character."""
    if text.isascii() and text.isprintable():
        return len(text) + text.count('"') + text.count("\\")
    return 6 * len(text)
