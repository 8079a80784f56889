"""Connections between consumers and the coordinator: latency and order.

A connection carries requests in order. As in Kafka, the broker takes the next one only when it has answered the one
before: a heartbeat waits behind a parked SyncGroup. A request that is on its way when its client closes the connection
still arrives, unless it has to wait there; its answer goes nowhere. FindCoordinator has a connection of its own.

Latencies are chance without a generator: each is derived from a seed and the names of what it decides. As no generator
has a state, one decision more or less leaves the others unchanged. Knows messages and time; knows no consumer's state.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from rollcall.answers.clients.events import MemberRequest
from rollcall.answers.simulation.broker import SimulatedCoordinator
from rollcall.answers.simulation.plan import NetworkPlan
from rollcall.answers.simulation.record import Record
from rollcall.answers.simulation.virtual_time import VirtualTime
from rollcall.schemas.messages import Response


class Endpoint(Protocol):
    """A consumer's end of a connection."""

    @property
    def name(self) -> str: ...

    @property
    def host(self) -> str: ...

    def receive(self, request_id: str, response: Response) -> None: ...

    def connection_broke(self, connection: Connection) -> None: ...

    def request_failed(self, request_id: str) -> None: ...


@dataclass(slots=True, eq=False)
class Connection:
    """One consumer's connection to the coordinator."""

    endpoint: Endpoint
    is_open: bool = True
    serving: str | None = None
    """The id of the request that the broker has taken and not answered."""
    waiting: deque[MemberRequest] = field(default_factory=deque)
    last_request_at_ms: int = 0
    last_answer_at_ms: int = 0


class Network:
    """All connections of a run."""

    def __init__(self, plan: NetworkPlan, seed: int, time: VirtualTime, record: Record) -> None:
        self._plan = plan
        self._seed = seed
        self._time = time
        self._record = record
        self._coordinator: SimulatedCoordinator | None = None
        self._ways_back: dict[str, Connection] = {}

    def connect(self, coordinator: SimulatedCoordinator) -> None:
        """Requests go to this coordinator."""
        self._coordinator = coordinator

    # ------------------------------------------------------------ a consumer's end

    def send(self, connection: Connection, request: MemberRequest) -> None:
        """Sends a request, which arrives a little later."""
        self._record.requests[request.request_id] = connection.endpoint.name
        at_ms = max(self._time.now_ms + self._latency_ms(request.request_id, "out"), connection.last_request_at_ms)
        connection.last_request_at_ms = at_ms
        self._time.at(at_ms, self._arrive, connection, request)

    def close(self, connection: Connection) -> None:
        """The consumer closes this connection."""
        connection.is_open = False
        connection.waiting.clear()

    # ------------------------------------------------------------ the broker's end

    def _arrive(self, connection: Connection, request: MemberRequest) -> None:
        if connection.is_open or connection.serving is None:
            connection.waiting.append(request)
            self._serve(connection)

    def _serve(self, connection: Connection) -> None:
        assert self._coordinator is not None
        while connection.waiting and connection.serving is None:
            request = connection.waiting.popleft()
            connection.serving = request.request_id
            self._ways_back[request.request_id] = connection
            self._coordinator.receive(request, connection.endpoint.host)

    def answer(self, request_id: str, response: Response) -> None:
        """The broker answers; the next request of the connection is served."""
        connection = self._ways_back.pop(request_id)
        connection.serving = None
        if connection.is_open:
            self._send_back(connection, request_id, response)
        if connection.waiting:
            # After the coordinator has finished with what led to this answer.
            self._time.at(self._time.now_ms, self._serve, connection)

    def _send_back(self, connection: Connection, request_id: str, response: Response) -> None:
        at_ms = max(self._time.now_ms + self._latency_ms(request_id, "back"), connection.last_answer_at_ms)
        connection.last_answer_at_ms = at_ms
        self._time.at(at_ms, self._deliver, connection, request_id, response)

    def _deliver(self, connection: Connection, request_id: str, response: Response) -> None:
        if connection.is_open:
            connection.endpoint.receive(request_id, response)

    def _latency_ms(self, *names: object) -> int:
        low, high = self._plan.latency_ms
        return between(low, high, self._seed, "latency", *names)


_DIGEST_BYTES = 8


def fraction(seed: int, *names: object) -> float:
    """A number in [0, 1) that stands for these names under this seed."""
    text = "\0".join((str(seed), *map(str, names)))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
    return int.from_bytes(digest, "big") / (1 << (8 * _DIGEST_BYTES))


def between(low: int, high: int, seed: int, *names: object) -> int:
    """A whole number in low..high, both included, that stands for these names under this seed."""
    return low if low == high else low + int(fraction(seed, *names) * (high - low + 1))
