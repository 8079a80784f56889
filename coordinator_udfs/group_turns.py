"""One group's share of a batch: its requests in order, its deadlines between them, its facts as rows, its new state.

Knows the two clocks, what a group remembers from batch to batch, and how to continue when a turn fails. Knows no rule
of the protocol, no pandas and no Spark.
"""

from __future__ import annotations

import traceback
from operator import itemgetter
from typing import NamedTuple

import msgspec

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.join_group import new_member_id
from rollcall.coordinator_udfs.protocol.lifecycle import resume_group
from rollcall.coordinator_udfs.protocol.members import unused_uuid_text
from rollcall.coordinator_udfs.protocol.step import expire_due, next_deadline_ms, step
from rollcall.coordinator_udfs.request_texts import arrival_of, read_request
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.coordinator_udfs.state_codec import StateError, StateRow, StreamMemory, decode, decode_with_memory, encode
from rollcall.coordinator_udfs.turn_budget import (
    HEARTBEAT_WORK,
    TurnBudget,
    Waiting,
    busy_reply,
    throttle,
    what_is_kept,
)
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, row_of
from rollcall.schemas.effects import Effect, Reply, RequestRepeated, RequestsPutOff
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    HeartbeatRunRequest,
    JoinGroupRequest,
    StreamRequest,
)
from rollcall.schemas.wire_fields import RequestError

BROKEN_RETRY_MS = 60_000
"""How long after a failure a group is called again."""
_FACTS_A_REQUEST_BITS = 8
_LAST_FACT = (1 << _FACTS_A_REQUEST_BITS) - 1
_TRACE_CHARACTERS = 4000

_in_order = itemgetter(0, 1, 2, 3)


class Outcome(NamedTuple):
    """The result of a group's share of a batch."""

    rows: list[EffectRow]
    row: StateRow | None
    """The group's new state; None if the group is unknown now."""
    deadline_ms: int | None
    """When the group must be called again; None if nothing will ever be due."""
    is_sweep: bool = False
    """Whether the deadline is the offset sweep's, for which no client waits."""


def take_turns(
    group_id: str, texts: list[str], stored: StateRow | None, at_ms: int, settings: StreamSettings
) -> Outcome:
    """Applies a batch's requests to their group and fires the deadlines that have passed.

    at_ms: the batch's timestamp on the processing clock, the watermark on the event clock. Raises nothing: a request
    that fails is put into quarantine with its trace, and the group stays as it was before it.
    """
    try:
        turns = GroupTurns(group_id, stored, at_ms, settings)
        return turns.take(texts)
    except StateError as error:
        reason = str(error)
    except Exception:
        reason = f"group {group_id!r} broke: {_trace()}"
    rows = [quarantined(text, reason, at_ms, settings) for text in texts] or [quarantined("", reason, at_ms, settings)]
    return Outcome(rows, stored, None if stored is None else at_ms + BROKEN_RETRY_MS)


def quarantined(
    text: str, reason: str, at_ms: int | None, settings: StreamSettings, received_at_ms: int | None = None
) -> EffectRow:
    """A row for the quarantine; its raw text is cut to the limit."""
    if received_at_ms is None:
        received_at_ms = arrival_of(text)
    return EffectRow(
        0,
        QUARANTINED,
        at_ms if settings.clock is Clock.PROCESSING else received_at_ms,
        received_at_ms=received_at_ms,
        cause=reason,
        detail=_cut(text, settings.quarantine_raw_max_bytes),
    )


class GroupTurns:
    """A group while a batch's requests are applied to it."""

    def __init__(self, group_id: str, stored: StateRow | None, at_ms: int, settings: StreamSettings) -> None:
        self.group_id = group_id
        self.at_ms = at_ms
        self.settings = settings
        self.rows: list[EffectRow] = []
        self.memory = StreamMemory()
        self.seen: dict[str, None] = {}
        # A turn that failed is undone from here: the group as text (None: unknown), and what was applied to it since.
        self._base: str | None = None
        self._applied: list[tuple[StreamRequest | None, int]] = []
        self._are_timers_broken = False
        self._budget = TurnBudget(settings.turn_max_work)
        self._is_cut = False
        self._last_at_ms = at_ms
        self.group = Group(group_id)
        if stored is not None:
            self._load(stored.document)
        # A wall clock that was set back must not take a group back in time.
        is_live = settings.clock is Clock.PROCESSING
        self.now_ms = max(at_ms, self.group.updated_at_ms) if is_live else at_ms
        self.armed_from_ms = self.now_ms if is_live else None

    def take(self, texts: list[str]) -> Outcome:
        """Applies all requests in order of arrival, fires what is due before each, and then what is due by the batch's
        own time.

        Those that an earlier batch put off come first. Once the turn has used its budget, the rest is put off. Time
        then passes only up to the last request that was applied.
        """
        put_off, self.memory.put_off = self.memory.put_off, []
        again = [(text, self._read_one(text)) for text in put_off]
        waiting = [(text, request) for text, request in again if request is not None]
        from_before = len(waiting)
        waiting += self._read(texts)
        budget = self._budget
        for place, each in enumerate(waiting):
            if budget.left <= 0 or not self._apply(each, is_from_before=place < from_before):
                self._put_off(waiting[place:])
                return self._outcome()
        self._let_time_pass(self.now_ms if self.armed_from_ms is not None else self.at_ms - 1)
        if self._is_cut:
            self._put_off([])
        return self._outcome()

    # ------------------------------------------------------------ before

    def _load(self, document: str) -> None:
        """Reads the stored group; if the coordinator was away, its deadlines move by the time that was lost."""
        self.group, self.memory = decode_with_memory(self.group_id, document)
        self.seen = dict.fromkeys(self.memory.request_ids)
        has_resumed = self.settings.clock is Clock.PROCESSING and self._maybe_resume(self.group, self.memory)
        self._base = encode(self.group).document if has_resumed else document

    def _maybe_resume(self, group: Group, memory: StreamMemory) -> bool:
        """Moves deadlines later: once in each run of the job, and when the coordinator was asleep as they fell due.

        A batch that an earlier run began is run again unchanged, since its effects may have been committed.
        """
        settings = self.settings
        if self.at_ms < settings.started_at_ms:
            return False
        is_new_run = memory.run_started_at_ms < settings.started_at_ms
        if is_new_run:
            resume_group(group, settings.started_at_ms, settings.group)
            memory.resumed_at_ms = memory.run_started_at_ms = settings.started_at_ms
        due_ms = next_deadline_ms(group)
        has_slept = due_ms is not None and due_ms < self.at_ms - settings.stall_ms
        if has_slept:
            # One millisecond later, to distinguish moved deadlines from those that a request of this batch will arm.
            from_ms = self.at_ms + 1
            resume_group(group, from_ms, settings.group, None if is_new_run else memory.resumed_at_ms)
            memory.resumed_at_ms = from_ms
        return is_new_run or has_slept

    def _read(self, texts: list[str]) -> list[Waiting]:
        """The requests in order; a row that is not a request goes to quarantine. The order has no ties, since a batch
        may be run again.
        """
        keyed = []
        for text in texts:
            request = self._read_one(text)
            if request is not None:
                keyed.append((request.received_at_ms, request.request_seq, request.request_id, text, request))
        keyed.sort(key=_in_order)
        return [entry[3:] for entry in keyed]

    def _read_one(self, text: str) -> StreamRequest | None:
        try:
            return read_request(text, self.group_id, is_replay=self.settings.clock is Clock.EVENT)
        except RequestError as error:
            self.rows.append(quarantined(text, str(error), self.at_ms, self.settings))
            return None

    # ------------------------------------------------------------ turns

    def _apply(self, waiting: Waiting, *, is_from_before: bool) -> bool:
        """Fires what is due before the request and applies it; False if too much was due, so that the request has to
        wait."""
        request = waiting[1]
        at_ms = request.received_at_ms
        if self.armed_from_ms is not None and at_ms > self.now_ms:
            at_ms = self.now_ms
        if at_ms < self.group.updated_at_ms:
            at_ms = self.group.updated_at_ms
        begin_ms = at_ms
        if type(request) is HeartbeatRunRequest:
            begin_ms = max(min(request.from_ms, at_ms), self.group.updated_at_ms)
        due_ms = self.group.next_due_ms
        if due_ms is not None and due_ms < begin_ms:
            self._let_time_pass(begin_ms - 1)
            if self._is_cut:
                return False
        self._last_at_ms = at_ms
        rows_before = len(self.rows)
        self._step(request, at_ms, is_from_before=is_from_before)
        if type(request) is HeartbeatRequest and len(self.rows) == rows_before + 1:
            self._budget.left -= HEARTBEAT_WORK
        else:
            self._budget.spend_on_request(waiting, self.rows[rows_before:], self.group)
        return True

    def _step(self, request: StreamRequest, at_ms: int, *, is_from_before: bool) -> None:
        was_known = self.group.is_known
        if was_known and self._is_repeated(request):
            self._emit([_repeated(request, at_ms)], 0)
            return
        rows_before, memory = len(self.rows), (self.memory.seq_at_ms, self.memory.seq)
        try:
            effects = step(self.group, request, at_ms, self.settings.group, self.armed_from_ms)
            if is_from_before:
                _throttle(effects, request)
            self._emit(effects, 0 if was_known else _first_seq(request))
        except Exception:
            del self.rows[rows_before:]
            self.memory.seq_at_ms, self.memory.seq = memory
            self._undo()
            reason = f"applying it broke the group, which is as it was before: {_trace()}"
            self.rows.append(
                quarantined(
                    msgspec.json.encode(request).decode(), reason, self.at_ms, self.settings, request.received_at_ms
                )
            )
            return
        self._applied.append((request, at_ms))
        if self.group.is_known:
            self.seen[request.request_id] = None
            if len(self.seen) > self.settings.remembered_request_ids:
                del self.seen[next(iter(self.seen))]
        else:
            self._forget()

    def _let_time_pass(self, until_ms: int) -> None:
        """Fires what is due up to and at until_ms."""
        due_ms = self.group.next_due_ms
        if due_ms is None or due_ms > until_ms or self._are_timers_broken:
            return
        try:
            effects = expire_due(self.group, until_ms, self.settings.group, self.armed_from_ms, self._budget.left)
        except Exception:
            self._undo()
            self._are_timers_broken = True
            reason = f"a deadline of group {self.group_id!r} broke, it is tried again later: {_trace()}"
            self.rows.append(quarantined("", reason, self.at_ms, self.settings))
            return
        self._applied.append((None, until_ms))
        rows_before = len(self.rows)
        self._emit(effects, 0)
        self._budget.spend_on_facts(self.rows[rows_before:], self.group)
        due_ms = self.group.next_due_ms
        self._is_cut = self._budget.left <= 0 and due_ms is not None and due_ms <= until_ms
        if not self.group.is_known:
            self._forget()

    def _is_repeated(self, request: StreamRequest) -> bool:
        """Whether the request came before: its id is remembered, or it would get a member id that was given out
        already.
        """
        if request.request_id in self.seen:
            return True
        if not isinstance(request, JoinGroupRequest | ConsumerGroupHeartbeatRequest) or request.member_id:
            return False
        group = self.group
        if group.consumer is not None or isinstance(request, ConsumerGroupHeartbeatRequest):
            return unused_uuid_text(self.group_id, request, ()) in group.roster.members
        member_id = request.recorded_member_id or new_member_id(request)
        return member_id in group.members or member_id in group.pending

    def _forget(self) -> None:
        """Forgets a group that is unknown now, with its request ids: the next batch will not have them either."""
        self.group = Group(self.group_id, configs=self.group.configs)
        self._rebase()
        self.memory.seq_at_ms = -1
        self.seen.clear()

    def _undo(self) -> None:
        """Restores the group as it was before the turn that failed: from the last stored text, with every turn since
        applied again.
        """
        self.group = Group(self.group_id) if self._base is None else decode(self.group_id, self._base)
        for request, at_ms in self._applied:
            if request is None:
                expire_due(self.group, at_ms, self.settings.group, self.armed_from_ms)
            else:
                step(self.group, request, at_ms, self.settings.group, self.armed_from_ms)
        self._rebase()

    def _rebase(self) -> None:
        """A turn that fails is undone from here on; None: nothing of the group is to be remembered."""
        self._base = encode(self.group).document if self.group.is_kept else None
        self._applied.clear()

    # ------------------------------------------------------------ after

    def _put_off(self, waiting: list[Waiting]) -> None:
        """Keeps the remaining requests for the next batch, and answers those that it has no room for."""
        kept, refused = what_is_kept(waiting)
        self.memory.put_off = [text for text, _ in kept]
        self._is_cut = True
        at_ms = self.group.updated_at_ms if self.group.is_known else self._last_at_ms
        effects: list[Effect] = [busy_reply(request, at_ms) for request in refused]
        effects.append(
            RequestsPutOff(
                at_ms=at_ms,
                requests=len(kept),
                refused=len(refused),
                work=self.settings.turn_max_work - int(self._budget.left),
            )
        )
        # Numbered after the facts of a request to an unknown group at the same moment.
        first_seq = 0 if self.group.is_known or not waiting else _first_seq(waiting[0][1]) + _LAST_FACT
        self._emit(effects, first_seq)

    def _emit(self, effects: list[Effect], first_seq: int) -> None:
        """Turns effects into rows, numbered within their millisecond. first_seq: the first number of a group without
        memory.
        """
        memory = self.memory
        at_ms, seq = memory.seq_at_ms, memory.seq
        for effect in effects:
            if effect.at_ms == at_ms:
                seq += 1
            else:
                at_ms, seq = effect.at_ms, first_seq
            self.rows.append(row_of(effect, seq))
        memory.seq_at_ms, memory.seq = at_ms, seq

    def _outcome(self) -> Outcome:
        if not self.group.is_kept and not self.memory.put_off:
            return Outcome(self.rows, None, None)
        self.memory.request_ids = list(self.seen)
        if self.memory.run_started_at_ms == 0 and self.at_ms >= self.settings.started_at_ms:
            self.memory.run_started_at_ms = self.settings.started_at_ms
        row = encode(self.group, self.memory)
        deadline_ms = self.at_ms + 1 if self._is_cut else row.next_deadline_ms
        if self._are_timers_broken:
            deadline_ms = self.at_ms + BROKEN_RETRY_MS
        is_sweep = deadline_ms is not None and deadline_ms == self.group.sweep_deadline_ms
        return Outcome(self.rows, row, deadline_ms, is_sweep)


def _repeated(request: StreamRequest, at_ms: int) -> RequestRepeated:
    return RequestRepeated(
        at_ms=at_ms,
        request_id=request.request_id,
        api=str(type(request).__struct_config__.tag),
        member_id=getattr(request, "member_id", ""),
    )


def _first_seq(request: StreamRequest) -> int:
    """The first sequence number of a request's facts in a group that remembers no number."""
    return (request.request_seq & 0xFFFFFF) << _FACTS_A_REQUEST_BITS


def _throttle(effects: list[Effect], request: StreamRequest) -> None:
    """Adds a throttle time to the answers that a request got at once."""
    for effect in effects:
        if isinstance(effect, Reply) and effect.request_id == request.request_id:
            throttle(effect.response)


def _trace() -> str:
    return traceback.format_exc(limit=-6)[-_TRACE_CHARACTERS:]


def _cut(text: str, most_bytes: int) -> str:
    """The text, or its beginning if it is longer than this many bytes."""
    if len(text) * 4 <= most_bytes:
        return text
    return text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
