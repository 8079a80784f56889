"""A deadline of a followed group that has passed by the time of a request: did it fire before the request?

A broker's timers fire a few milliseconds late and a log's times are rounded, so a deadline that is due about now may
have fired before a request or after it: the recorded answers decide. If a deadline of the model passes and the
recording shows that it did not fire, or that another one did, an observation corrects the model. Knows one deadline and
one request; does not know which request is taken next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from rollcall.coordinator_udfs.protocol.deadlines import Due, earliest
from rollcall.coordinator_udfs.protocol.group_configs import SESSION_TIMEOUT
from rollcall.coordinator_udfs.protocol.turn import Timer
from rollcall.inputs.request_log.explaining.rebalances import explain_overdue, explain_survival
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.group_sessions import OF_MEMBERS, Sessions, first_that_shows
from rollcall.inputs.request_log.following.order import Order
from rollcall.inputs.request_log.following.session_proofs import shown_end
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.lines.silences import Silence
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import DEADLINE_LATE_MS, TIMERS_TOGETHER_MS
from rollcall.schemas.effects import Reply
from rollcall.schemas.messages import JoinGroupRequest

MOST_SURVIVALS = 20
"""If a member survives more sessions of silence, its coordinator was away, or the log has a hole."""


@dataclass
class PassedDeadline:
    """One deadline, beside the request that is taken next. What it finds holds until a rule changes the model."""

    sessions: Sessions
    due: Due
    entry: LoggedRequest
    at_ms: int
    """When the request happens if no deadline fires after it."""
    pass_absence: Callable[[int, int], None]
    """Lets a time pass in which the coordinator was away."""
    request_ms: int | None = None
    """When the request happens, if the deadline fires after it."""

    def decide(self) -> int | None:
        """Lets it fire or not by the first rule that speaks. Returns when the request happens if it fires after that;
        None: it is settled.
        """
        next(rule for rule in RULES if rule(self))
        return self.request_ms

    def has_survived(self, silence: Silence) -> bool:
        """Whether a member sends a request again after a silence in which its session would have ended."""
        ends_ms = [(one.session_deadline_ms, one.member_id) for one in self.model.group.members.values()]
        return not silence.is_disproved and any(
            self._heard_of(Due(at_ms, None, member_id)) is not None
            for at_ms, member_id in ends_ms
            if at_ms is not None and silence.from_ms < at_ms <= silence.until_ms
        )

    # ------------------------------------------------------------ what the recording shows

    @property
    def model(self) -> GroupModel:
        """The group."""
        return self.sessions.model

    @property
    def order(self) -> Order:
        """The requests that follow."""
        return self.sessions.order

    @cached_property
    def is_session(self) -> bool:
        """Whether it ends a member's session: a member with a parked request survives it."""
        return ends_session(self.model, self.due)

    @cached_property
    def fired(self) -> Trial:
        """What it leads to."""
        return self.model.try_deadline(self.due.deadline_ms)

    @cached_property
    def heard(self) -> LoggedRequest | None:
        """Its member's next request, if that shows that its session did not end."""
        return self._heard_of(self.due)

    def _heard_of(self, due: Due) -> LoggedRequest | None:
        """A consumer group takes a JoinGroup of an id whose session has ended as well. The answer of a broker that is
        loading shows nothing of the session.
        """
        later = self.order.since(self.entry) if due.timer is None else ()
        heard = next((each for each in later if each.member_id == due.member_id and not each.was_refused), None)
        if heard is None or heard.recorded.error not in OF_MEMBERS:
            return None
        return None if self.model.group.consumer is not None and isinstance(heard.request, JoinGroupRequest) else heard

    @cached_property
    def fits_before(self) -> bool:
        """Whether the request is answered as recorded if it comes before the deadline."""
        at_ms = min(self.at_ms, max(self.model.clock_ms, self.due.deadline_ms))
        return self.model.try_request(self.entry, at_ms).fits

    @cached_property
    def fires_before(self) -> bool:
        """Whether it fired before the request."""
        if not self.fired.fits or self.heard is not None:
            return False
        before, parked = self.fits_before, self.model.parked
        after = self.model.try_request(self.entry, self.at_ms, self.fired.group).fits
        answered = [
            parked[effect.request_id].recorded.answered_at_ms
            for effect in self.fired.effects
            if isinstance(effect, Reply) and effect.request_id in parked
        ]
        return after if before is not after else not answered or self.entry.until_ms >= min(answered)

    @property
    def late_ms(self) -> int:
        """How much earlier it is than the request."""
        return self.at_ms - self.due.deadline_ms

    # ------------------------------------------------------------ whether a session has ended

    @cached_property
    def is_shown(self) -> bool | None:
        """Whether answers show that the session has ended; None: nothing at hand shows that it ended or continued."""
        return shown_end(self.model.group, self.order.since(self.entry), self.due)

    @cached_property
    def may_be_earlier(self) -> bool:
        """Whether the session may have ended before: its member sent nothing since the epoch rose, in a group older
        than its log.
        """
        consumer, rebalance = self.model.group.consumer, self.model.group.rebalance
        member = None if consumer is None else consumer.members.get(self.due.member_id)
        if member is None or rebalance is None:
            return False
        return member.last_seen_at_ms < rebalance.started_at_ms and self.model.is_older_than_log

    @property
    def may_not_be_first(self) -> bool:
        """Whether a session that has ended at about the request's time may not be what its answer shows."""
        is_of_session = self.due.timer is None and self.due.member_timer is None
        return is_of_session and (self.may_be_earlier or self._may_follow_another)

    @cached_property
    def _may_follow_another(self) -> bool:
        """Whether a silent member of the newer protocol may have ended before this classic one: epochs rose by more
        than classic members ended, and the log does not say how long sessions of the newer protocol are.
        """
        group, consumer = self.model.group, self.model.group.consumer
        if consumer is None or not self._is_beside_unknown_sessions:
            return False
        later = self.order.since(self.entry)
        shown = next((each for each in later if each.answered_epoch > group.generation_id), None)
        if shown is None:
            return False
        ends_ms = [each.session_deadline_ms for each in consumer.members.values() if each.classic is not None]
        ended = [each for each in ends_ms if each is not None and each <= shown.recorded.answered_at_ms]
        silent = self.sessions.silent_newer(self.due.deadline_ms)
        is_another = any(each.member_id != self.entry.member_id for each in silent)
        return is_another and shown.answered_epoch - group.generation_id > len(ended)

    @property
    def _is_beside_unknown_sessions(self) -> bool:
        """Whether it is a classic member's session, and no line says how long those of the newer protocol are."""
        consumer = self.model.group.consumer
        member = None if consumer is None else consumer.members.get(self.due.member_id)
        return member is not None and member.classic is not None and SESSION_TIMEOUT not in self.model.group.configs

    @property
    def _is_proven(self) -> bool | None:
        """The same as `is_shown`; None too where another session may have ended instead."""
        is_open = self.may_be_earlier or (self.is_shown and self._may_follow_another)
        return None if is_open else self.is_shown

    @property
    def _has_ended(self) -> bool:
        """Whether it is a session that has ended, as far as the recording allows it."""
        is_possible = self.is_session and self.heard is None
        return is_possible and ((self.may_be_earlier and self.late_ms > DEADLINE_LATE_MS) or self.fires_before)

    # ------------------------------------------------------------ rules: each says whether it has settled the deadline

    def session_is_shown_to_go_on(self) -> bool:
        """An answer shows it. A found member may be a static one that has left, which raises no epoch."""
        is_alive = self.is_session and self.heard is None and self.is_shown is False
        is_known = self.due.member_id not in self.model.found
        is_ongoing = is_alive and (self.late_ms > DEADLINE_LATE_MS or (is_known and self.fits_before))
        if is_ongoing:
            self.sessions.note_survived(self.due, self.at_ms, self.entry.request.request_id)
        return is_ongoing

    def session_ends_in_spite_of_answers(self) -> bool:
        """This request fits only after its end, and a later answer shows it going on."""
        ends = self._has_ended and self._is_proven is False
        if ends:
            self.sessions.expire(self.due)
        return ends

    def newer_members_end_first(self) -> bool:
        """The silent members of the newer protocol end before the session of a classic one: the next answer that shows
        an epoch is a classic group's, so they ended too, and no line says how long their sessions are.
        """
        group, consumer = self.model.group, self.model.group.consumer
        if consumer is None or not (self._has_ended and self._is_beside_unknown_sessions):
            return False
        shows = first_that_shows(self.order.since(self.entry))
        newer = sum(each.classic is None for each in consumer.members.values())
        silent = self.sessions.silent_newer(self.due.deadline_ms)
        is_classic = shows is not None and shows.classic_generation_id > group.generation_id
        ended = sorted(silent, key=lambda each: each.last_seen_at_ms) if is_classic and len(silent) >= newer else []
        for each in ended:
            self.sessions.expire(Due(self.due.deadline_ms, None, each.member_id))
        return bool(ended)

    def sessions_end_together(self) -> bool:
        """Sessions that have ended at about the same time end together; which ended first is not known."""
        group, until_ms = self.model.group, self.due.deadline_ms + TIMERS_TOGETHER_MS
        if not self._has_ended:
            return False
        members = group.members if group.consumer is None else group.consumer.members
        ends_ms = [(m.session_deadline_ms, one) for one, m in members.items() if one != self.due.member_id]
        near = [Due(at_ms, None, one) for at_ms, one in ends_ms if at_ms is not None and at_ms <= until_ms]
        others = [due for due in near if ends_session(self.model, due) and self._heard_of(due) is None]
        return bool(others) and self.sessions.expire_together([self.due, *sorted(others)])

    def session_ends_unproven(self) -> bool:
        """No answer proves its end; what fits a group that lines do not lead to proves little."""
        ends = (self._has_ended and self._is_proven is None) or (
            self.is_session and self.model.is_elsewhere and self.fires_before
        )
        if ends:
            self.sessions.expire(self.due)
        return ends

    def fires(self) -> bool:
        """It fired before the request, if need be after what the recording implies of a join phase that ends now."""
        if not self.fires_before and not self._ends_join_phase():
            return False
        self.model.adopt_deadline(self.fired if self.fires_before else self.model.try_deadline(self.due.deadline_ms))
        return True

    def _ends_join_phase(self) -> bool:
        """Applies what the recording implies, so that a join phase that ends now ends as recorded."""
        model, deadline_ms = self.model, self.due.deadline_ms
        if self.fired.fits or self.due.timer is not Timer.JOIN or model.owed_ms > deadline_ms + DEADLINE_LATE_MS:
            return False

        def ends_it(trials: list[Trial]) -> bool:
            return all(each.fits for each in trials) and model.try_deadline(deadline_ms, trials[-1].group).fits

        waiting = sorted(model.parked.values(), key=lambda each: each.recorded.answered_at_ms)
        contexts = (model.context(each, self.order.in_order()) for each in waiting)
        return any(
            model.adopt_first(explain_overdue(context), deadline_ms, ends_it) is not None for context in contexts
        )

    def fires_after_the_request(self) -> bool:
        """The broker's timer fired a little late."""
        is_after = self._heard_ms - self.due.deadline_ms <= DEADLINE_LATE_MS
        if is_after:
            self.request_ms = max(self.model.clock_ms, self.due.deadline_ms)
        return is_after

    @property
    def _heard_ms(self) -> int:
        """When a member whose session continued is seen again; now, of another deadline."""
        return self.at_ms if self.heard is None else max(self.at_ms, self.heard.request.received_at_ms)

    def lies_in_a_hole(self) -> bool:
        """A member's next request is so late that its coordinator cannot have been there meanwhile."""
        is_heard = not self.model.parked and self.heard is not None
        is_hole = is_heard and self.late_ms > MOST_SURVIVALS * max(self._session_length_ms, 1)
        if is_hole:
            self.pass_absence(self.due.deadline_ms, self.at_ms)
        return is_hole

    @property
    def _session_length_ms(self) -> int:
        """How long the session is that this deadline ends; 0: it ends none."""
        consumer, member_id = self.model.group.consumer, self.due.member_id
        if consumer is None:
            return getattr(self.model.group.members.get(member_id), "session_timeout_ms", 0)
        return 0 if self.due.member_timer else getattr(consumer.members.get(member_id), "session_length_ms", 0)

    def session_is_longer(self) -> bool:
        """A member of a consumer group sends a request after its session has ended by our clock."""
        survives = self.is_session and self.model.group.consumer is not None and self.heard is not None
        if survives:
            self.sessions.note_survived(self.due, self._heard_ms, self.entry.request.request_id)
        return survives

    def survival_is_explained(self) -> bool:
        """A member survives its session timer by something without a line."""
        if self.heard is None:
            return False
        context = self.model.context(self.entry, self.order.in_order())
        explanations = ([request] for request in explain_survival(context, self.due.member_id))

        def survives(trials: list[Trial]) -> bool:
            return trials[0].fits and earliest(trials[0].group) != self.due

        return self.model.adopt_first(explanations, self.due.deadline_ms, survives) is not None

    def fires_in_spite_of_answers(self) -> bool:
        """Nothing explains that it did not fire."""
        self.model.adopt_deadline(self.fired)
        return True


RULES = (
    PassedDeadline.session_is_shown_to_go_on,
    PassedDeadline.session_ends_in_spite_of_answers,
    PassedDeadline.newer_members_end_first,
    PassedDeadline.sessions_end_together,
    PassedDeadline.session_ends_unproven,
    PassedDeadline.fires,
    PassedDeadline.fires_after_the_request,
    PassedDeadline.lies_in_a_hole,
    PassedDeadline.session_is_longer,
    PassedDeadline.survival_is_explained,
    PassedDeadline.fires_in_spite_of_answers,
)
"""The first that speaks wins. The order is the rule: what answers show comes before what only fits them, that before
what may have happened without a line, and the model's own clock is right only where nothing speaks against it.
"""


def ends_session(model: GroupModel, due: Due) -> bool:
    """Whether a deadline ends a member's session: a member with a parked request survives it."""
    if due.timer is not None or due.member_timer is not None or due.member_id not in model.group.roster.members:
        return False
    member = model.group.members.get(due.member_id)
    return member is None or not member.has_satisfied_heartbeat
