"""How long members of a consumer group may be silent, as far as its recorded answers show it.

A group's own configs are in few logs: an administrator may have set them years ago. But each answer to a heartbeat has
the heartbeat interval. An epoch that rises without a line shows that a member's session has ended, and one that does
not rise shows that none has. The inference holds for the group from then on, and is marked as inferred.

Knows the answers to heartbeats and who is silent; must not know which request is taken next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.deadlines import Due
from rollcall.coordinator_udfs.protocol.group_configs import HEARTBEAT_INTERVAL, SESSION_TIMEOUT, consumer_config_of
from rollcall.inputs.request_log.explaining.consumers import ClassicRequest, explain_consumer
from rollcall.inputs.request_log.explaining.context import Explanation, gone_member
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.order import Order
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.lines.line import is_classic_member_id
from rollcall.inputs.request_log.recorded import LoggedRequest, SessionBounds
from rollcall.inputs.tolerances import HOLE_MS, SESSION_LATE_MS
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    GroupObservedRequest,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    ObservedMember,
)

INTERVAL_SHOWN = "answers show the group's heartbeat interval"
CONFIGS_GIVEN = "--set says what is set for the group"
CONFIGS_SHOWN = "an administrator was shown what is set for the group"
EPOCH_ROSE = "an epoch rose without a line, and a member was silent"
SESSION_OVER = "a session was over, and no answer shows that it had ended"
SESSIONS_OVER = "sessions were over at about the same time, and no line says which ended first"
EPOCH_STAYED = "no epoch rose though a session was over: sessions are longer"
OF_MEMBERS = (Error.NONE, Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION)
"""The answers that only a member gets."""
_BEATS_MISSED = 2
"""A member without a request for longer than this many heartbeat intervals is silent."""
_BEATS_A_SESSION = 9
"""As Kafka's defaults have it."""
_GROUP_CONFIG_SOURCE = 8


@dataclass(slots=True)
class Sessions:
    """The sessions of one group's members."""

    model: GroupModel
    order: Order

    # ------------------------------------------------------------ the group's configs

    @property
    def in_force(self) -> ConsumerConfig:
        """The settings that hold for the group."""
        return consumer_config_of(self.model.group.configs, self.model.config.consumer)

    def shows_other_interval(self, entry: LoggedRequest) -> bool:
        """Whether an answer names another heartbeat interval than the group is taken to have."""
        is_beat = isinstance(entry.request, ConsumerGroupHeartbeatRequest) and entry.recorded.error is Error.NONE
        return is_beat and 0 < entry.recorded.wire.heartbeat_interval_ms != self.in_force.heartbeat_interval_ms

    def take_shown_interval(self, entry: LoggedRequest) -> None:
        """Sets the interval in an answer for its group, if it is not the broker's."""
        if not self.shows_other_interval(entry):
            return
        model, shown_ms = self.model, entry.recorded.wire.heartbeat_interval_ms
        configs = model.group.configs | {HEARTBEAT_INTERVAL: str(shown_ms)}
        if shown_ms == model.config.consumer.heartbeat_interval_ms:
            del configs[HEARTBEAT_INTERVAL]
        if SESSION_TIMEOUT not in configs and shown_ms >= self.in_force.session_timeout_ms:
            # The interval is shorter than the session, so the session timeout differs too.
            configs[SESSION_TIMEOUT] = str(shown_ms * _BEATS_A_SESSION)
        self.set_configs(entry, configs, INTERVAL_SHOWN)

    def take_shown_configs(self, entry: LoggedRequest) -> None:
        """Sets the configs that the answer to a DescribeConfigs shows."""
        request, response, configs = entry.request, entry.recorded.response, self.model.group.configs
        assert isinstance(response, DescribeConfigsResponse)
        assert isinstance(request, DescribeConfigsRequest)
        asked = request.resources[0].configuration_keys
        kept = {name: value for name, value in configs.items() if asked and name not in asked}
        shown = {
            c.name: c.value for c in response.results[0].configs if c.config_source == _GROUP_CONFIG_SOURCE and c.value
        }
        if kept | shown != configs:
            self.set_configs(entry, kept | shown, CONFIGS_SHOWN)

    def set_configs(self, entry: LoggedRequest, configs: dict[str, str], why: str) -> None:
        """Sets the group's configs at the time of a request."""
        request = entry.request
        self.model.observe(self.model.seen(request.request_id, why, configs=configs), request.received_at_ms)

    # ------------------------------------------------------------ who is silent

    def silent(self, at_ms: int) -> Iterator[ConsumerMember]:
        """The members that send nothing more, or only as new members."""
        consumer = self.model.group.consumer
        assert consumer is not None
        next_of: dict[str, LoggedRequest] = {}
        for entry in self.order.in_order():
            if isinstance(entry.request, ConsumerGroupHeartbeatRequest | ClassicRequest) and not entry.was_refused:
                next_of.setdefault(entry.member_id, entry)
        for member in consumer.members.values():
            later = next_of.get(member.member_id)
            joins_anew = later is not None and (later.joins_consumers or isinstance(later.request, JoinGroupRequest))
            lives_on = later is not None and later.recorded.error in OF_MEMBERS and not joins_anew
            if not lives_on and self._is_silent(member, at_ms):
                yield member

    def silent_newer(self, at_ms: int) -> list[ConsumerMember]:
        """Those of them that are of the newer protocol."""
        return [each for each in self.silent(at_ms) if each.classic is None]

    def has_silent(self, entry: LoggedRequest) -> bool:
        """Whether another member of the newer protocol is silent for so long that its session may have ended."""
        at_ms, bounds = self.model.when(entry), self.model.tally.sessions.get(entry.group_id, SessionBounds())
        return any(
            at_ms - each.last_seen_at_ms > bounds.outlived_ms
            for each in self.silent_newer(at_ms)
            if each.member_id != entry.member_id
        )

    def _is_silent(self, member: ConsumerMember, at_ms: int) -> bool:
        return at_ms - member.last_seen_at_ms > _BEATS_MISSED * self.in_force.heartbeat_interval_ms

    # ------------------------------------------------------------ ends that an answer shows

    def explain_risen_epoch(self, entry: LoggedRequest, at_ms: int) -> Trial | None:
        """An epoch rose by one or more without a line: as many members fell silent, and their sessions ended. Or the
        answer itself is that the member is unknown, or that a classic one must rejoin. None: that does not explain the
        answer.
        """
        tries = (self._try_expired(entry, expired, at_ms, shown) for expired, shown in self._expired(entry, at_ms))
        return next((fitting for fitting in tries if fitting is not None), None)

    def _expired(self, entry: LoggedRequest, at_ms: int) -> Iterator[tuple[list[ConsumerMember], Explanation]]:
        """The members whose sessions may have ended before an answer, and what else it shows; the likeliest first."""
        request, error, model = entry.request, entry.recorded.error, self.model
        consumer = model.group.consumer
        if consumer is None or getattr(request, "member_epoch", JOIN) < JOIN:
            return
        match request, error:
            case HeartbeatRequest(), Error.REBALANCE_IN_PROGRESS:
                # A classic member must rejoin: the last members of the newer protocol left, the group is classic again.
                silent = self.silent_newer(at_ms)
                if len(silent) == sum(each.classic is None for each in consumer.members.values()) > 0:
                    yield silent, []
            case ConsumerGroupHeartbeatRequest(), Error.UNKNOWN_MEMBER_ID:
                member = consumer.members.get(request.member_id)
                if member is not None and self._is_silent(member, at_ms):
                    yield [member], []
            case ConsumerGroupHeartbeatRequest(), Error.NONE:
                rose = entry.answered_epoch - model.group.generation_id
                silent = [each for each in self.silent(at_ms) if each.member_id != request.member_id]
                silent.sort(key=lambda each: each.last_seen_at_ms)
                for first in range(len(silent) - rose + 1) if rose > 0 else ():
                    yield silent[first : first + rose], []
                if 0 < rose <= len(silent) and (model.is_older_than_log or model.is_elsewhere):
                    # What the others own is not known, so the answer shows that too. The longest silent member expired.
                    [shown] = explain_consumer(model.context(entry, self.order.in_order()), request)
                    yield silent[:rose], shown

    def explain_downgrade(self, entry: LoggedRequest, trial: Trial) -> Trial | None:
        """The group became classic before this request, which needs that or would raise the epoch: the next classic
        generation is as much above the epoch as there are silent members, all of the newer protocol among them. None:
        that is not shown, or does not explain the answer.
        """
        group, consumer, at_ms = self.model.group, self.model.group.consumer, trial.at_ms
        raises_epoch = trial.group.generation_id > group.generation_id
        is_offered = _is_offered_classic_id(entry)
        if consumer is None or (trial.fits and not raises_epoch and not is_offered):
            return None
        generation_id = (first_that_shows(self.order.since(entry)) or entry).classic_generation_id
        newer = sum(each.classic is None for each in consumer.members.values())
        sender_id = entry.member_id if entry.recorded.error in OF_MEMBERS else ""
        silent = [each for each in self.silent(at_ms) if each.member_id != sender_id]
        # The last of the newer protocol makes the group classic, so the others ended before it.
        silent.sort(key=lambda each: (each.classic is None, each.last_seen_at_ms))
        rose = generation_id - group.generation_id
        # A group that was Empty counts anew as a classic one.
        has_emptied = len(silent) == len(consumer.members) and 0 < generation_id <= group.generation_id
        ended = silent[-rose:] if rose in (newer, len(silent)) else silent if has_emptied else []
        is_shown = 0 < newer == sum(each.classic is None for each in ended)
        is_joined = not is_shown and entry.classic_generation_id >= 0
        if is_joined or (is_offered and not is_shown):
            # An answer of a classic group proves that they ended, though epochs do not show when.
            ended = [each for each in silent if each.classic is None]
            is_shown = 0 < newer == len(ended)
        return self._try_expired(entry, ended, at_ms, is_proven=is_joined) if is_shown else None

    def _try_expired(
        self,
        entry: LoggedRequest,
        expired: list[ConsumerMember],
        at_ms: int,
        shown: Iterable[GroupRequest] = (),
        *,
        is_proven: bool = False,
    ) -> Trial | None:
        """shown: what the answer shows besides. is_proven: it shows that they ended, though at which epoch is not
        known.
        """
        model, consumer = self.model, self.model.group.consumer
        assert consumer is not None
        proven_ms = max((m.last_seen_at_ms for m in consumer.members.values() if m not in expired), default=0)
        bounds = self._bounds
        request_id = entry.request.request_id
        observed: Explanation = [
            *(model.seen(request_id, EPOCH_ROSE, gone=[gone_member(one.member_id, is_expiry=True)]) for one in expired),
            *shown,
        ]
        at_least_ms = max(model.clock_ms, at_ms)
        trials = model.try_unlogged(observed, at_least_ms)
        fits = all(trial.fits for trial in trials)
        if not fits or not (is_proven or model.try_request(entry, at_least_ms, trials[-1].group).fits):
            return None
        for member in (each for each in expired if each.classic is None):
            outlived_ms = proven_ms - member.last_seen_at_ms - SESSION_LATE_MS
            bounds.narrow(max(0, outlived_ms), at_ms - member.last_seen_at_ms)
        likely_ms = bounds.likely_ms
        if not bounds.hold(self.in_force.session_timeout_ms) and likely_ms:
            why = f"{EPOCH_ROSE}: sessions of this group end after {bounds.text}"
            self.set_configs(entry, model.group.configs | {SESSION_TIMEOUT: str(likely_ms)}, why)
            trials = model.try_unlogged(observed, max(model.clock_ms, at_ms))
        model.adopt_unlogged(observed, trials)
        return model.try_request(entry, max(model.clock_ms, at_ms))

    # ------------------------------------------------------------ ends by our clock

    def expire(self, due: Due) -> None:
        """Ends a session that has ended by our clock though nothing shows it; marked as inferred."""
        self.model.observe(self._seen_ended(SESSION_OVER, [due]), due.deadline_ms)

    def expire_together(self, expired: list[Due]) -> bool:
        """Ends sessions whose order is not known at the time of the first; False if that does not fit the recording."""
        seen = self._seen_ended(SESSIONS_OVER, expired)
        return self.model.adopt_first([[seen]], expired[0].deadline_ms, lambda trials: trials[0].fits) is not None

    def note_survived(self, due: Due, at_ms: int, request_id: str) -> None:
        """A member's session continues though by our clock it has ended: it begins anew when it would have ended, or
        now, after a hole of the log. So the sessions of a consumer group are longer than assumed.
        """
        model, consumer = self.model, self.model.group.consumer
        anew_ms = due.deadline_ms if at_ms - due.deadline_ms < HOLE_MS else at_ms
        alive = [ObservedMember(member_id=due.member_id)]
        model.observe(model.seen(request_id, EPOCH_STAYED, members=alive), anew_ms)
        member = None if consumer is None else consumer.members.get(due.member_id)
        if member is None or member.classic is not None:
            return
        bounds = self._bounds
        bounds.narrow(at_ms - member.last_seen_at_ms - SESSION_LATE_MS, 0)
        if SESSION_TIMEOUT in model.group.configs and not bounds.hold(self.in_force.session_timeout_ms):
            longer = {name: value for name, value in model.group.configs.items() if name != SESSION_TIMEOUT}
            if bounds.likely_ms:
                longer[SESSION_TIMEOUT] = str(bounds.likely_ms)
            model.observe(model.seen(request_id, EPOCH_STAYED, configs=longer), anew_ms)

    @property
    def _bounds(self) -> SessionBounds:
        return self.model.tally.sessions.setdefault(self.model.group.group_id, SessionBounds())

    def _seen_ended(self, why: str, expired: list[Due]) -> GroupObservedRequest:
        first = expired[0]
        gone = [gone_member(each.member_id, is_expiry=True) for each in expired]
        return self.model.seen(f"{first.member_id[:100]}@{first.deadline_ms}", why, gone=gone)


def first_that_shows(entries: Iterable[LoggedRequest]) -> LoggedRequest | None:
    """The first whose answer shows the group's epoch, or its generation as a classic one."""
    return next((each for each in entries if max(each.answered_epoch, each.classic_generation_id) >= 0), None)


def _is_offered_classic_id(entry: LoggedRequest) -> bool:
    """Whether a newcomer was given an id as only a classic group gives them out."""
    request = entry.request
    return isinstance(request, JoinGroupRequest) and is_classic_member_id(request.recorded_member_id or "")
