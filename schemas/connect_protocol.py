"""The bytes that Connect's workers, members of a group of protocol type "connect", send each other.

What it knows: the layouts of Kafka's ConnectProtocol (version 0, eager) and IncrementalCooperativeConnectProtocol
(versions 1 and 2, KIP-415 and KIP-507), all big-endian with an int16 version in front. What it must not know: groups,
connectors' settings, or anything outside its folder beyond the standard library: the coordinator's core imports it too.

A version newer than 2 is read with the layout of version 2 and what follows is ignored, as Kafka does. Bytes that do
not fit raise ConnectProtocolError, never anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rollcall.schemas.member_bytes import MemberBytesError, Reader

CONNECTOR_ITSELF = -1
"""What stands among the numbers of tasks for the connector itself (ConnectProtocol.CONNECTOR_TASK)."""


class ConnectTask(NamedTuple):
    """A task of a connector, or with the number CONNECTOR_ITSELF the connector's own instance."""

    connector: str
    number: int


class ConnectProtocolError(MemberBytesError):
    """Bytes that do not follow the layout: which field, and where."""


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The bytes that a worker sends to the leader when it joins."""

    url: str
    config_offset: int
    """How far it has read the topic of configurations."""
    owned: frozenset[ConnectTask] = frozenset()
    """What it runs and keeps while it joins; an eager worker keeps nothing."""


@dataclass(frozen=True, slots=True)
class WorkerAssignment:
    """What the leader gives a worker."""

    error: int
    """0, or 1: the workers know different configurations, and join again."""
    leader: str
    leader_url: str
    config_offset: int
    given: frozenset[ConnectTask]
    """What it is to start; from an eager leader all that it is to have."""
    revoked: frozenset[ConnectTask] = frozenset()
    """What it is to stop, so that others can have it."""
    delay_ms: int = 0
    """When not 0: how long from now workers join again, so that what a lost worker ran can be given to others."""

    def kept_by(self, owned: Iterable[ConnectTask]) -> frozenset[ConnectTask]:
        """What a worker runs from now on that owned this when it joined.

        Source: WorkerCoordinator.onJoinComplete, ExtendedAssignment.
        """
        return frozenset(owned) - self.revoked | self.given


def decode_worker_state(metadata: bytes) -> WorkerState:
    """The state in a worker's metadata. Raises ConnectProtocolError in the order of the bytes.

    Source: IncrementalCooperativeConnectProtocol.deserializeMetadata, ConnectProtocol.deserializeMetadata.
    """
    reader = Reader(metadata, ConnectProtocolError)
    version = reader.version()
    url, config_offset = reader.string("url"), reader.int64("config_offset")
    allocation = reader.nullable_bytes("allocation") if version >= 1 else None
    owned = decode_worker_assignment(allocation).given if allocation else frozenset()
    return WorkerState(url, config_offset, owned)


def decode_worker_assignment(assignment: bytes) -> WorkerAssignment:
    """The assignment in a worker's SyncGroup answer. Empty bytes mean "no assignment": check before decoding.

    Raises ConnectProtocolError in the order of the bytes. Source: as decode_worker_state, deserializeAssignment.
    """
    reader = Reader(assignment, ConnectProtocolError)
    version = reader.version()
    error, leader, leader_url = reader.int16("error"), reader.string("leader"), reader.string("leader_url")
    config_offset = reader.int64("config_offset")
    given = _tasks(reader, "assignment")
    if version < 1:
        return WorkerAssignment(error, leader, leader_url, config_offset, given)
    revoked = _tasks(reader, "revoked")
    return WorkerAssignment(error, leader, leader_url, config_offset, given, revoked, reader.int32("delay"))


def _tasks(reader: Reader, field: str) -> frozenset[ConnectTask]:
    entries = reader.nullable_numbers_by_name(field, "connector", "tasks")
    return frozenset(ConnectTask(connector, number) for connector, numbers in entries for number in numbers)
