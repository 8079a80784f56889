"""How long members of a consumer group may be silent, as far as its recorded answers show it.

A group's own configs are in few logs: an administrator may have set them years ago. But each answer to a heartbeat has
the heartbeat interval. An epoch that rises without a line shows that a member's session has ended, and one that does
not rise shows that none has. The conclusion holds for the group from then on, and is marked as inferred.

Knows the answers to heartbeats and who is silent; must not know which request is taken next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.deadlines import Due
from rollcall.coordinator_udfs.protocol.group_configs import HEARTBEAT_INTERVAL, SESSION_TIMEOUT, consumer_config_of
from rollcall.inputs.request_log.configs_given import GroupConfigs
from rollcall.inputs.request_log.explaining.consumers import ClassicRequest, explain_consumer
from rollcall.inputs.request_log.explaining.context import Explanation, member_id_of
from rollcall.inputs.request_log.explaining.session_bounds import SessionBounds
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.session_proofs import (
    FIRES_LATE_MS,
    OF_MEMBERS,
    answered_epoch_of,
    classic_generation_of,
    is_offered_classic_id,
    may_have_gone_before,
)
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.following.upcoming import Upcoming
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.causes import EndCause
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    GoneMember,
    GroupObservedRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    ObservedMember,
)

INTERVAL_SHOWN = "answers show the group's heartbeat interval"
CONFIGS_GIVEN = "SET= says what is set for the group"
CONFIGS_SHOWN = "an administrator was shown what is set for the group"
EPOCH_ROSE = "an epoch rose without a line, and a member was silent"
SESSION_OVER = "a session was over, and no answer shows that it had ended"
SESSIONS_OVER = "sessions were over at about the same time, and no line says which ended first"
EPOCH_STAYED = "no epoch rose though a session was over: sessions are longer"
_BEATS_MISSED = 2
"""A member without a request for longer than this many heartbeat intervals is silent."""
_BEATS_A_SESSION = 9
"""As Kafka's defaults have it."""
_HOLE_MS = 600_000
"""In a longer time without a line single sessions are not examined."""
_GROUP_CONFIG_SOURCE = 8


def shows_other_interval(model: GroupModel, entry: LoggedRequest) -> bool:
    """Whether an answer names another heartbeat interval than the group is taken to have."""
    if not isinstance(entry.request, ConsumerGroupHeartbeatRequest) or entry.recorded.error is not Error.NONE:
        return False
    shown_ms: int = entry.recorded.wire.heartbeat_interval_ms
    return 0 < shown_ms != _in_force(model).heartbeat_interval_ms


def take_shown_interval(model: GroupModel, entry: LoggedRequest) -> None:
    """Sets the interval in an answer for its group, if it is not the broker's."""
    if not shows_other_interval(model, entry):
        return
    shown_ms = entry.recorded.wire.heartbeat_interval_ms
    configs = model.group.configs | {HEARTBEAT_INTERVAL: str(shown_ms)}
    if shown_ms == model.config.consumer.heartbeat_interval_ms:
        del configs[HEARTBEAT_INTERVAL]
    if SESSION_TIMEOUT not in configs and shown_ms >= _in_force(model).session_timeout_ms:
        # The interval is shorter than the session, so the session timeout differs too.
        configs[SESSION_TIMEOUT] = str(shown_ms * _BEATS_A_SESSION)
    _set(model, entry, configs, INTERVAL_SHOWN)


def take_given_configs(model: GroupModel, entry: LoggedRequest, given: GroupConfigs) -> None:
    """Sets the configs that a user gave for the group, from its beginning."""
    configs = given.get(model.group.group_id)
    if configs:
        _set(model, entry, configs, CONFIGS_GIVEN)


def take_shown_configs(model: GroupModel, entry: LoggedRequest) -> None:
    """Sets the configs that the answer to a DescribeConfigs shows."""
    response = entry.recorded.response
    assert isinstance(response, DescribeConfigsResponse)
    assert isinstance(entry.request, DescribeConfigsRequest)
    asked = entry.request.resources[0].configuration_keys
    kept = {name: value for name, value in model.group.configs.items() if asked and name not in asked}
    shown = {
        c.name: c.value for c in response.results[0].configs if c.config_source == _GROUP_CONFIG_SOURCE and c.value
    }
    if kept | shown != model.group.configs:
        _set(model, entry, kept | shown, CONFIGS_SHOWN)


def explain_risen_epoch(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, at_ms: int) -> Trial | None:
    """An epoch rose by one or more without a line: as many members fell silent, and their sessions ended. Or the answer
    itself is that the member is unknown, or that a classic one must rejoin. None: that does not explain the answer.
    """
    request, consumer = entry.request, model.group.consumer
    if consumer is not None and isinstance(request, HeartbeatRequest):
        # A classic member must rejoin: the last members of the newer protocol left, and the group is classic again.
        newer = {each.member_id for each in consumer.members.values() if each.classic is None}
        silent = [each for each in _silent(model, upcoming, at_ms) if each.member_id in newer]
        is_explained = entry.recorded.error is Error.REBALANCE_IN_PROGRESS and len(silent) == len(newer) > 0
        return _try_expired(model, entry, silent, at_ms) if is_explained else None
    if not isinstance(request, ConsumerGroupHeartbeatRequest) or consumer is None or request.member_epoch < JOIN:
        return None
    if entry.recorded.error is Error.UNKNOWN_MEMBER_ID:
        member = consumer.members.get(request.member_id)
        silent = [member] if member is not None and _silence_ms(model, member, at_ms) > _patience_ms(model) else []
        return _try_expired(model, entry, silent, at_ms) if silent else None
    if entry.recorded.error is not Error.NONE:
        return None
    response = entry.recorded.response
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    rose = response.member_epoch - model.group.generation_id
    silent = [each for each in _silent(model, upcoming, at_ms) if each.member_id != request.member_id]
    silent.sort(key=lambda each: each.last_seen_at_ms)
    if request.member_epoch == JOIN:
        rose -= 1
    if not 0 < rose <= len(silent):
        return None
    for first in range(len(silent) - rose + 1):
        found = _try_expired(model, entry, silent[first : first + rose], at_ms)
        if found is not None:
            return found
    if not (model.is_older_than_log or model.is_elsewhere):
        return None
    # What the others own is not known, so the answer shows that too. The longest silent member expired first.
    [shown] = explain_consumer(model.context(entry, upcoming.in_order()), request)
    return _try_expired(model, entry, silent[:rose], at_ms, shown)


def explain_downgrade(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, trial: Trial) -> Trial | None:
    """The group became classic before this request, which needs that or would raise the epoch: the next classic
    generation is as much above the epoch as there are silent members, all of the newer protocol among them. None: that
    is not shown, or does not explain the answer.
    """
    group, consumer, at_ms = model.group, model.group.consumer, trial.at_ms
    raises_epoch = trial.group.generation_id > group.generation_id
    if consumer is None or (trial.fits and not raises_epoch and not is_offered_classic_id(entry)):
        return None
    later = (entry, *upcoming.in_order())
    generation_id = classic_generation_of(_first_that_shows(later) or entry)
    newer = sum(each.classic is None for each in consumer.members.values())
    sender_id = member_id_of(entry.request) if entry.recorded.error in OF_MEMBERS else ""
    silent = [each for each in _silent(model, upcoming, at_ms) if each.member_id != sender_id]
    # The last of the newer protocol makes the group classic, so the others ended before it.
    silent.sort(key=lambda each: (each.classic is None, each.last_seen_at_ms))
    rose = generation_id - group.generation_id
    # A group that was Empty counts anew as a classic one.
    has_emptied = len(silent) == len(consumer.members) and 0 < generation_id <= group.generation_id
    ended = silent[-rose:] if rose in (newer, len(silent)) else silent if has_emptied else []
    if 0 < newer == sum(each.classic is None for each in ended):
        return _try_expired(model, entry, ended, at_ms)
    # An answer of a classic group proves that they ended, though epochs do not show when.
    ended = [each for each in silent if each.classic is None]
    is_joined = classic_generation_of(entry) >= 0
    if not (is_joined or is_offered_classic_id(entry)) or not 0 < newer == len(ended):
        return None
    return _try_expired(model, entry, ended, at_ms, is_proven=is_joined)


def end_newer_first(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, due: Due) -> bool:
    """Ends the silent members of the newer protocol before the session of a classic one: the next answer that shows an
    epoch is a classic group's, so they ended too, and no line says how long their sessions are. False: it is not so.
    """
    group, consumer = model.group, model.group.consumer
    if consumer is None or not _is_beside_unknown_sessions(model, due):
        return False
    later = (entry, *upcoming.in_order())
    shows = _first_that_shows(later)
    newer = [each for each in consumer.members.values() if each.classic is None]
    silent = [each for each in _silent(model, upcoming, due.deadline_ms) if each.classic is None]
    if shows is None or classic_generation_of(shows) <= group.generation_id or len(silent) < len(newer):
        return False
    silent.sort(key=lambda each: each.last_seen_at_ms)
    for each in silent:
        expire_unproven(model, Due(due.deadline_ms, None, each.member_id))
    return bool(silent)


def _first_that_shows(entries: Iterable[LoggedRequest]) -> LoggedRequest | None:
    """The first whose answer shows the group's epoch, or its generation as a classic one."""
    return next((each for each in entries if max(answered_epoch_of(each), classic_generation_of(each)) >= 0), None)


def may_follow_another(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, due: Due) -> bool:
    """Whether a silent member of the newer protocol may have ended before this classic one: epochs rose by more than
    classic members ended, and the log does not say how long sessions of the newer protocol are.
    """
    group, consumer = model.group, model.group.consumer
    if consumer is None or not _is_beside_unknown_sessions(model, due):
        return False
    later = (entry, *upcoming.in_order())
    shown = next((each for each in later if answered_epoch_of(each) > group.generation_id), None)
    if shown is None:
        return False
    ends_ms = [each.session_deadline_ms for each in consumer.members.values() if each.classic is not None]
    ended = [each for each in ends_ms if each is not None and each <= shown.recorded.answered_at_ms]
    silent = [each for each in _silent(model, upcoming, due.deadline_ms) if each.classic is None]
    is_another = any(each.member_id != member_id_of(entry.request) for each in silent)
    return is_another and answered_epoch_of(shown) - group.generation_id > len(ended)


def may_not_be_first(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, due: Due) -> bool:
    """Whether a session that is over at about a request's time may not be what its answer shows."""
    if due.timer is not None or due.member_timer is not None:
        return False
    return may_have_gone_before(model, due) or may_follow_another(model, upcoming, entry, due)


def _is_beside_unknown_sessions(model: GroupModel, due: Due) -> bool:
    """Whether it is a classic member's session, and no line says how long those of the newer protocol are."""
    consumer = model.group.consumer
    member = None if consumer is None else consumer.members.get(due.member_id)
    return member is not None and member.classic is not None and SESSION_TIMEOUT not in model.group.configs


def expire_unproven(model: GroupModel, due: Due) -> None:
    """Ends a session that is over by our clock though nothing shows it; marked as inferred."""
    gone = GoneMember(member_id=due.member_id, end_cause=EndCause.SESSION_EXPIRED.value)
    seen = _seen(model, f"{due.member_id[:100]}@{due.deadline_ms}", SESSION_OVER, gone=[gone])
    model.observe(seen, max(model.clock_ms, due.deadline_ms))


def end_together(model: GroupModel, due: Due, others: list[Due]) -> bool:
    """Ends sessions that are over at about the same time together; which ended first is not known. False: there is only
    one, or that does not fit the recording.
    """
    if not others:
        return False
    expired = [due, *sorted(others)]
    gone = [GoneMember(member_id=each.member_id, end_cause=EndCause.SESSION_EXPIRED.value) for each in expired]
    seen = _seen(model, f"{due.member_id[:100]}@{due.deadline_ms}", SESSIONS_OVER, gone=gone)
    trials = model.try_unlogged([seen], max(model.clock_ms, due.deadline_ms))
    if not trials[0].fits:
        return False
    model.adopt_unlogged([seen], trials)
    return True


def note_survived(model: GroupModel, due: Due, at_ms: int, request_id: str) -> None:
    """A member's session goes on though by our clock it is over: it begins anew when it would have ended, or now, after
    a hole of the log. So the sessions of a consumer group are longer than assumed.
    """
    anew_ms = due.deadline_ms if at_ms - due.deadline_ms < _HOLE_MS else at_ms
    consumer = model.group.consumer
    alive = [ObservedMember(member_id=due.member_id)]
    model.observe(_seen(model, request_id, EPOCH_STAYED, members=alive), max(model.clock_ms, anew_ms))
    member = None if consumer is None else consumer.members.get(due.member_id)
    if member is None or member.classic is not None:
        return
    bounds = _bounds(model)
    bounds.narrow(at_ms - member.last_seen_at_ms - FIRES_LATE_MS, 0)
    if SESSION_TIMEOUT in model.group.configs and not bounds.hold(_in_force(model).session_timeout_ms):
        longer = {name: value for name, value in model.group.configs.items() if name != SESSION_TIMEOUT}
        if bounds.likely_ms:
            longer[SESSION_TIMEOUT] = str(bounds.likely_ms)
        model.observe(_seen(model, request_id, EPOCH_STAYED, configs=longer), max(model.clock_ms, anew_ms))


def _try_expired(
    model: GroupModel,
    entry: LoggedRequest,
    expired: list[ConsumerMember],
    at_ms: int,
    shown: Explanation | None = None,
    *,
    is_proven: bool = False,
) -> Trial | None:
    """shown: what the answer shows besides. is_proven: it shows that they ended, though at which epoch is not known."""
    consumer = model.group.consumer
    assert consumer is not None
    others = [m.last_seen_at_ms for m in consumer.members.values() if m not in expired]
    proven_ms = max(others, default=0)
    bounds = _bounds(model)
    observed: Explanation = []
    for member in expired:
        gone = GoneMember(member_id=member.member_id, end_cause=EndCause.SESSION_EXPIRED.value)
        observed.append(_seen(model, entry.request.request_id, EPOCH_ROSE, gone=[gone]))
    observed += shown or []
    trials = model.try_unlogged(observed, max(model.clock_ms, at_ms))
    fits = all(trial.fits for trial in trials)
    fits = fits and (is_proven or model.try_request(entry, max(model.clock_ms, at_ms), trials[-1].group).fits)
    if not fits:
        return None
    for member in (each for each in expired if each.classic is None):
        outlived_ms = proven_ms - member.last_seen_at_ms - FIRES_LATE_MS
        bounds.narrow(max(0, outlived_ms), at_ms - member.last_seen_at_ms)
    likely_ms = bounds.likely_ms
    if not bounds.hold(_in_force(model).session_timeout_ms) and likely_ms:
        why = f"{EPOCH_ROSE}: sessions of this group end after {bounds.text}"
        _set(model, entry, model.group.configs | {SESSION_TIMEOUT: str(likely_ms)}, why)
        trials = model.try_unlogged(observed, max(model.clock_ms, at_ms))
    model.adopt_unlogged(observed, trials)
    return model.try_request(entry, max(model.clock_ms, at_ms))


def _silent(model: GroupModel, upcoming: Upcoming, at_ms: int) -> Iterator[ConsumerMember]:
    """The members that send nothing more, or only as new members."""
    consumer = model.group.consumer
    assert consumer is not None
    next_of: dict[str, LoggedRequest] = {}
    for entry in upcoming.in_order():
        if isinstance(entry.request, ConsumerGroupHeartbeatRequest | ClassicRequest) and not entry.was_refused:
            next_of.setdefault(entry.request.member_id, entry)
    for member in consumer.members.values():
        later = next_of.get(member.member_id)
        lives_on = later is not None and later.recorded.error in OF_MEMBERS and not _joins_anew(later)
        if not lives_on and _silence_ms(model, member, at_ms) > _patience_ms(model):
            yield member


def has_silent(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest) -> bool:
    """Whether another member of the newer protocol is silent for so long that its session may be over."""
    at_ms, bounds = model.when(entry), model.tally.sessions.get(model.group.group_id, SessionBounds())
    return any(
        each.classic is None and _silence_ms(model, each, at_ms) > bounds.outlived_ms
        for each in _silent(model, upcoming, at_ms)
        if each.member_id != member_id_of(entry.request)
    )


def _joins_anew(entry: LoggedRequest) -> bool:
    request = entry.request
    if isinstance(request, ConsumerGroupHeartbeatRequest):
        return request.member_epoch == JOIN
    return isinstance(request, JoinGroupRequest)


def _silence_ms(model: GroupModel, member: ConsumerMember, at_ms: int) -> int:
    return at_ms - member.last_seen_at_ms


def _patience_ms(model: GroupModel) -> int:
    return _BEATS_MISSED * _in_force(model).heartbeat_interval_ms


def _in_force(model: GroupModel) -> ConsumerConfig:
    return consumer_config_of(model.group.configs, model.config.consumer)


def _bounds(model: GroupModel) -> SessionBounds:
    return model.tally.sessions.setdefault(model.group.group_id, SessionBounds())


def _set(model: GroupModel, entry: LoggedRequest, configs: dict[str, str], why: str) -> None:
    model.observe(_seen(model, entry.request.request_id, why, configs=configs), model.when(entry))


def _seen(model: GroupModel, request_id: str, why: str, **facts: object) -> GroupObservedRequest:
    return GroupObservedRequest(
        request_id=request_id,
        api_version=0,
        group_id=model.group.group_id,
        why=why,
        **facts,  # type: ignore[arg-type]
    )
