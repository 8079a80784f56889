"""Time that passes in a followed group: which deadlines fired before a request, and which answers were given by then.

A broker's timers fire a few milliseconds late and a log's times are rounded, so a deadline that is due about now may
have fired before a request or after it: the recorded answers decide. If a deadline of the model passes and the
recording shows that it did not fire, or that another one did, an observation corrects the model. Knows deadlines and
expected answers; does not know which request is taken next.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rollcall.coordinator_udfs.protocol.deadlines import Due, earliest
from rollcall.coordinator_udfs.protocol.turn import Timer
from rollcall.inputs.request_log.explaining.context import member_id_of
from rollcall.inputs.request_log.explaining.rebalances import explain_overdue, explain_survival
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.group_sessions import (
    end_newer_first,
    end_together,
    expire_unproven,
    may_follow_another,
    note_survived,
    take_shown_configs,
)
from rollcall.inputs.request_log.following.session_proofs import OF_MEMBERS, may_have_gone_before, prove
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.following.upcoming import Upcoming
from rollcall.inputs.request_log.lines.silences import Silence
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.effects import Reply
from rollcall.schemas.messages import DescribeConfigsRequest, GroupObservedRequest, JoinGroupRequest

LATE_MS = 2000
"""A deadline that is earlier than a request by up to this much may have fired after it in the broker."""
TOGETHER_MS = 30
"""Timers fire late by up to this much: which of two such close ones fires first a log does not show."""
MOST_SURVIVALS = 20
"""If a member survives more sessions of silence, its coordinator was away, or the log has a hole."""
COORDINATOR_AWAY = "the coordinator is away"
COORDINATOR_BACK = "a coordinator has loaded the group"
FIRES_BEFORE_ANSWER_MS = 25
"""A deadline may be later in the model than the recorded answer it leads to by up to this much."""


def let_time_pass(
    model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, at_ms: int, silence_at: Callable[[int], Silence | None]
) -> int:
    """Fires what is due before a request; returns when the request happens: at a deadline, if that fires after it.

    silence_at: the silence of the group's broker that a time lies in.
    """
    while True:
        due = earliest(model.group) if model.next_due_ms(at_ms - 1) is not None else None
        if due is None:
            return at_ms
        silence = silence_at(due.deadline_ms)
        if silence is not None and (silence.is_of_broker or _has_survived(model, upcoming, entry, silence)):
            pass_absence(model, silence.from_ms, min(silence.until_ms, at_ms))
            continue
        fired = model.try_deadline(due.deadline_ms)
        if is_session(model, due) and _decide_session(model, upcoming, due, fired, entry, at_ms):
            continue
        fires_before = _fires_before(model, upcoming, due, fired, entry, at_ms)
        if fires_before and model.is_elsewhere and is_session(model, due):
            # What fits a group that lines do not lead to proves little.
            expire_unproven(model, due)
        elif fires_before or _explain_deadline(model, upcoming, due, fired):
            model.adopt_deadline(model.try_deadline(due.deadline_ms))
        elif (heard_ms := _heard_ms(model, upcoming, due, entry, at_ms)) - due.deadline_ms <= LATE_MS:
            return max(model.clock_ms, due.deadline_ms)
        elif _is_after_a_hole(model, upcoming, due, entry, at_ms):
            pass_absence(model, due.deadline_ms, at_ms)
        elif is_session(model, due) and model.group.consumer is not None and _survives(model, upcoming, due, entry):
            note_survived(model, due, heard_ms, entry.request.request_id)
        elif not _explain_survival(model, upcoming, due, entry):
            model.adopt_deadline(fired)


def take_configs(
    model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, silence_at: Callable[[int], Silence | None]
) -> None:
    """Applies a request about the group's configs, which any broker answers; a refused one changed nothing."""
    if entry.was_refused:
        return
    at_ms = let_time_pass(model, upcoming, entry, model.when(entry), silence_at)
    if isinstance(entry.request, DescribeConfigsRequest):
        take_shown_configs(model, entry)
    model.adopt(model.try_request(entry, max(model.clock_ms, at_ms)), entry)


def is_session(model: GroupModel, due: Due) -> bool:
    """Whether the deadline ends a member's session: a member with a parked request survives it."""
    if due.timer is not None or due.member_timer is not None or due.member_id not in model.group.roster.members:
        return False
    member = model.group.members.get(due.member_id)
    return member is None or not member.has_satisfied_heartbeat


def _decide_session(
    model: GroupModel, upcoming: Upcoming, due: Due, fired: Trial, entry: LoggedRequest, at_ms: int
) -> bool:
    """Ends a session that is over, or lets it go on, where the recording does not prove that its timer has fired."""
    if _survives(model, upcoming, due, entry):
        return False
    proven, is_late = prove(model, (entry, *upcoming.in_order()), due), at_ms - due.deadline_ms > LATE_MS
    # A found member may be a static one that has left, which raises no epoch.
    is_known = due.member_id not in model.found
    if proven is False and (is_late or (is_known and _fits_before(model, due, entry, at_ms))):
        note_survived(model, due, at_ms, entry.request.request_id)
        return True
    is_open = may_have_gone_before(model, due)
    if is_open or (proven and may_follow_another(model, upcoming, entry, due)):
        proven = None
    if not ((is_open and is_late) or _fires_before(model, upcoming, due, fired, entry, at_ms)):
        return False
    if proven is False:
        # This request fits only after its end, and a later answer shows it going on.
        expire_unproven(model, due)
        return True
    if end_newer_first(model, upcoming, entry, due):
        return True
    others = [each for each in _due_with(model, due) if not _survives(model, upcoming, each, entry)]
    if end_together(model, due, others):
        return True
    if proven is None:
        expire_unproven(model, due)
    return proven is None


def _due_with(model: GroupModel, due: Due) -> list[Due]:
    """The sessions that are over at about the same time as this one."""
    group, until_ms = model.group, due.deadline_ms + TOGETHER_MS
    members = group.members if group.consumer is None else group.consumer.members
    ends = [(one.session_deadline_ms, member_id) for member_id, one in members.items() if member_id != due.member_id]
    found = [Due(at_ms, None, member_id) for at_ms, member_id in ends if at_ms is not None and at_ms <= until_ms]
    return [each for each in found if is_session(model, each)]


def let_silence_pass(model: GroupModel, due_ms: int) -> None:
    """Fires deadlines while the group sends nothing: no line shows that a session has ended then."""
    due = earliest(model.group)
    if due is not None and is_session(model, due):
        expire_unproven(model, due)
        # As after a deadline: a request of that time would come before it.
        model.clock_ms = max(model.clock_ms, due.deadline_ms + 1)
    else:
        model.adopt_deadline(model.try_deadline(due_ms))


def pass_absence(model: GroupModel, from_ms: int, until_ms: int) -> None:
    """No timer ran in this time, for the coordinator was away."""
    model.forget_all_parked()
    observed = partial(
        GroupObservedRequest, request_id=f"absence@{until_ms}", api_version=0, group_id=model.group.group_id
    )
    model.observe(observed(why=COORDINATOR_AWAY, is_away=True), max(model.clock_ms, from_ms))
    model.observe(observed(why=COORDINATOR_BACK, is_loaded=True), max(model.clock_ms, until_ms))


def _has_survived(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, silence: Silence) -> bool:
    """Whether a member sends a request again after a silence in which its session would have ended."""
    return not silence.is_disproved and any(
        _survives(model, upcoming, Due(member.session_deadline_ms, None, member.member_id), entry)
        for member in model.group.members.values()
        if member.session_deadline_ms is not None and silence.from_ms < member.session_deadline_ms <= silence.until_ms
    )


def _fires_before(
    model: GroupModel, upcoming: Upcoming, due: Due, fired: Trial, entry: LoggedRequest, at_ms: int
) -> bool:
    """Whether a deadline that has passed fired before this request."""
    if not fired.fits or _survives(model, upcoming, due, entry):
        return False
    before = _fits_before(model, due, entry, at_ms)
    after = model.try_request(entry, at_ms, fired.group).fits
    if before is not after:
        return after
    answered = [
        model.parked[effect.request_id].recorded.answered_at_ms
        for effect in fired.effects
        if isinstance(effect, Reply) and effect.request_id in model.parked
    ]
    return not answered or entry.until_ms >= min(answered)


def _fits_before(model: GroupModel, due: Due, entry: LoggedRequest, at_ms: int) -> bool:
    """Whether a request is answered as recorded if it comes before a deadline."""
    return model.try_request(entry, min(at_ms, max(model.clock_ms, due.deadline_ms))).fits


def _is_after_a_hole(model: GroupModel, upcoming: Upcoming, due: Due, entry: LoggedRequest, at_ms: int) -> bool:
    """Whether a member's next request is so late that its coordinator cannot have been there meanwhile."""
    if model.parked or not _survives(model, upcoming, due, entry):
        return False
    return at_ms - due.deadline_ms > MOST_SURVIVALS * max(_session_length_ms(model, due), 1)


def _session_length_ms(model: GroupModel, due: Due) -> int:
    """How long the session is that this deadline ends; 0: it ends none."""
    consumer = model.group.consumer
    if consumer is None:
        member = model.group.members.get(due.member_id)
        return 0 if member is None else member.session_timeout_ms
    newer = consumer.members.get(due.member_id)
    return 0 if newer is None or due.member_timer is not None else newer.session_length_ms


def _heard_ms(model: GroupModel, upcoming: Upcoming, due: Due, entry: LoggedRequest, at_ms: int) -> int:
    """When a member whose session went on is heard again; now, of another deadline."""
    heard = _heard_again(model, upcoming, due, entry)
    return at_ms if heard is None else max(at_ms, heard.request.received_at_ms)


def _survives(model: GroupModel, upcoming: Upcoming, due: Due, next_entry: LoggedRequest) -> bool:
    """Whether a member's next request shows that its session did not end."""
    return _heard_again(model, upcoming, due, next_entry) is not None


def _heard_again(model: GroupModel, upcoming: Upcoming, due: Due, next_entry: LoggedRequest) -> LoggedRequest | None:
    """A member's next request, if it shows that its session did not end. A consumer group takes a JoinGroup of an id
    whose session has ended as well.
    """
    if due.timer is not None:
        return None
    for entry in (next_entry, *upcoming.in_order()):
        # The answer of a broker that is loading shows nothing of the session.
        if member_id_of(entry.request) == due.member_id and not entry.was_refused:
            is_anew = model.group.consumer is not None and isinstance(entry.request, JoinGroupRequest)
            return entry if entry.recorded.error in OF_MEMBERS and not is_anew else None
    return None


def _explain_deadline(model: GroupModel, upcoming: Upcoming, due: Due, fired: Trial) -> bool:
    """Applies what the recording implies, so that a join phase that ends now ends as recorded."""
    if fired.fits or due.timer is not Timer.JOIN or model.owed_ms > due.deadline_ms + LATE_MS:
        return False
    for waiting in sorted(model.parked.values(), key=_answered_at):
        for requests in explain_overdue(model.context(waiting, upcoming.in_order())):
            trials = model.try_unlogged(requests, max(model.clock_ms, due.deadline_ms))
            if all(trial.fits for trial in trials) and model.try_deadline(due.deadline_ms, trials[-1].group).fits:
                model.adopt_unlogged(requests, trials)
                return True
    return False


def _explain_survival(model: GroupModel, upcoming: Upcoming, due: Due, entry: LoggedRequest) -> bool:
    """Lets a member survive its session timer; False if it does not, or nothing explains it."""
    if not _survives(model, upcoming, due, entry):
        return False
    for request in explain_survival(model.context(entry, upcoming.in_order()), due.member_id):
        trials = model.try_unlogged([request], max(model.clock_ms, due.deadline_ms))
        then = earliest(trials[0].group)
        if trials[0].fits and (then is None or then != due):
            model.adopt_unlogged([request], trials)
            return True
    return False


def answer_overdue(model: GroupModel, upcoming: Upcoming, until_ms: float) -> None:
    """Applies what answered each parked request whose recorded answer was given before this time."""
    while model.owed_ms < until_ms:
        overdue = min(model.parked.values(), key=_answered_at)
        due_ms = model.next_due_ms(overdue.recorded.answered_at_ms + FIRES_BEFORE_ANSWER_MS)
        if due_ms is not None:
            fired = model.try_deadline(due_ms)
            if fired.fits:
                model.adopt_deadline(fired)
                continue
        if not _explain_overdue(model, upcoming, overdue):
            model.forget_parked(overdue.request.request_id)


def explain_answered(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest) -> bool:
    """Applies what answered a parked request at about this request's time; False if none was due or nothing explains
    it."""
    if model.owed_ms > entry.until_ms:
        return False
    return _explain_overdue(model, upcoming, min(model.parked.values(), key=_answered_at))


def _explain_overdue(model: GroupModel, upcoming: Upcoming, overdue: LoggedRequest) -> bool:
    request_id = overdue.request.request_id
    at_ms = max(model.clock_ms, overdue.recorded.answered_at_ms)
    for requests in explain_overdue(model.context(overdue, upcoming.in_order())):
        trials = model.try_unlogged(requests, at_ms)
        if trials and trials[-1].fits and any(trial.answers(request_id) for trial in trials):
            model.adopt_unlogged(requests, trials)
            return True
    return False


def _answered_at(entry: LoggedRequest) -> int:
    return entry.recorded.answered_at_ms
