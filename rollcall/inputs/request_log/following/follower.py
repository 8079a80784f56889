"""One group followed through its recorded requests: their order is the one that explains the recorded answers.

A log's times are milliseconds, and a broker works on several requests at once, fires timers a little late, and answers
a commit after it is replicated. So the order of arrival alone is not the order in which a group saw its requests. The
recorded answers show it. Three objects hold what is known: the order of the requests to be taken, the model of the
group (the pure core), and its clock. A request whose outcome is not certain is placed by trials (`placing`): neighbours
of the same moment are taken first, or a deadline due about now is moved to the other side of the request. If no order
explains an answer, `explaining` looks for what the recording proves; otherwise it stays a difference.

The outcome is a sequence of requests: applied in this order at these times, the core gives the recorded answers.

Knows the model and the recorded requests of one group; knows no file and no other group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from rollcall.inputs.request_log.following.clock import GroupClock
from rollcall.inputs.request_log.following.group_model import GaveUp, GroupModel
from rollcall.inputs.request_log.following.group_sessions import CONFIGS_GIVEN, Sessions
from rollcall.inputs.request_log.following.inferring import Causes
from rollcall.inputs.request_log.following.order import Order
from rollcall.inputs.request_log.following.placing import Placing
from rollcall.inputs.request_log.following.topic_names import TopicNames
from rollcall.inputs.request_log.following.topics_seen import TopicsSeen
from rollcall.inputs.request_log.following.without_trial import can_skip_trial
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.recorded import GivenUp, LoggedRequest
from rollcall.inputs.request_log.survey import Survey
from rollcall.inputs.tolerances import NEIGHBOUR_WITHIN_MS
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    HeartbeatRequest,
    IncrementalAlterConfigsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)

SILENCE = "while it was silent"
"""In place of a request, if a group is given up between two of them."""
_MOVED = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE})


@dataclass(slots=True)
class Follower:
    """A group while its recorded requests are taken one after another; each is read some time before it is taken."""

    model: GroupModel
    survey: Survey
    names: TopicNames
    silences: Silences
    order: Order = field(default_factory=Order)
    clock: GroupClock = field(init=False)
    causes: Causes = field(init=False)
    is_begun: bool = False
    """Whether a request of it was taken."""
    given_up: GivenUp | None = None
    """Where the group was given up; None while it is followed."""
    _topics: TopicsSeen = field(init=False)

    def __post_init__(self) -> None:
        sessions = Sessions(self.model, self.order)
        self.clock = GroupClock(self.model, self.order, sessions, self.silences)
        self.causes = Causes(sessions, self.survey)
        self._topics = TopicsSeen(self.model, self.order, self.names, self.survey.topics)

    def read(self, entry: LoggedRequest) -> None:
        """Adds a request that will be taken later."""
        self.order.read(entry)
        self.names.read(entry)

    def take(self, entry: LoggedRequest) -> None:
        """Applies a request to the model and emits it, after whatever has to come before it."""
        if entry.is_taken:
            return
        entry.is_taken = True
        self.order.fetches -= isinstance(entry.request, OffsetFetchRequest)
        if self.order.depth:
            self._take(entry)
        elif self.given_up is None:
            self.model.allow_work()
            self._try(partial(self._take, entry), entry.request.request_id)
        else:
            self.given_up.left_out += 1

    def can_skip_trial(self, entry: LoggedRequest) -> bool:
        """Whether a request needs no trial: nothing is due before it, nothing overdue, and it changes nothing."""
        model, at_ms = self.model, self.model.when(entry)
        due_ms = model.group.next_due_ms
        return (
            not self.clock.sessions.shows_other_interval(entry)
            and (due_ms is None or due_ms >= at_ms or model.next_due_ms(at_ms - 1) is None)
            and not self.clock.is_owed(entry)
            and can_skip_trial(model.group, entry)
        )

    # ------------------------------------------------------------ between requests

    def finish(self, end_ms: int) -> None:
        """Explains the requests still to be answered when the log ended, and lets time pass until then."""
        self.answer_overdue(end_ms)
        absent_ms = self.silences.absent_until_ms(self.clock.broker)
        self._try(partial(self.clock.pass_silence, end_ms, absent_ms))

    def answer_overdue(self, until_ms: float) -> None:
        """Explains the parked requests whose recorded answers were given before this time."""
        self._try(partial(self.clock.answer_overdue, until_ms))

    def pass_silence(self, until_ms: int) -> None:
        """Lets time pass while the group is silent: deadlines up to then fire."""
        self.model.allow_work()
        self._try(partial(self.clock.pass_silence, until_ms))

    def _try(self, act: Callable[[], None], request_id: str = "") -> None:
        """Gives the group up where it costs more work than it may. request_id: the request that is left out then."""
        try:
            if self.given_up is None:
                act()
        except GaveUp:
            self.order.depth = 0
            self.model.forget_all_parked()
            self.given_up = GivenUp(request_id or SILENCE, left_out=int(bool(request_id)))
            self.model.tally.given_up[self.model.group.group_id] = self.given_up

    # ------------------------------------------------------------ one request

    def _take(self, entry: LoggedRequest) -> None:
        group_id = self.model.group.group_id
        if not self.is_begun:
            self.is_begun = True
            if configs := self.survey.group_configs.get(group_id):
                self.clock.sessions.set_configs(entry, configs, CONFIGS_GIVEN)
        if isinstance(entry.request, DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest):
            self._take_configs(entry)
        elif not entry.was_refused:
            self._take_of_group(entry)
        elif entry.recorded.error in _MOVED and entry.broker == self.clock.broker:
            self.clock.leave(entry)

    def _take_configs(self, entry: LoggedRequest) -> None:
        """Applies a request about the group's configs, which any broker answers; a refused one changed nothing."""
        if entry.was_refused:
            return
        model, clock = self.model, self.clock
        at_ms = clock.let_pass(entry, model.when(entry))
        if isinstance(entry.request, DescribeConfigsRequest):
            clock.sessions.take_shown_configs(entry)
        model.adopt(model.try_request(entry, max(model.clock_ms, at_ms)), entry)

    def _take_of_group(self, entry: LoggedRequest) -> None:
        model, order = self.model, self.order
        self.clock.reach(entry)
        self.names.fill_in(entry.request, model.group)
        if not self.can_skip_trial(entry):
            order.depth += 1
            Placing(entry, model, order, self.clock, self._topics, self.causes, self.take).settle()
            order.depth -= 1
        elif isinstance(entry.request, HeartbeatRequest):
            model.touch(entry, model.when(entry))
        else:
            if order.fetches and isinstance(entry.request, OffsetCommitRequest):
                self._take_readers_first(entry)
            model.apply(entry, model.when(entry))

    def _take_readers_first(self, entry: LoggedRequest) -> None:
        """A fetch sees a commit only when that is answered; one that saw the offsets before it comes first."""
        for other in self.order.near(entry, NEIGHBOUR_WITHIN_MS):
            is_fetch = isinstance(other.request, OffsetFetchRequest)
            if is_fetch and self.model.try_request(other, self.model.when(other)).fits:
                self.take(other)
