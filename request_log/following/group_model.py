"""The model of one group that a recording is held against: the pure core's group, and what it owes an answer.

What might come of a request is tried on a copy; a trial that is adopted becomes the model, and gives the
request that was tried. Knows the core's entrances; knows no order of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import floor, inf

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.membership import keep_alive
from coordinator_udfs.protocol.step import next_due_ms, step
from coordinator_udfs.protocol.turn import Turn
from request_log.explaining.context import ACCEPTED, Context, member_id_of
from request_log.following.trial import Trial, try_deadline, try_request, try_unlogged
from request_log.recorded import LoggedRequest, OrderedRequest, Tally
from schemas.effects import Effect, Reply, RequestDropped, RequestParked
from schemas.messages import GroupObservedRequest, GroupRequest, JoinGroupRequest

MOST_WORK = 1_000_000
"""What all trials of a group may cost at once, in members and offsets copied: some seconds."""
TRIALS_A_LINE = 20
"""What a line adds to that, in trials."""
_TRIAL_WORK = 10
"""What a trial costs beside the members and offsets that are copied."""


class GaveUp(Exception):
    """The trials of a group cost more than they may."""


@dataclass(slots=True)
class GroupModel:
    """A group as its requests up to now have made it."""

    group: Group
    config: GroupConfig
    tally: Tally
    emit: Callable[[OrderedRequest], None]
    """Takes the requests in their final order."""
    clock_ms: int = 0
    """The time of the last request or deadline."""
    parked: dict[str, LoggedRequest] = field(default_factory=dict)
    """The requests that wait for an answer, by id."""
    owed_ms: float = inf
    """When the first of the recorded answers to them was given."""
    inferred: int = 0
    """How many requests that no line says were given."""
    silences: int = 0
    """How many observations were given that only let time pass."""
    offered: dict[str, JoinGroupRequest] = field(default_factory=dict)
    """By the id given out, what newcomers said of themselves when they were told to come back with it."""
    work_left: int = field(default_factory=lambda: MOST_WORK)
    """What trials may still cost."""
    _turn: Turn = field(init=False)

    def __post_init__(self) -> None:
        self.reconfigure(self.config)

    def reconfigure(self, config: GroupConfig) -> None:
        """From now on the broker is taken to have these settings."""
        self.config = config.of_a_recording()
        self._turn = Turn(0, self.config, 0)

    def context(self, entry: LoggedRequest, upcoming: Iterable[LoggedRequest]) -> Context:
        """All that an explanation of this request's answer has to go by."""
        return Context(self.group, entry, list(upcoming), self.parked, self.offered)

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
        return try_request(self.group if on is None else on, entry, at_ms, parked, self.config)

    def try_deadline(self, at_ms: int, on: Group | None = None) -> Trial:
        """What is due up to this time."""
        self._spend()
        return try_deadline(self.group if on is None else on, at_ms, self.parked, self.config)

    def try_unlogged(self, requests: Iterable[GroupRequest], at_ms: int, on: Group | None = None) -> list[Trial]:
        """Requests that no line says, one after the other."""
        trials: list[Trial] = []
        group = self.group if on is None else on
        for request in requests:
            self._spend()
            trials.append(try_unlogged(group, request, at_ms, self.parked, self.config))
            group = trials[-1].group
        return trials

    def next_due_ms(self, until_ms: float) -> int | None:
        """The earliest deadline, exactly, if it is not later than until_ms."""
        due_ms = next_due_ms(self.group, floor(until_ms), self.config)
        return due_ms if due_ms is not None and due_ms <= until_ms else None

    def allow_work(self) -> None:
        """Another line may cost something."""
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

    # ------------------------------------------------------------ making it so

    def apply(self, entry: LoggedRequest, at_ms: int) -> None:
        """Applies a request whose outcome is known to fit, without a trial."""
        self._note(step(self.group, entry.request, at_ms, self.config), entry)
        self.give(entry, at_ms)

    def touch(self, entry: LoggedRequest, at_ms: int) -> None:
        """A heartbeat that is answered as recorded: all that comes of it is a session that begins anew."""
        member = self.group.members.get(member_id_of(entry.request))
        if member is not None and entry.recorded.error in ACCEPTED:
            turn = self._turn
            turn.now_ms = turn.armed_from_ms = at_ms
            keep_alive(self.group, member, turn)
        self.give(entry, at_ms)

    def adopt(self, trial: Trial, entry: LoggedRequest | None = None) -> None:
        """Makes a trial come true; entry: the recorded request that was tried."""
        self.group = trial.group
        self._note(trial.effects, entry)
        self.clock_ms = max(self.clock_ms, trial.at_ms)
        if entry is not None:
            self.give(entry, trial.at_ms)

    def adopt_deadline(self, fired: Trial) -> None:
        """Makes a deadline's trial come true. A request of that time would come before it, so the next are later."""
        self.adopt(fired)
        self.clock_ms = max(self.clock_ms, fired.at_ms + 1)

    def adopt_unlogged(self, requests: Iterable[GroupRequest], trials: Iterable[Trial]) -> None:
        """Makes come true what no line says, and gives the requests that say it."""
        for request, trial in zip(requests, trials, strict=True):
            why = request.why if isinstance(request, GroupObservedRequest) else "a JoinGroup that left no line"
            self.tally.inferred[why] += 1
            self.inferred += 1
            self.adopt(trial)
            request.request_id = f"{request.request_id}+{self.inferred}"
            request.received_at_ms = self.clock_ms
            self.emit(OrderedRequest(self.group.group_id, request, None))

    def tell_silence(self) -> None:
        """Gives an observation that lets time pass up to now, and says nothing else."""
        self.silences += 1
        silence = GroupObservedRequest(
            request_id=f"silence+{self.silences}@{self.clock_ms}",
            api_version=0,
            received_at_ms=self.clock_ms,
            group_id=self.group.group_id,
            why="",
            is_silent=True,
        )
        self.emit(OrderedRequest(self.group.group_id, silence, None))

    def observe(self, request: GroupRequest, at_ms: int) -> None:
        """Makes an observation come true, whatever comes of it."""
        self.adopt_unlogged([request], self.try_unlogged([request], at_ms))

    def give(self, entry: LoggedRequest, at_ms: int) -> None:
        """Gives a request that was applied."""
        entry.request.received_at_ms = self.clock_ms = at_ms
        self.emit(OrderedRequest(self.group.group_id, entry.request, entry.recorded))

    def forget_parked(self, request_id: str) -> None:
        """Gives up on an answer that the model will not give."""
        self.parked.pop(request_id, None)
        self._settle_owed()

    def forget_all_parked(self) -> None:
        """What waits will not be answered."""
        self.parked.clear()
        self._settle_owed()

    def remember_parked(self, entries: Iterable[LoggedRequest]) -> None:
        """Takes up requests again that wait for an answer."""
        self.parked.update({entry.request.request_id: entry for entry in entries})
        self._settle_owed()

    def _note(self, effects: list[Effect], entry: LoggedRequest | None) -> None:
        has_answered = False
        for effect in effects:
            if isinstance(effect, RequestParked) and entry is not None:
                self.parked[effect.request_id] = entry
                self.owed_ms = min(self.owed_ms, entry.recorded.answered_at_ms)
            elif isinstance(effect, Reply | RequestDropped):
                has_answered |= self.parked.pop(effect.request_id, None) is not None
        if has_answered:
            self._settle_owed()

    def _settle_owed(self) -> None:
        self.owed_ms = min((entry.recorded.answered_at_ms for entry in self.parked.values()), default=inf)
