"""A network that loses messages: by chance, one by one, or all of them for a while.

Knows messages and time; see `rollcall.answers.simulation.network` for those that arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rollcall.answers.clients.events import MemberRequest
from rollcall.answers.simulation.network import Connection, Network, fraction
from rollcall.answers.simulation.plan import NetworkPlan, Span
from rollcall.schemas.messages import Response


@dataclass(frozen=True, slots=True)
class Loss:
    """One message that does not arrive."""

    consumer: str
    api: str
    nth: int
    """It is the consumer's nth request of the API, from 1, or the answer to it."""
    is_answer: bool = False
    is_noticed: bool = False
    """Whether its sender sees its connection break."""


@dataclass(frozen=True, slots=True)
class LostMessage:
    at_ms: int
    consumer: str
    request_id: str
    is_answer: bool


@dataclass(frozen=True)
class LossyPlan(NetworkPlan):
    """A network that loses some messages."""

    request_loss: float = 0.0
    """The share of requests that do not arrive, up to loss_until_ms."""
    answer_loss: float = 0.0
    """The share of answers that do not arrive, up to loss_until_ms."""
    noticed: float = 0.5
    """The share of lost messages whose sender sees its connection break; the others are waited for."""
    loss_until_ms: int = 0
    losses: tuple[Loss, ...] = ()
    """Messages that are lost, one by one."""
    outages: tuple[Span, ...] = ()
    """When nothing arrives."""


class LossyNetwork(Network):
    """All connections of a run; `lost` has what did not arrive. Without a LossyPlan everything does."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.lost: list[LostMessage] = []
        self._sent: Counter[tuple[str, str, bool]] = Counter()
        self._apis: dict[str, str] = {}

    def send(self, connection: Connection, request: MemberRequest) -> None:
        """Sends a request; it arrives, is lost silently, or breaks the connection."""
        self._apis[request.request_id] = type(request).__name__.removesuffix("Request")
        if self._is_lost(connection, request.request_id, is_answer=False):
            self._record.requests[request.request_id] = connection.endpoint.name
        else:
            super().send(connection, request)

    def _send_back(self, connection: Connection, request_id: str, response: Response) -> None:
        if not self._is_lost(connection, request_id, is_answer=True):
            super()._send_back(connection, request_id, response)

    def _is_lost(self, connection: Connection, request_id: str, *, is_answer: bool) -> bool:
        """Whether this message is lost; its consumer may notice that a moment later."""
        plan, now_ms, consumer = self._plan, self._time.now_ms, connection.endpoint.name
        if not isinstance(plan, LossyPlan):
            return False
        api = self._apis[request_id]
        self._sent[consumer, api, is_answer] += 1
        nth = self._sent[consumer, api, is_answer]
        planned = next((loss for loss in plan.losses if _is_of(loss, consumer, api, nth, is_answer)), None)
        is_outage = any(span.has(now_ms) for span in plan.outages)
        share = plan.answer_loss if is_answer else plan.request_loss
        is_chance = now_ms < plan.loss_until_ms and fraction(self._seed, "lost", request_id, is_answer) < share
        if planned is None and not is_outage and not is_chance:
            return False
        self.lost.append(LostMessage(now_ms, consumer, request_id, is_answer))
        is_noticed = fraction(self._seed, "noticed", request_id, is_answer) < plan.noticed
        if is_noticed if planned is None else planned.is_noticed:
            notice = self._notice(connection, request_id, api)
            self._time.at(now_ms + self._latency_ms(request_id, "broke"), notice)
        return True

    def _notice(self, connection: Connection, request_id: str, api: str) -> Callable[[], None]:
        if api == "FindCoordinator":
            return lambda: connection.endpoint.request_failed(request_id)
        return lambda: connection.endpoint.connection_broke(connection)


def _is_of(loss: Loss, consumer: str, api: str, nth: int, is_answer: bool) -> bool:
    return (loss.consumer, loss.api, loss.nth, loss.is_answer) == (consumer, api, nth, is_answer)
