"""The latest time at which a group is proven to be at rest, with no parked request whose line is still to come. A
parked request has its line only when it is answered. So all requests up to a time are known once a later line proves
that none was parked then: an accepted SyncGroup (the group is Stable), or a heartbeat that is answered NONE. After a
sign of a rebalance (REBALANCE_IN_PROGRESS, an id given out, a generation that nobody has synced) a request may be
parked. Once the members of a generation are known, its heartbeats prove nothing, because followers may wait for the
leader.

Knows recorded answers; knows no state of a group.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from math import inf

from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

PATIENCE_MS = 300_000
"""How long a rebalance may take if no line shows a timeout: the default rebalance timeout of most clients."""
MOST_PATIENCE_MS = 3_600_000
"""The longest rebalance timeout that is waited for."""


@dataclass(slots=True)
class RestProofs:
    """Takes in a group's requests in the order their lines were written."""

    patience_ms: int = 0
    """The longest rebalance timeout seen."""
    at_rest_ms: list[float] = field(default_factory=list)
    """Times at which the group is proven to be at rest, rising, from the last one asked for."""
    first_sign_ms: float = inf
    """The first sign of the rebalance that is under way."""
    last_sign_ms: float = -inf
    """The last sign of the rebalance that is under way."""
    joined_ms: float = -inf
    """When the members of the next generation were known."""

    def note(self, entry: LoggedRequest) -> None:
        request, recorded, began_ms = entry.request, entry.recorded, entry.began_ms
        sent_ms = recorded.answered_at_ms - recorded.sending_ms
        if isinstance(request, JoinGroupRequest):
            timeout_ms = max(request.rebalance_timeout_ms, request.session_timeout_ms)
            self.patience_ms = max(self.patience_ms, min(timeout_ms, MOST_PATIENCE_MS))
        match request, recorded.error:
            case JoinGroupRequest(), Error.NONE:
                self.joined_ms = self.first_sign_ms = sent_ms
                self._sign(sent_ms)
            case SyncGroupRequest(), Error.NONE:
                self.joined_ms = -inf
                self._rest(sent_ms)
            case HeartbeatRequest(), Error.NONE if began_ms > self.joined_ms + (self.patience_ms or PATIENCE_MS):
                self._rest(began_ms)
            case ConsumerGroupHeartbeatRequest(member_epoch=epoch), Error.NONE:
                if recorded.wire.assignment is None and recorded.wire.member_epoch == epoch:
                    self._rest(began_ms)
            case OffsetCommitRequest(generation_id_or_member_epoch=generation_id), Error.NONE if generation_id < 0:
                self._rest(began_ms)
            case _, Error.REBALANCE_IN_PROGRESS | Error.MEMBER_ID_REQUIRED:
                self._sign(began_ms)
            case _:
                pass

    def rested_ms(self, until_ms: float) -> float:
        """The last proof of rest up to a time, which must not fall from call to call; minus infinity if there is
        none."""
        proofs = bisect_right(self.at_rest_ms, until_ms)
        if not proofs:
            return -inf
        del self.at_rest_ms[: proofs - 1]
        return self.at_rest_ms[0]

    @property
    def awaited_until_ms(self) -> float:
        """How long to wait for the end of the rebalance under way; minus infinity if there is none."""
        if self.first_sign_ms == inf:
            return -inf
        return self.first_sign_ms + (self.patience_ms or PATIENCE_MS)

    def _rest(self, at_ms: float) -> None:
        if not self.at_rest_ms or at_ms > self.at_rest_ms[-1]:
            self.at_rest_ms.append(at_ms)
        if self.first_sign_ms <= at_ms:
            self.first_sign_ms = self.last_sign_ms if self.last_sign_ms > at_ms else inf

    def _sign(self, at_ms: float) -> None:
        self.first_sign_ms = min(self.first_sign_ms, at_ms)
        self.last_sign_ms = max(self.last_sign_ms, at_ms)
