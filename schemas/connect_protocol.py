"""The bytes that Connect's workers, members of a group of protocol type "connect", send each other.

What it knows: the layouts of Kafka's ConnectProtocol (version 0, eager) and IncrementalCooperativeConnectProtocol
(versions 1 and 2, KIP-415 and KIP-507), all big-endian with an int16 version in front. What it must not know: groups,
connectors' settings, or anything outside its folder: the coordinator's core imports it too.

A version newer than 2 is read with the layout of version 2 and what follows is ignored, as Kafka does. Bytes that do
not fit raise LayoutError, never anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from rollcall.schemas.layout import ClassicShape, Converted, Int16, Int32, Int64, read_versioned
from rollcall.schemas.shapes import Since

HIGHEST_VERSION = 2
CONNECTOR_ITSELF = -1
"""What stands among the numbers of tasks for the connector itself (ConnectProtocol.CONNECTOR_TASK)."""


class ConnectTask(NamedTuple):
    """A task of a connector, or with the number CONNECTOR_ITSELF the connector's own instance."""

    connector: str
    number: int


class _TasksOfConnector(ClassicShape, frozen=True, kw_only=True):
    connector: str
    tasks: list[Int32]


def _flat(entries: list[_TasksOfConnector] | None) -> frozenset[ConnectTask]:
    return frozenset(ConnectTask(entry.connector, number) for entry in entries or () for number in entry.tasks)


_Tasks = Annotated[frozenset[ConnectTask], Converted(list[_TasksOfConnector] | None, _flat)]


class WorkerAssignment(ClassicShape, frozen=True):
    """What the leader gives a worker."""

    error: Int16
    """0, or 1: the workers know different configurations, and join again."""
    leader: str
    leader_url: str
    config_offset: Int64
    given: _Tasks
    """What it is to start; from an eager leader all that it is to have."""
    revoked: Annotated[_Tasks, Since(1)] = frozenset()
    """What it is to stop, so that others can have it."""
    delay_ms: Annotated[Int32, Since(1)] = 0
    """When not 0: how long from now workers join again, so that what a lost worker ran can be given to others."""

    def kept_by(self, owned: Iterable[ConnectTask]) -> frozenset[ConnectTask]:
        """What a worker runs from now on that owned this when it joined.

        Source: WorkerCoordinator.onJoinComplete, ExtendedAssignment.
        """
        return frozenset(owned) - self.revoked | self.given


def _given_in(allocation: bytes | None) -> frozenset[ConnectTask]:
    return decode_worker_assignment(allocation).given if allocation else frozenset()


_Allocation = Annotated[frozenset[ConnectTask], Converted(bytes | None, _given_in)]


class WorkerState(ClassicShape, frozen=True):
    """The bytes that a worker sends to the leader when it joins."""

    url: str
    config_offset: Int64
    """How far it has read the topic of configurations."""
    owned: Annotated[_Allocation, Since(1)] = frozenset()
    """What it runs and keeps while it joins; an eager worker keeps nothing."""


def decode_worker_state(metadata: bytes) -> WorkerState:
    """The state in a worker's metadata. Raises LayoutError in the order of the bytes.

    Source: IncrementalCooperativeConnectProtocol.deserializeMetadata, ConnectProtocol.deserializeMetadata.
    """
    state: WorkerState = read_versioned(WorkerState, HIGHEST_VERSION, metadata)
    return state


def decode_worker_assignment(assignment: bytes) -> WorkerAssignment:
    """The assignment in a worker's SyncGroup answer. Empty bytes mean "no assignment": check before decoding.

    Raises LayoutError in the order of the bytes. Source: as decode_worker_state, deserializeAssignment.
    """
    decoded: WorkerAssignment = read_versioned(WorkerAssignment, HIGHEST_VERSION, assignment)
    return decoded
