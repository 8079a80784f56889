"""Connections between consumers and the coordinator: latency, order, losses.

A connection carries requests in order. As in Kafka, the broker takes the next one only when it has answered the one
before: a heartbeat waits behind a parked SyncGroup. A request that is on its way when its client closes the connection
still arrives, unless it has to wait there; its answer goes nowhere. FindCoordinator has a connection of its own.

Knows messages and time; knows no consumer's state.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from clients.events import MemberRequest
from schemas.messages import FindCoordinatorRequest, Response
from simulation.broker import SimulatedCoordinator
from simulation.chance import between, fraction
from simulation.plan import Loss, NetworkPlan
from simulation.record import LostMessage, Record
from simulation.virtual_time import VirtualTime


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
        self._ways_back: dict[str, tuple[Connection, str]] = {}
        self._sent: Counter[tuple[str, str, bool]] = Counter()

    def connect(self, coordinator: SimulatedCoordinator) -> None:
        """Requests go to this coordinator."""
        self._coordinator = coordinator

    # ------------------------------------------------------------ a consumer's end

    def send(self, connection: Connection, request: MemberRequest) -> None:
        """Sends a request; it arrives, is lost silently, or breaks the connection."""
        self._record.requests[request.request_id] = connection.endpoint.name
        if self._is_lost(connection, request.request_id, _api(request), is_answer=False):
            return
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
            self._ways_back[request.request_id] = (connection, _api(request))
            self._coordinator.receive(request, connection.endpoint.host)

    def answer(self, request_id: str, response: Response) -> None:
        """The broker answers; the next request of the connection is served."""
        connection, api = self._ways_back.pop(request_id)
        connection.serving = None
        if connection.is_open and not self._is_lost(connection, request_id, api, is_answer=True):
            at_ms = max(self._time.now_ms + self._latency_ms(request_id, "back"), connection.last_answer_at_ms)
            connection.last_answer_at_ms = at_ms
            self._time.at(at_ms, self._deliver, connection, request_id, response)
        if connection.waiting:
            # After the coordinator has finished with what led to this answer.
            self._time.at(self._time.now_ms, self._serve, connection)

    def _deliver(self, connection: Connection, request_id: str, response: Response) -> None:
        if connection.is_open:
            connection.endpoint.receive(request_id, response)

    # ------------------------------------------------------------ chance

    def _latency_ms(self, *names: object) -> int:
        low, high = self._plan.latency_ms
        return between(low, high, self._seed, "latency", *names)

    def _is_lost(self, connection: Connection, request_id: str, api: str, *, is_answer: bool) -> bool:
        """Whether this message is lost; its consumer may notice that a moment later."""
        plan, now_ms, consumer = self._plan, self._time.now_ms, connection.endpoint.name
        self._sent[consumer, api, is_answer] += 1
        nth = self._sent[consumer, api, is_answer]
        planned = next((loss for loss in plan.losses if _is_of(loss, consumer, api, nth, is_answer)), None)
        is_outage = any(span.has(now_ms) for span in plan.outages)
        share = plan.answer_loss if is_answer else plan.request_loss
        is_chance = now_ms < plan.loss_until_ms and fraction(self._seed, "lost", request_id, is_answer) < share
        if planned is None and not is_outage and not is_chance:
            return False
        self._record.lost.append(LostMessage(now_ms, consumer, request_id, is_answer))
        is_noticed = fraction(self._seed, "noticed", request_id, is_answer) < plan.noticed
        if is_noticed if planned is None else planned.is_noticed:
            notice = self._notice(connection, request_id, api)
            self._time.at(now_ms + self._latency_ms(request_id, "broke"), notice)
        return True

    def _notice(self, connection: Connection, request_id: str, api: str) -> Callable[[], None]:
        if api == "FindCoordinator":
            return lambda: connection.endpoint.request_failed(request_id)
        return lambda: connection.endpoint.connection_broke(connection)


def _api(request: MemberRequest) -> str:
    return type(request).__name__.removesuffix("Request")


def _is_of(loss: Loss, consumer: str, api: str, nth: int, is_answer: bool) -> bool:
    return (loss.consumer, loss.api, loss.nth, loss.is_answer) == (consumer, api, nth, is_answer)


def is_for_any_broker(request: MemberRequest) -> bool:
    return isinstance(request, FindCoordinatorRequest)
