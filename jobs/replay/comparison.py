"""Compares the answers that a log records with those that the stream gives.

Nearly all answers are to heartbeats and hold an error code alone, so those are compared column by column, and all
others one by one. Knows the effects table's columns and which rows wait for an answer; must not know what makes two
answers equal.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from request_log.parity import Parity
from request_log.recorded import OrderedRequest
from schemas.effect_names import EffectName
from schemas.messages import HeartbeatRequest
from tables.replies import REPLY_COLUMNS, response_of
from tables.table_follower import TableFollower

HEARTBEAT = "Heartbeat"
_FATES = pa.array([EffectName.REPLY.value, EffectName.REQUEST_DROPPED.value])


class Comparison:
    """`expect` takes recorded answers, from any thread; `compare` takes ours from the table's new commits."""

    def __init__(self, effects: Path, parity: Parity) -> None:
        self.parity = parity
        self._follower = TableFollower(effects, REPLY_COLUMNS, from_version=0)
        self._rows: dict[str, OrderedRequest] = {}
        self._heartbeats: list[OrderedRequest] = []
        self._changing = threading.Lock()

    @property
    def unanswered(self) -> list[OrderedRequest]:
        """Rows whose recorded answers were not compared yet."""
        with self._changing:
            return [*self._rows.values(), *self._heartbeats]

    def expect(self, rows: Iterable[OrderedRequest]) -> None:
        """Takes rows that will be answered; skips those for which the log has no answer."""
        recorded = [row for row in rows if row.recorded is not None]
        heartbeats = [row for row in recorded if isinstance(row.request, HeartbeatRequest)]
        others = {row.request.request_id: row for row in recorded if not isinstance(row.request, HeartbeatRequest)}
        with self._changing:
            self._heartbeats += heartbeats
            self._rows.update(others)

    def compare(self) -> None:
        """Notes in the parity what was answered since the last call."""
        tables = list(self._follower.poll())
        if not tables:
            return
        effects = pa.concat_tables(tables)
        answers = effects.filter(pc.is_in(effects["effect"], _FATES))
        of_heartbeat = pc.equal(answers["api"], HEARTBEAT)
        self._compare_heartbeats(answers.filter(of_heartbeat))
        self._compare_others(answers.filter(pc.invert(of_heartbeat)))

    def close(self) -> None:
        """Notes that no more answers will come."""
        for row in self.unanswered:
            self.parity.note(row, None)

    def _compare_heartbeats(self, answers: pa.Table) -> None:
        with self._changing:
            rows, self._heartbeats = self._heartbeats, []
        ids = pa.array([row.request.request_id for row in rows], pa.string())
        recorded = pa.array([_recorded_error(row) for row in rows], pa.string())
        ours = answers["error_code"].take(pc.index_in(ids, value_set=answers["request_id"]))
        self.parity.note_equal(HEARTBEAT, pc.sum(pc.equal(ours, recorded)).as_py() or 0)
        waiting = [rows[n] for n in _positions(pc.is_null(ours))]
        for n in _positions(pc.not_equal(ours, recorded)):
            self.parity.note(rows[n], response_of(HEARTBEAT, ours[n].as_py(), None))
        with self._changing:
            self._heartbeats = waiting + self._heartbeats

    def _compare_others(self, answers: pa.Table) -> None:
        columns = [answers[name].to_pylist() for name in ("effect", "api", "error_code", "detail")]
        with self._changing:
            rows = [self._rows.pop(request_id, None) for request_id in answers["request_id"].to_pylist()]
        for row, (effect, api, error_code, detail) in zip(rows, zip(*columns, strict=True), strict=True):
            if row is not None:
                self.parity.note(row, response_of(api, error_code, detail) if effect == EffectName.REPLY else None)


def _recorded_error(row: OrderedRequest) -> str:
    assert row.recorded is not None
    return row.recorded.error.value


def _positions(mask: pa.ChunkedArray) -> Sequence[int]:
    found: list[int] = pc.indices_nonzero(mask).to_pylist()
    return found
