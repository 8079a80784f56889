"""Compares the answers that a log records with those that the stream gives.

Nearly all answers are to heartbeats of runs that are all taken, as recorded: those are compared run by run, all others
one by one. Knows the effects table's columns and which rows wait for an answer; must not know what makes two answers
equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from request_log.in_runs import OrderedRun, Row
from request_log.parity import Parity
from request_log.recorded import OrderedRequest
from schemas.effect_names import EffectName
from schemas.errors import Error
from schemas.heartbeat_runs import beats_taken
from schemas.membership_messages import beat_id, run_id_of
from schemas.messages import HeartbeatResponse, Response
from tables.replies import REPLY_COLUMNS, response_of
from tables.table_follower import TableFollower

HEARTBEAT = "Heartbeat"
_TAKEN = EffectName.HEARTBEATS_TAKEN.value
_FATES = pa.array([EffectName.REPLY.value, EffectName.REQUEST_DROPPED.value])


class Comparison:
    """`expect` takes recorded answers; `compare` takes ours from the table's new commits."""

    def __init__(self, effects: Path, parity: Parity) -> None:
        self.parity = parity
        self._follower = TableFollower(effects, REPLY_COLUMNS, from_version=0)
        self._requests: dict[str, OrderedRequest] = {}
        self._runs: dict[str, OrderedRun] = {}
        """Runs of which no heartbeat was answered yet; from then on their heartbeats are among the requests."""

    @property
    def unanswered(self) -> list[OrderedRequest]:
        """Requests whose recorded answers were not compared yet."""
        return [*self._requests.values(), *(beat for run in self._runs.values() for beat in run.beats)]

    def expect(self, rows: Iterable[Row]) -> None:
        """Takes rows that will be answered; skips those for which the log has no answer."""
        for row in rows:
            if isinstance(row, OrderedRun):
                self._runs[row.request.request_id] = row
            elif row.recorded is not None:
                self._requests[row.request.request_id] = row

    def compare(self) -> None:
        """Notes in the parity what was answered since the last call."""
        tables = list(self._follower.poll())
        if not tables:
            return
        effects = pa.concat_tables(tables)
        self._compare_taken(effects.filter(pc.equal(effects["effect"], _TAKEN)))
        self._compare_answers(effects.filter(pc.is_in(effects["effect"], _FATES)))

    def close(self) -> None:
        """Notes that no more answers will come."""
        for ordered in self.unanswered:
            self.parity.note(ordered, None)

    def _compare_taken(self, facts: pa.Table) -> None:
        for run_id, detail in zip(facts["request_id"].to_pylist(), facts["detail"].to_pylist(), strict=True):
            taken = beats_taken(detail)
            run = self._runs.get(run_id)
            if run is not None and _is_as_recorded(run, taken):
                del self._runs[run_id]
                self.parity.note_equal(HEARTBEAT, len(run.beats))
                continue
            self._maybe_open(run_id)
            for place, beats in enumerate(taken):
                for beat in beats:
                    self._note(beat_id(run_id, place, beat), HeartbeatResponse())

    def _compare_answers(self, answers: pa.Table) -> None:
        columns = [answers[name].to_pylist() for name in ("effect", "request_id", "api", "error_code", "detail")]
        for effect, request_id, api, error_code, detail in zip(*columns, strict=True):
            if api == HEARTBEAT and request_id not in self._requests:
                self._maybe_open(run_id_of(request_id))
            self._note(request_id, response_of(api, error_code, detail) if effect == EffectName.REPLY else None)

    def _maybe_open(self, run_id: str) -> None:
        """From now on the heartbeats of a run are compared one by one."""
        run = self._runs.pop(run_id, None)
        if run is not None:
            self._requests.update(run.by_id())

    def _note(self, request_id: str, ours: Response | None) -> None:
        ordered = self._requests.pop(request_id, None)
        if ordered is not None:
            self.parity.note(ordered, ours)


def _is_as_recorded(run: OrderedRun, taken: list[list[int]]) -> bool:
    """Whether all heartbeats of a run were taken, and the log says so too."""
    if taken != [member.beats for member in run.request.members]:
        return False
    return all(beat.recorded is not None and beat.recorded.error is Error.NONE for beat in run.beats)
