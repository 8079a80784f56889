"""Where group requests go, as the rest of the gateway sees it: the tables, or in tests the core in this process.

Knows the messages; knows no wire and no socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import GroupRequest, Response

Known = tuple[str, str, str, str]
"""A group as ListGroups shows it: id, protocol type ("" if none), state, and whether it is classic or consumer."""


class BackendError(Exception):
    """A request could not be handed over. answer: what its client gets; COORDINATOR_NOT_AVAILABLE: try again."""

    def __init__(self, why: str, answer: Error = Error.COORDINATOR_NOT_AVAILABLE) -> None:
        super().__init__(why)
        self.answer = answer


Outcome = Response | BackendError
"""The result of a request to one group."""


@dataclass(slots=True)
class Figures:
    """The state of a backend in numbers; `gateway.metrics` says what they mean. None: there is none."""

    backlog: int = 0
    backlog_age_s: float | None = None
    """How long the oldest of them has waited."""
    parked: int = 0
    batch_age_s: float | None = None
    """Since the coordinator's last batch, or since it last found that it needs none."""
    groups_by_state: Mapping[str, int] = field(default_factory=dict)
    rebalances_by_cause: Mapping[str, int] = field(default_factory=dict)
    refused_groups: int = 0
    task_failures: Mapping[str, int] = field(default_factory=dict)
    failing_tasks: Sequence[str] = ()
    """Those that ended by an error a short time ago."""
    is_failing: bool = False


class Backend(Protocol):
    """Takes requests, each for one group and with an id of its own, and answers each once, or never if it is dropped.

    A future fails with BackendError. A cancelled one has nobody waiting any more.
    """

    gateway_id: str
    """The prefix of the ids of this gateway's requests."""

    async def start(self) -> None:
        """Ready to be asked when it returns."""

    async def close(self) -> None:
        """Hands over the requests it has taken; those that are unanswered stay unanswered."""

    def submit(self, request: GroupRequest) -> Outcome | asyncio.Future[Response]:
        """The answer or why there is none, if known at once; else a future of it."""

    def groups(self) -> asyncio.Future[Iterable[Known]]:
        """Every group, once the backend has read all answers that clients have got by now."""

    def configured_groups(self) -> Iterable[str]:
        """The groups for which something is set, whether they exist or not, as of the last answer of `groups`."""

    def figures(self) -> Figures:
        """Its numbers now. May be called from another thread."""
