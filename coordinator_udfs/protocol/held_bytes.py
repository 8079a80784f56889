"""How many bytes a group's members take: in its stored document, in its facts and in answers about them.

A size is that of the longest of these: texts as in JSON, bytes as base64, and what surrounds them. Knows the fields of
members of either kind and of ids given out; knows no group and no limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from rollcall.coordinator_udfs.protocol.members import Member, PendingMember

_MEMBER_BYTES = 650
"""What a member takes beside its own texts and bytes, including its part in the rebalance under way."""
_PART_BYTES = 150


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
