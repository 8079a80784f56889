"""Where group requests go, as the rest of the gateway sees it: the tables, or in tests the core in this process.

Knows the messages; knows no wire and no socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from schemas.errors import Error
from schemas.messages import GroupRequest, Response

Known = tuple[str, str, str, str]
"""A group as ListGroups tells of it: id, protocol type ("" if none), state, and whether it is classic or consumer."""


class BackendError(Exception):
    """A request could not be handed over. answer: what its client is told; COORDINATOR_NOT_AVAILABLE: try again."""

    def __init__(self, why: str, answer: Error = Error.COORDINATOR_NOT_AVAILABLE) -> None:
        super().__init__(why)
        self.answer = answer


@dataclass(slots=True)
class Figures:
    """The state of a backend in numbers."""

    backlog: int = 0
    """Requests that are neither answered nor parked."""
    backlog_age_s: float | None = None
    """How long the oldest of them has waited; None: there is none."""
    parked: int = 0
    """Requests whose answers the protocol withholds."""
    batch_age_s: float | None = None
    """Time since the coordinator's last batch; None: unknown."""
    groups_by_state: Mapping[str, int] = field(default_factory=dict)
    rebalances_by_cause: Mapping[str, int] = field(default_factory=dict)
    refused_groups: int = 0
    """Requests that were refused because their groups' maker has made too many."""
    task_failures: Mapping[str, int] = field(default_factory=dict)
    """How often each task of the backend ended by an error and began again."""
    failing_tasks: Sequence[str] = ()
    """Those that did so a short time ago."""
    is_failing: bool = False
    """Whether requests could not be handed over the last time."""


class Backend(Protocol):
    """Takes requests, each for one group and with an id of its own, and answers each once, or never if it is dropped.

    An answer's future fails with BackendError. A future that is cancelled is one nobody waits for any more.
    """

    gateway_id: str
    """What the ids of this gateway's requests begin with."""

    async def start(self) -> None:
        """Ready to be asked when it returns."""

    async def close(self) -> None:
        """Hands over the requests it has taken; those that are unanswered stay unanswered."""

    def submit(self, request: GroupRequest) -> asyncio.Future[Response]:
        """The answer, when it is due."""

    def groups(self) -> asyncio.Future[Iterable[Known]]:
        """Every group there is, once the backend knows of every answer that any client has been given by now."""

    def figures(self) -> Figures:
        """Its numbers now. May be called from another thread."""
