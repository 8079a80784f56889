"""The model of one group that a recording is compared with: the pure core's group, and the requests to be answered. A
request is tried on a copy; an adopted trial becomes the model, and emits the request that was tried. Knows the core's
entry points; knows no order of requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import floor, inf
from typing import Protocol

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.heartbeat import heartbeat
from rollcall.coordinator_udfs.protocol.membership import keep_alive
from rollcall.coordinator_udfs.protocol.step import expire_due, next_due_ms, step
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.inputs.request_log.explaining.context import Context, Explanation
from rollcall.inputs.request_log.following.trial import Trial, fits
from rollcall.inputs.request_log.recorded import LoggedRequest, OrderedRequest, Tally
from rollcall.schemas.effects import Effect, Reply, RequestDropped, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import GroupObservedRequest, GroupRequest, HeartbeatRequest, JoinGroupRequest


class Listener(Protocol):
    """Takes a group's requests and effects, in order."""

    def take(self, ordered: OrderedRequest) -> None:
        """A request whose time and place are final, before its effects."""

    def take_effects(self, effects: list[Effect]) -> None:
        """The effects of a request or of a deadline."""

    def accept(self, beat: OrderedRequest) -> None:
        """A heartbeat whose only effect was an answer without an error."""


class Numbered:
    """Gives a group's requests their places among those of their millisecond, on their way to a listener."""

    def __init__(self, listener: Listener, at_ms: int = -1, seq: int = 0) -> None:
        """at_ms, seq: the time and the place of the last request."""
        self.at_ms, self.seq = at_ms, seq
        self.calls = 0
        """How often the listener was called."""
        self._listener = listener

    def take(self, ordered: OrderedRequest) -> None:
        self._number(ordered)
        self._listener.take(ordered)

    def take_effects(self, effects: list[Effect]) -> None:
        self.calls += 1
        self._listener.take_effects(effects)

    def accept(self, beat: OrderedRequest) -> None:
        self._number(beat)
        self._listener.accept(beat)

    def _number(self, ordered: OrderedRequest) -> None:
        self.calls += 1
        request = ordered.request
        self.seq = self.seq + 1 if request.received_at_ms == self.at_ms else 0
        self.at_ms, request.request_seq = request.received_at_ms, self.seq


MOST_WORK = 1_000_000
"""The most that all trials of a group may cost at once, in members and offsets copied: some seconds."""
TRIALS_A_LINE = 20
"""What each line adds to that, in trials."""
_TRIAL_WORK = 10
"""What a trial costs beside the members and offsets that are copied."""
_number = re.compile(r"\+\d+$")


class GaveUp(Exception):
    """The trials of a group cost more than they may."""


@dataclass(slots=True)
class GroupModel:
    """A group after its requests so far."""

    group: Group
    config: GroupConfig
    tally: Tally
    listener: Listener
    clock_ms: int = 0
    """The time of the last request or deadline."""
    parked: dict[str, LoggedRequest] = field(default_factory=dict)
    """The requests that wait for an answer, by id."""
    owed_ms: float = inf
    """When the first of the recorded answers to them was given."""
    inferred: int = 0
    """How many requests without a line were emitted."""
    offered: dict[str, JoinGroupRequest] = field(default_factory=dict)
    """Newcomers' first JoinGroups, by the id that each was given for the second one."""
    found: set[str] = field(default_factory=set)
    """Members of a consumer group that answers show and no line shows joining."""
    is_elsewhere: bool = False
    """Whether its members were found where no line leads to, so that what they own is not certain."""
    work_left: int = field(default_factory=lambda: MOST_WORK)
    """The work left for trials."""
    _turn: Turn = field(init=False)

    def __post_init__(self) -> None:
        self.reconfigure(self.config)

    def reconfigure(self, config: GroupConfig) -> None:
        """Uses these settings of the broker from now on."""
        self.config = config.of_a_recording()
        self._turn = Turn(0, self.config, 0)

    @property
    def is_older_than_log(self) -> bool:
        """Whether a consumer group has members that no line shows joining; then there may be unknown others."""
        return bool(self.found) and not self.found.isdisjoint(self.group.roster.members)

    def context(self, entry: LoggedRequest, upcoming: Iterable[LoggedRequest]) -> Context:
        """The evidence for an explanation of this request's answer."""
        return Context(self.group, entry, list(upcoming), self.parked, self.offered)

    @property
    def first_owed(self) -> LoggedRequest:
        """The parked request that was answered first."""
        return min(self.parked.values(), key=lambda entry: entry.recorded.answered_at_ms)

    # ------------------------------------------------------------ trying

    def when(self, entry: LoggedRequest) -> int:
        """The earliest time at which a request can happen now."""
        return max(self.clock_ms, entry.request.received_at_ms)

    def try_request(
        self, entry: LoggedRequest, at_ms: int, on: Group | None = None, after: Iterable[LoggedRequest] = ()
    ) -> Trial:
        """A recorded request, on the group as it is or as it would be after some others."""
        self._spend()
        parked = {**self.parked, **{other.request.request_id: other for other in after}} if after else self.parked
        group = (self.group if on is None else on).copy()
        effects = step(group, entry.request, at_ms, self.config)
        return Trial(group, effects, at_ms, fits(group, effects, at_ms, parked, entry))

    def try_deadline(self, at_ms: int, on: Group | None = None) -> Trial:
        """What is due up to this time."""
        self._spend()
        group = (self.group if on is None else on).copy()
        effects = expire_due(group, at_ms, self.config)
        return Trial(group, effects, at_ms, fits(group, effects, at_ms, self.parked))

    def try_unlogged(self, requests: Iterable[GroupRequest], at_ms: int, on: Group | None = None) -> list[Trial]:
        """Tries requests without a line, one after the other, each after whatever is due by then. They get the ids
        under which they are adopted.
        """
        trials: list[Trial] = []
        group = self.group if on is None else on
        for number, request in enumerate(requests, self.inferred + 1):
            self._spend()
            request.request_id = f"{_number.sub('', request.request_id)}+{number}"
            group = group.copy()
            effects = expire_due(group, at_ms - 1, self.config) + step(group, request, at_ms, self.config)
            trials.append(Trial(group, effects, at_ms, fits(group, effects, at_ms, self.parked)))
        return trials

    def try_in_turn(self, entries: Sequence[LoggedRequest], at_ms: int, on: Group) -> tuple[Group, int, int]:
        """Tries requests one after the other: the group before the first that does not fit, its place and its time."""
        for place, entry in enumerate(entries):
            if entry.was_refused:
                continue
            at_ms = max(at_ms, entry.request.received_at_ms)
            trial = self.try_request(entry, at_ms, on)
            if not trial.fits:
                return on, place, at_ms
            on = trial.group
        return on, len(entries), at_ms

    def next_due_ms(self, until_ms: float) -> int | None:
        """The earliest deadline, exactly, if it is not later than until_ms."""
        due_ms = next_due_ms(self.group, floor(until_ms), self.config)
        return due_ms if due_ms is not None and due_ms <= until_ms else None

    def allow_work(self) -> None:
        """Adds the work of another line."""
        if self.work_left < MOST_WORK:
            self.work_left = min(MOST_WORK, self.work_left + TRIALS_A_LINE * self._trial_work)

    def _spend(self) -> None:
        self.work_left -= self._trial_work
        if self.work_left < 0:
            raise GaveUp

    @property
    def _trial_work(self) -> int:
        group = self.group
        return _TRIAL_WORK + len(group.roster.members) + len(group.pending) + len(group.offsets)

    # ------------------------------------------------------------ adopting

    def apply(self, entry: LoggedRequest, at_ms: int) -> None:
        """Applies a request whose outcome is known to fit, without a trial."""
        effects = step(self.group, entry.request, at_ms, self.config)
        self._give(self.listener.take, entry, at_ms)
        self._note(effects, entry)

    def touch(self, entry: LoggedRequest, at_ms: int) -> None:
        """Applies a heartbeat that is answered as recorded: it only restarts the session."""
        turn = self._turn
        turn.now_ms = turn.armed_from_ms = at_ms
        if entry.recorded.error is Error.NONE:
            keep_alive(self.group, self.group.members[entry.member_id], turn)
            self._give(self.listener.accept, entry, at_ms)
        else:
            assert isinstance(entry.request, HeartbeatRequest)
            self._give(self.listener.take, entry, at_ms)
            turn.effects = []
            heartbeat(self.group, entry.request, turn)
            self.listener.take_effects(turn.effects)

    def adopt(self, trial: Trial, entry: LoggedRequest | None = None) -> None:
        """Adopts a trial; entry: the recorded request that was tried."""
        self.group = trial.group
        self.clock_ms = max(self.clock_ms, trial.at_ms)
        if entry is None:
            self._note(trial.effects, None)
        elif _is_accepted_alone(entry, trial.effects):
            self._give(self.listener.accept, entry, trial.at_ms)
        else:
            self._give(self.listener.take, entry, trial.at_ms)
            self._note(trial.effects, entry)

    def adopt_deadline(self, fired: Trial) -> None:
        """Adopts a deadline's trial. A request at that time would come before it, so the next are later."""
        self.adopt(fired)
        self.clock_ms = max(self.clock_ms, fired.at_ms + 1)

    def adopt_unlogged(self, requests: Iterable[GroupRequest], trials: Iterable[Trial]) -> None:
        """Adopts a trial of requests without a line, and emits these requests."""
        for request, trial in zip(requests, trials, strict=True):
            why = request.why if isinstance(request, GroupObservedRequest) else "a JoinGroup that left no line"
            seen = request.consumer if isinstance(request, GroupObservedRequest) else None
            if seen is not None and seen.member_id not in self.group.roster.members:
                self.found = {seen.member_id} | (self.found & self.group.roster.members.keys())
            self.tally.inferred[why] += 1
            self.inferred += 1
            request.received_at_ms = max(self.clock_ms, trial.at_ms)
            self.listener.take(OrderedRequest(self.group.group_id, request, None))
            self.adopt(trial)

    def adopt_first(
        self, explanations: Iterable[Explanation], at_ms: int, explains: Callable[[list[Trial]], bool]
    ) -> Explanation | None:
        """Adopts the first explanation whose trials explain what is recorded, and returns it."""
        for requests in explanations:
            trials = self.try_unlogged(requests, max(self.clock_ms, at_ms))
            if explains(trials):
                self.adopt_unlogged(requests, trials)
                return requests
        return None

    def seen(self, request_id: str, why: str, **facts: object) -> GroupObservedRequest:
        return GroupObservedRequest(
            request_id=request_id,
            api_version=0,
            group_id=self.group.group_id,
            why=why,
            **facts,  # type: ignore[arg-type]
        )

    def observe(self, request: GroupRequest, at_ms: int) -> None:
        """Applies an observation at this time or now, whatever its effects."""
        self.adopt_unlogged([request], self.try_unlogged([request], max(self.clock_ms, at_ms)))

    def _give(self, to: Callable[[OrderedRequest], None], entry: LoggedRequest, at_ms: int) -> None:
        """Emits a request that was applied."""
        entry.request.received_at_ms = self.clock_ms = at_ms
        to(OrderedRequest(self.group.group_id, entry.request, entry.recorded))

    def forget_parked(self, request_id: str) -> None:
        """Gives up on an answer that the model will not give."""
        self.parked.pop(request_id, None)
        self._update_owed()

    def forget_all_parked(self) -> None:
        """What waits will not be answered."""
        self.parked.clear()
        self._update_owed()

    def remember_parked(self, entries: Iterable[LoggedRequest]) -> None:
        """Takes up requests again that wait for an answer."""
        self.parked.update({entry.request.request_id: entry for entry in entries})
        self._update_owed()

    def _note(self, effects: list[Effect], entry: LoggedRequest | None) -> None:
        self.listener.take_effects(effects)
        has_answered = False
        for effect in effects:
            if isinstance(effect, RequestParked) and entry is not None:
                self.parked[effect.request_id] = entry
                self.owed_ms = min(self.owed_ms, entry.recorded.answered_at_ms)
            elif isinstance(effect, Reply | RequestDropped):
                has_answered |= self.parked.pop(effect.request_id, None) is not None
        if has_answered:
            self._update_owed()

    def _update_owed(self) -> None:
        self.owed_ms = min((entry.recorded.answered_at_ms for entry in self.parked.values()), default=inf)


def _is_accepted_alone(entry: LoggedRequest, effects: list[Effect]) -> bool:
    """Whether a request is a heartbeat whose only effect was an answer without an error."""
    reply = effects[0] if isinstance(entry.request, HeartbeatRequest) and len(effects) == 1 else None
    return isinstance(reply, Reply) and reply.error_code is Error.NONE and reply.request_id == entry.request.request_id
