"""A followed group as rows: its requests for the request table, its facts for the effects table.

Accepted heartbeats that follow each other, of one generation and within a few seconds, are one request and one fact: a
run, as a gateway packs them. So most lines of a log need no row of their own.

Knows ordered requests, effects and what fits into a run; knows no line, no table and no rule of the protocol.
"""

from __future__ import annotations

from rollcall.inputs.request_log.parity import Comparing, Parity
from rollcall.inputs.request_log.recorded import OrderedRequest
from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.schemas.effects import Effect, HeartbeatsTaken, Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.heartbeat_runs import RunPacker
from rollcall.schemas.messages import HeartbeatRequest, HeartbeatResponse, HeartbeatRunRequest, StreamRequest

LONGEST_MS = 5_000
"""The longest run, as in a gateway: a view --at a moment lacks the run that is open then."""


class OpenRun:
    """Heartbeats of a group that become one request. Its id is that of the first, so it names that one's line."""

    def __init__(self, first: HeartbeatRequest) -> None:
        self._packer, self._first = RunPacker(first), first
        self._last_seq = first.request_seq

    def maybe_add(self, beat: HeartbeatRequest) -> bool:
        """Packs a heartbeat, if it fits in."""
        if beat.received_at_ms - self._packer.from_ms > LONGEST_MS or not self._packer.takes(beat):
            return False
        self._packer.add(beat)
        self._last_seq = beat.request_seq
        return True

    def request(self) -> HeartbeatRequest | HeartbeatRunRequest:
        """The run; a heartbeat that stands alone stays what it is."""
        if self._packer.count == 1:
            return self._first
        return self._packer.run(self._first.request_id, request_seq=self._last_seq)


class GroupRows:
    """The listener of one group. `requests` and `facts` hold what was not taken out yet, in order."""

    def __init__(self, at_ms: int = -1, seq: int = 0) -> None:
        """at_ms, seq: the time of the last fact, and its number in that millisecond."""
        self.requests: list[StreamRequest] = []
        self.facts: list[EffectRow] = []
        self.at_ms, self.seq = at_ms, seq
        self._run: OpenRun | None = None

    @property
    def waiting(self) -> int:
        """How many rows are not taken out, with that of an open run."""
        return len(self.requests) + len(self.facts) + (self._run is not None)

    def take(self, ordered: OrderedRequest) -> None:
        """A request, before its effects."""
        self.end_run()
        self.requests.append(ordered.request)

    def take_effects(self, effects: list[Effect]) -> None:
        """The effects of a request or of a deadline."""
        if effects:
            self.end_run()
            self._add(effects)

    def accept(self, beat: OrderedRequest) -> None:
        """An accepted heartbeat."""
        request = beat.request
        assert isinstance(request, HeartbeatRequest)
        if self._run is None or not self._run.maybe_add(request):
            self.end_run()
            self._run = OpenRun(request)

    def end_run(self) -> None:
        """Adds the run that is open."""
        if self._run is None:
            return
        request, self._run = self._run.request(), None
        self.requests.append(request)
        self._add([_answered(request) if isinstance(request, HeartbeatRequest) else _taken(request)])

    def _add(self, effects: list[Effect]) -> None:
        """Rows of facts, numbered within their millisecond."""
        for effect in effects:
            self.seq = self.seq + 1 if effect.at_ms == self.at_ms else 0
            self.at_ms = effect.at_ms
            self.facts.append(row_of(effect, self.seq))


class ComparedRows(GroupRows):
    """The same, with recorded answers compared on the way: of a recording that ends."""

    def __init__(self, parity: Parity) -> None:
        super().__init__()
        self._comparing = Comparing(parity)

    def take(self, ordered: OrderedRequest) -> None:
        super().take(ordered)
        self._comparing.take(ordered)

    def take_effects(self, effects: list[Effect]) -> None:
        super().take_effects(effects)
        self._comparing.take_effects(effects)

    def accept(self, beat: OrderedRequest) -> None:
        super().accept(beat)
        self._comparing.accept(beat)

    def close(self) -> None:
        """Nothing more comes."""
        self.end_run()
        self._comparing.close()


def _taken(run: HeartbeatRunRequest) -> HeartbeatsTaken:
    return HeartbeatsTaken(
        at_ms=run.received_at_ms,
        request_id=run.request_id,
        generation_id=run.generation_id,
        from_ms=run.from_ms,
        taken=run.members,
    )


def _answered(beat: HeartbeatRequest) -> Reply:
    return Reply(
        at_ms=beat.received_at_ms,
        request_id=beat.request_id,
        api="Heartbeat",
        api_version=beat.api_version,
        error_code=Error.NONE,
        member_id=beat.member_id,
        client_id=beat.client_id,
        generation_id=beat.generation_id,
        received_at_ms=beat.received_at_ms,
        response=HeartbeatResponse(),
    )
