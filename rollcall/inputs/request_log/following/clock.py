"""Time that passes in a followed group: which deadlines fired before a request, which answers were given by then, and
when its coordinator was away. Knows deadlines, silences and expected answers; does not know which request is taken
next.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from rollcall.coordinator_udfs.protocol.deadlines import earliest
from rollcall.inputs.request_log.explaining.rebalances import explain_overdue
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.group_sessions import Sessions
from rollcall.inputs.request_log.following.order import Order
from rollcall.inputs.request_log.following.passed_deadlines import PassedDeadline, ends_session
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.lines.silences import Silence, Silences
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import FIRED_EARLIER_MS, OVERDUE_MS

COORDINATOR_AWAY = "the coordinator is away"
COORDINATOR_BACK = "a coordinator has loaded the group"


@dataclass(slots=True)
class GroupClock:
    model: GroupModel
    order: Order
    sessions: Sessions
    silences: Silences
    broker: str = ""
    """The broker whose group this is."""
    is_away: bool = False
    """Whether its coordinator is known to be away."""

    def let_pass(self, entry: LoggedRequest, at_ms: int) -> int:
        """Fires what is due before a request; returns when the request happens: at a deadline, if that fires after
        it.
        """
        while self.model.next_due_ms(at_ms - 1) is not None and (due := earliest(self.model.group)) is not None:
            passed = PassedDeadline(self.sessions, due, entry, at_ms, self.pass_absence)
            silence = self._silence_at(due.deadline_ms)
            if silence is not None and (silence.is_of_broker or passed.has_survived(silence)):
                self.pass_absence(silence.from_ms, min(silence.until_ms, at_ms))
            elif (request_ms := passed.decide()) is not None:
                return request_ms
        return at_ms

    def pass_silence(self, until_ms: float, absent_ms: float = inf) -> None:
        """Lets time pass while the group sends nothing. No line shows then that a session has ended.

        absent_ms: the last time at which the broker may have been away.
        """
        model = self.model
        while (due_ms := model.next_due_ms(until_ms)) is not None:
            silence = self._silence_at(due_ms) if due_ms <= absent_ms else None
            due = earliest(model.group)
            if silence is not None and silence.is_of_broker:
                self.pass_absence(silence.from_ms, silence.until_ms)
                continue
            if due is not None and ends_session(model, due):
                self.sessions.expire(due)
                # As after a deadline: a request of that time would come before it.
                model.clock_ms = max(model.clock_ms, due.deadline_ms + 1)
            else:
                model.adopt_deadline(model.try_deadline(due_ms))

    # ------------------------------------------------------------ parked requests

    def is_owed(self, entry: LoggedRequest) -> bool:
        """Whether a parked request was surely answered before this one."""
        return self.model.owed_ms + OVERDUE_MS < entry.began_ms

    def answer_overdue(self, until_ms: float) -> None:
        """Applies what answered each parked request whose recorded answer was given before this time."""
        model = self.model
        while model.owed_ms < until_ms:
            overdue = model.first_owed
            due_ms = model.next_due_ms(overdue.recorded.answered_at_ms + FIRED_EARLIER_MS)
            fired = None if due_ms is None else model.try_deadline(due_ms)
            if fired is not None and fired.fits:
                model.adopt_deadline(fired)
            elif not self.explain_answered(overdue):
                model.forget_parked(overdue.request.request_id)

    def explain_answered(self, overdue: LoggedRequest) -> bool:
        """Applies what answered a parked request; False if nothing explains it."""
        request_id = overdue.request.request_id

        def answers(trials: list[Trial]) -> bool:
            return bool(trials) and trials[-1].fits and any(trial.answers(request_id) for trial in trials)

        explanations = explain_overdue(self.model.context(overdue, self.order.in_order()))
        return self.model.adopt_first(explanations, overdue.recorded.answered_at_ms, answers) is not None

    # ------------------------------------------------------------ coordinators that move

    def pass_absence(self, from_ms: int, until_ms: int) -> None:
        """No timer ran in this time, for the coordinator was away."""
        model, request_id = self.model, f"absence@{until_ms}"
        model.forget_all_parked()
        model.observe(model.seen(request_id, COORDINATOR_AWAY, is_away=True), from_ms)
        model.observe(model.seen(request_id, COORDINATOR_BACK, is_loaded=True), until_ms)

    def leave(self, entry: LoggedRequest) -> None:
        """The coordinator refuses the group's requests: its timers stopped at the latest when the first was due."""
        model = self.model
        if self.is_away or not model.group.is_known:
            return
        self.is_away = True
        model.forget_all_parked()
        at_ms = entry.request.received_at_ms
        due_ms = model.next_due_ms(at_ms)
        seen = model.context(entry, ()).seen(COORDINATOR_AWAY, is_away=True)
        model.observe(seen, at_ms if due_ms is None else due_ms)

    def reach(self, entry: LoggedRequest) -> None:
        """The coordinator that answers this request has the group: the same broker as before, after a restart that
        began its sessions anew or not, or another one.
        """
        model, at_ms = self.model, entry.request.received_at_ms
        restart = self.silences.restart_between(self.broker, model.clock_ms, at_ms)
        if restart is not None and model.group.is_known:
            self.let_pass(entry, restart.from_ms)
            self.pass_absence(restart.from_ms, restart.until_ms)
        if self.is_away or (self.broker and entry.broker != self.broker):
            if model.group.is_known:
                self.leave(entry)
                seen = model.context(entry, ()).seen(COORDINATOR_BACK, is_loaded=True)
                model.observe(seen, at_ms)
            self.is_away = False
        self.broker = entry.broker

    def _silence_at(self, at_ms: int) -> Silence | None:
        """The silence of the group's broker around a time, unless the group is past it; or a restart before that."""
        restart = self.silences.restart_between(self.broker, self.model.clock_ms, at_ms)
        silence = restart or self.silences.of(self.broker, at_ms)
        return silence if silence is restart or (silence and self.model.clock_ms < silence.until_ms) else None
