"""One group followed through its recorded requests: their order is the one that explains the recorded answers.

A log's times are milliseconds, and a broker works on several requests at once, fires timers a little late, and answers
a commit after it is replicated. So the order of arrival alone is not the order in which a group saw its requests. The
recorded answers show it. Each request is tried on a model of the group (the pure core). If the answer would differ,
neighbours of the same moment are taken first, or a deadline due about now is moved to the other side of the request. If
no order explains an answer, `explaining` looks for what the recording proves; else it stays a difference.

The outcome is a sequence of requests: applied in this order at these times, the core gives the recorded answers.

Knows the model and the recorded requests of one group; knows no file and no other group.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rollcall.coordinator_udfs.protocol.deadlines import earliest
from rollcall.inputs.request_log.explaining.consumers import NOT_EXPLAINED
from rollcall.inputs.request_log.explaining.context import Context, newcomer_without_line, unlogged_join
from rollcall.inputs.request_log.explaining.explanations import explain
from rollcall.inputs.request_log.explaining.inferred_causes import PartitionCounts
from rollcall.inputs.request_log.following.group_model import GaveUp, GroupModel
from rollcall.inputs.request_log.following.group_sessions import (
    explain_downgrade,
    explain_risen_epoch,
    may_not_be_first,
    shows_other_interval,
    take_given_configs,
    take_shown_interval,
)
from rollcall.inputs.request_log.following.inferring import infer, infer_unproven
from rollcall.inputs.request_log.following.neighbours import (
    first_to_be_assigned,
    first_to_lead,
    is_refused_join,
    path_to,
)
from rollcall.inputs.request_log.following.passed_deadlines import (
    COORDINATOR_AWAY,
    COORDINATOR_BACK,
    answer_overdue,
    explain_answered,
    let_silence_pass,
    let_time_pass,
    pass_absence,
    take_configs,
)
from rollcall.inputs.request_log.following.topic_names import TopicNames
from rollcall.inputs.request_log.following.topics_seen import fit_by_topics, show_upgraded
from rollcall.inputs.request_log.following.trial import Trial, has_changed, waits_in_vain
from rollcall.inputs.request_log.following.unseen_joins import has_joined
from rollcall.inputs.request_log.following.upcoming import Upcoming
from rollcall.inputs.request_log.following.without_trial import can_skip_trial
from rollcall.inputs.request_log.following.worked_on import at_the_best_time, try_later
from rollcall.inputs.request_log.lines.silences import Silence, Silences
from rollcall.inputs.request_log.recorded import GivenUp, LoggedRequest
from rollcall.inputs.request_log.survey import Survey
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    HeartbeatRequest,
    IncrementalAlterConfigsRequest,
    JoinGroupRequest,
    JoinGroupResponseMember,
    OffsetCommitRequest,
    OffsetFetchRequest,
)

EARLY_MS = 25
"""A deadline that is later than a request by up to this much may have fired before it in the broker."""
NEAR_MS = (2.0, 30.0)
"""The broker may have worked on a neighbour first that arrived within this time after a request: two attempts."""
OVERDUE_MS = 3.0
"""A parked request is surely no longer parked this long after its recorded answer."""
SILENCE = "while it was silent"
"""In place of a request, if a group is given up between two of them."""
DEEPEST = 50
"""How many requests may each have to wait for the next one."""
_MOVED = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE})


@dataclass(slots=True)
class Follower:
    """A group while its recorded requests are taken one after another; each is read some time before it is taken."""

    model: GroupModel
    survey: Survey
    names: TopicNames
    silences: Silences
    upcoming: Upcoming = field(default_factory=Upcoming)
    broker: str = ""
    """The broker whose group this is."""
    is_away: bool = False
    """Whether its coordinator is known to be away."""
    is_begun: bool = False
    """Whether a request of it was taken."""
    depth: int = 0
    """How many requests wait for the one being taken."""
    given_up: GivenUp | None = None
    """Where the group was given up; None while it is followed."""
    partition_counts: PartitionCounts = field(default_factory=dict)

    def read(self, entry: LoggedRequest) -> None:
        """Adds a request that will be taken later."""
        self.upcoming.read(entry)
        self.names.read(entry)

    def take(self, entry: LoggedRequest) -> None:
        """Applies a request to the model and emits it, after whatever has to come before it."""
        if entry.is_taken:
            return
        if self.depth:
            self._take(entry)
        elif self.given_up is None:
            self.model.allow_work()
            try:
                self._take(entry)
            except GaveUp:
                self._give_up(entry.request.request_id, left_out=1)
        else:
            self.upcoming.note_taken(entry)
            self.given_up.left_out += 1

    def _give_up(self, request_id: str, left_out: int) -> None:
        """Stops following the group."""
        self.depth = 0
        self.model.forget_all_parked()
        self.given_up = self.model.tally.given_up[self.model.group.group_id] = GivenUp(request_id, left_out)

    def _take(self, entry: LoggedRequest) -> None:
        self.upcoming.note_taken(entry)
        if not self.is_begun:
            self.is_begun = True
            take_given_configs(self.model, entry, self.survey.group_configs)
        if isinstance(entry.request, DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest):
            take_configs(self.model, self.upcoming, entry, self._silence_at)
            return
        if entry.was_refused:
            if entry.recorded.error in _MOVED and entry.broker == self.broker:
                self._leave_coordinator(entry)
            return
        self._pass_restart(entry)
        if self.is_away or (self.broker and entry.broker != self.broker):
            self._reach_coordinator(entry)
        self.broker = entry.broker
        self.names.fill_in(entry.request, self.model.group)
        if self._take_without_trial(entry):
            return
        self.depth += 1
        self._take_by_trial(entry)
        self.depth -= 1

    def finish(self, end_ms: int) -> None:
        """Explains the requests still to be answered when the log ended, and lets time pass until then."""
        self.answer_overdue(end_ms)
        model, absent_ms = self.model, self.silences.absent_until_ms(self.broker)
        try:
            while self.given_up is None and (due_ms := model.next_due_ms(end_ms)) is not None:
                silence = self._silence_at(due_ms) if due_ms <= absent_ms else None
                if silence is not None and silence.is_of_broker:
                    pass_absence(model, silence.from_ms, silence.until_ms)
                else:
                    let_silence_pass(model, due_ms)
        except GaveUp:
            self._give_up(SILENCE, left_out=0)

    def answer_overdue(self, until_ms: float) -> None:
        """Explains the parked requests whose recorded answers were given before this time."""
        try:
            answer_overdue(self.model, self.upcoming, until_ms)
        except GaveUp:
            self._give_up(SILENCE, left_out=0)

    def pass_silence(self, until_ms: int) -> None:
        """Lets time pass while the group is silent: deadlines up to then fire, and observations record it."""
        model = self.model
        model.allow_work()
        try:
            while self.given_up is None and (due_ms := model.next_due_ms(until_ms)) is not None:
                silence = self._silence_at(due_ms)
                if silence is not None and silence.is_of_broker:
                    pass_absence(model, silence.from_ms, silence.until_ms)
                    continue
                let_silence_pass(model, due_ms)
                model.emit_silence()
        except GaveUp:
            self._give_up(SILENCE, left_out=0)

    def _silence_at(self, at_ms: int) -> Silence | None:
        """The silence of the group's broker around a time, unless the group is past it; or a restart before that."""
        restart = self.silences.restart_between(self.broker, self.model.clock_ms, at_ms)
        if restart is not None:
            return restart
        silence = self.silences.of(self.broker, at_ms)
        return silence if silence is not None and self.model.clock_ms < silence.until_ms else None

    def _pass_restart(self, entry: LoggedRequest) -> None:
        """The broker began anew before this request, and loaded the group: its sessions began anew."""
        model, at_ms = self.model, entry.request.received_at_ms
        restart = self.silences.restart_between(self.broker, model.clock_ms, at_ms)
        if restart is None or not model.group.is_known:
            return
        let_time_pass(model, self.upcoming, entry, restart.from_ms, self._silence_at)
        pass_absence(model, restart.from_ms, restart.until_ms)

    def _context(self, entry: LoggedRequest) -> Context:
        """The evidence for an explanation of this request's answer."""
        return self.model.context(entry, self.upcoming.in_order())

    # ------------------------------------------------------------ one request

    def can_skip_trial(self, entry: LoggedRequest) -> bool:
        """Whether a request needs no trial: nothing is due before it, nothing overdue, and it changes nothing."""
        model = self.model
        at_ms = model.when(entry)
        if shows_other_interval(model, entry):
            return False
        due_ms = model.group.next_due_ms
        if due_ms is not None and due_ms < at_ms and model.next_due_ms(at_ms - 1) is not None:
            return False
        return model.owed_ms + OVERDUE_MS >= entry.began_ms and can_skip_trial(model.group, entry)

    def _take_without_trial(self, entry: LoggedRequest) -> bool:
        if not self.can_skip_trial(entry):
            return False
        model, at_ms = self.model, self.model.when(entry)
        if isinstance(entry.request, HeartbeatRequest):
            model.touch(entry, at_ms)
            return True
        if self.upcoming.fetches and isinstance(entry.request, OffsetCommitRequest):
            self._take_readers_first(entry)
            at_ms = model.when(entry)
        model.apply(entry, at_ms)
        return True

    def _take_by_trial(self, entry: LoggedRequest) -> None:
        model = self.model
        if model.owed_ms + OVERDUE_MS < entry.began_ms:
            answer_overdue(model, self.upcoming, entry.began_ms - OVERDUE_MS)
        self._take_first_to_join(entry)
        at_ms = let_time_pass(model, self.upcoming, entry, model.when(entry), self._silence_at)
        infer(model, self.upcoming, self.survey, self.partition_counts, entry)
        take_shown_interval(model, entry)
        show_upgraded(model.group, entry, self.names, self.survey.topics)
        trial = model.try_request(entry, at_ms)
        trial = explain_downgrade(model, self.upcoming, entry, trial) or trial
        if not trial.fits:
            trial = self._make_fit(entry, trial)
        elif waits_in_vain(entry, trial):
            trial = self._after_neighbours(entry, at_ms, NEAR_MS[0], at_once=True) or trial
        if trial.fits:
            trial = at_the_best_time(model, self.upcoming, entry, trial)
        elif is_refused_join(entry):
            return
        if self.depth <= DEEPEST:
            trial = self._take_earlier_ones(entry, trial)
        model.adopt(trial, entry)
        if entry.recorded.error is Error.MEMBER_ID_REQUIRED:
            self._take_unlogged_join(entry)

    # ------------------------------------------------------------ what comes before it

    def _make_fit(self, entry: LoggedRequest, trial: Trial) -> Trial:
        """Finds what came before a request that does not fit the model, nearest explanation first."""
        model, at_ms = self.model, trial.at_ms
        for near_ms in NEAR_MS:
            fitting = self._after_a_deadline(entry, at_ms) or self._after_neighbours(entry, at_ms, near_ms)
            if fitting is not None:
                return fitting
        # A silent member expired: more likely than that topics changed at the same time.
        risen = explain_risen_epoch(model, self.upcoming, entry, max(model.clock_ms, at_ms))
        if risen is not None:
            return risen
        fitting = fit_by_topics(model, self.upcoming, entry, at_ms, self.names, self.survey.topics)
        fitting = fitting or try_later(model, entry, at_ms)
        if fitting is not None:
            return fitting
        if explain_answered(model, self.upcoming, entry):
            again = model.try_request(entry, max(model.clock_ms, at_ms))
            if again.fits:
                return again
        for requests in explain(self._context(entry)):
            tried = model.try_unlogged(requests, max(model.clock_ms, at_ms))
            if all(each.fits for each in tried) and model.try_request(entry, at_ms, tried[-1].group).fits:
                model.adopt_unlogged(requests, tried)
                if getattr(requests[0], "why", "") == NOT_EXPLAINED and not model.is_older_than_log:
                    model.is_elsewhere = True
                return model.try_request(entry, max(model.clock_ms, at_ms))
        model.tally.unsettled[entry.recorded.message.api] += 1
        infer_unproven(model, entry)
        return model.try_request(entry, max(model.clock_ms, at_ms))

    def _after_a_deadline(self, entry: LoggedRequest, at_ms: int) -> Trial | None:
        """A deadline that is due about now fired before the request."""
        model = self.model
        due_ms = model.next_due_ms(max(at_ms, entry.until_ms) + EARLY_MS)
        due = earliest(model.group)
        if due_ms is None or due is None or may_not_be_first(model, self.upcoming, entry, due):
            return None
        fired = model.try_deadline(due_ms)
        later_ms = max(at_ms, due_ms + 1)
        if not fired.fits or not model.try_request(entry, later_ms, fired.group).fits:
            return None
        model.adopt_deadline(fired)
        return model.try_request(entry, later_ms)

    def _after_neighbours(
        self, entry: LoggedRequest, at_ms: int, near_ms: float, *, at_once: bool = False
    ) -> Trial | None:
        """Other requests of the same moment came before it. at_once: so that it is answered and need not wait."""
        if self.depth > DEEPEST:
            return None
        path = path_to(self.model, self.upcoming, entry, at_ms, near_ms, at_once=at_once)
        if path is None:
            return None
        for other in path:
            self.take(other)
        return self.model.try_request(entry, max(self.model.clock_ms, at_ms))

    def _take_unlogged_join(self, entry: LoggedRequest) -> None:
        """A newcomer without a line joined at once with its id and died waiting. It is in the next generation, or a
        member is refused because of it, or learns of the rebalance.
        """
        model = self.model
        context = self._context(entry)
        listed = newcomer_without_line(context)
        request = entry.request
        given_id = request.recorded_member_id if isinstance(request, JoinGroupRequest) else None
        if listed is None and given_id and has_joined(model, entry, context.upcoming, given_id):
            listed = JoinGroupResponseMember(member_id=given_id, metadata=b"")
        join = None if listed is None else unlogged_join(context, listed)
        if join is not None:
            trials = model.try_unlogged([join], max(model.clock_ms, entry.recorded.answered_at_ms))
            if trials[0].fits:
                model.adopt_unlogged([join], trials)

    def _take_first_to_join(self, entry: LoggedRequest) -> None:
        """Takes the clients that joined an Empty group before this request, as the answers show."""
        model = self.model
        if self.depth > DEEPEST or (model.group.is_known and not model.group.is_empty):
            return
        first = first_to_be_assigned(self.upcoming, entry, NEAR_MS[1])
        leader = first_to_lead(model.group, self.upcoming, entry, NEAR_MS[1])
        if first is None and leader is not None and model.try_request(leader, model.clock_ms).fits:
            first = leader
        if first is not None:
            self.take(first)

    def _take_earlier_ones(self, entry: LoggedRequest, trial: Trial) -> Trial:
        """A request that changes the group waits for neighbours that fit before it and not after it."""
        model = self.model
        while trial.fits and has_changed(model.group, trial.group):
            earlier = next(
                (other for other in self.upcoming.near(entry, NEAR_MS[0]) if self._is_first(other, trial, entry)), None
            )
            if earlier is None:
                break
            self.take(earlier)
            trial = model.try_request(entry, max(model.clock_ms, trial.at_ms))
        return trial

    def _is_first(self, other: LoggedRequest, trial: Trial, entry: LoggedRequest) -> bool:
        """Whether a neighbour fits before this request, which still fits then, and not after it."""
        model = self.model
        first = model.try_request(other, trial.at_ms)
        if not first.fits or not model.try_request(entry, trial.at_ms, first.group, [other]).fits:
            return False
        at_ms = max(trial.at_ms, other.request.received_at_ms)
        return not model.try_request(other, at_ms, trial.group).fits

    def _take_readers_first(self, entry: LoggedRequest) -> None:
        """A fetch sees a commit only when that is answered; one that saw the offsets before it comes first."""
        for other in self.upcoming.near(entry, NEAR_MS[0]):
            is_fetch = isinstance(other.request, OffsetFetchRequest)
            if is_fetch and self.model.try_request(other, self.model.when(other)).fits:
                self.take(other)

    # ------------------------------------------------------------ coordinators that move

    def _leave_coordinator(self, entry: LoggedRequest) -> None:
        """The coordinator refuses the group's requests: its timers stopped at the latest when the first was due."""
        model = self.model
        if self.is_away or not model.group.is_known:
            return
        self.is_away = True
        model.forget_all_parked()
        at_ms = entry.request.received_at_ms
        due_ms = model.next_due_ms(at_ms)
        seen = self._context(entry).seen(COORDINATOR_AWAY, is_away=True)
        model.observe(seen, max(model.clock_ms, at_ms if due_ms is None else due_ms))

    def _reach_coordinator(self, entry: LoggedRequest) -> None:
        """A coordinator, the same broker or another, answers for the group again."""
        if self.model.group.is_known:
            self._leave_coordinator(entry)
            seen = self._context(entry).seen(COORDINATOR_BACK, is_loaded=True)
            self.model.observe(seen, self.model.when(entry))
        self.is_away = False
