"""One request whose outcome is not certain: what came before it, and when the broker worked on it.

A broker works on several requests at once. If a request does not fit the model, a deadline or neighbours of the same
moment may come first, or something that no line shows. A line only has when its request arrived and was answered, and
a busy broker handles it seconds later: the time is used after which most of the next requests fit. Knows one request
and what is read ahead; the order of all requests is what its followers make of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import floor

from rollcall.coordinator_udfs.protocol.deadlines import earliest
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.inputs.request_log.explaining.consumers import NOT_EXPLAINED
from rollcall.inputs.request_log.explaining.context import Context
from rollcall.inputs.request_log.explaining.explanations import explain
from rollcall.inputs.request_log.explaining.rebalances import explain_full
from rollcall.inputs.request_log.following.clock import GroupClock
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.inferring import Causes
from rollcall.inputs.request_log.following.order import LOOKED_AT, Order
from rollcall.inputs.request_log.following.passed_deadlines import PassedDeadline
from rollcall.inputs.request_log.following.topics_seen import TopicsSeen
from rollcall.inputs.request_log.following.trial import Trial
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import (
    ANSWERED_AT_ONCE_MS,
    FARTHER_NEIGHBOUR_WITHIN_MS,
    FIRED_EARLIER_MS,
    NEIGHBOUR_WITHIN_MS,
    OVERDUE_MS,
)
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest

MOST_NEIGHBOURS = 3
MOST_PATHS = 8
MOST_LOOKED_AT = 200
"""This many of the next requests are tried to see whether a client has joined without a line."""
_PARTS = 4


@dataclass(slots=True)
class Placing:
    """A request while its place in the order is looked for."""

    entry: LoggedRequest
    model: GroupModel
    order: Order
    clock: GroupClock
    topics: TopicsSeen
    causes: Causes
    take: Callable[[LoggedRequest], None]
    """Takes another request before this one."""
    at_ms: int = 0
    """The earliest time at which the broker worked on it."""

    def settle(self) -> None:
        """Applies whatever came before the request, then the request; a refused join changes nothing."""
        # The order is the rule: first what has surely happened by now, then what the request itself carries, for a
        # trial needs both; then guesses; and a neighbour may only be taken once it is clear what the request changes.
        model, entry, sessions = self.model, self.entry, self.clock.sessions
        if self.clock.is_owed(entry):
            self.clock.answer_overdue(entry.began_ms - OVERDUE_MS)
        self._take_first_to_join()
        self.at_ms = self.clock.let_pass(entry, model.when(entry))
        self.causes.infer(entry)
        sessions.take_shown_interval(entry)
        self.topics.show_upgraded(entry)
        error = entry.recorded.error
        is_asked_to_rejoin = isinstance(entry.request, SyncGroupRequest) and error is Error.REBALANCE_IN_PROGRESS
        trial = model.try_request(entry, self.at_ms)
        trial = sessions.explain_downgrade(entry, trial) or trial
        if not trial.fits:
            self.at_ms = trial.at_ms
            trial = next(fitting for guess in GUESSES if (fitting := guess(self)) is not None)
        elif is_asked_to_rejoin and not trial.answers(entry.request.request_id):
            # By this trial it would wait for that answer.
            trial = self._after_neighbours(NEIGHBOUR_WITHIN_MS, at_once=True) or trial
        if trial.fits:
            trial = self._at_the_best_time(trial)
        elif entry.joins_consumers and error is not Error.NONE:
            # A refused client is not a member, whatever unseen state of the group explains it.
            return
        if not self.order.is_too_deep:
            trial = self._take_earlier_ones(trial)
        model.adopt(trial, entry)
        if error is Error.MEMBER_ID_REQUIRED:
            self._take_unlogged_join()

    def _again(self) -> Trial:
        """The request on the model as it is now."""
        return self.model.try_request(self.entry, max(self.model.clock_ms, self.at_ms))

    def _context(self) -> Context:
        """The evidence for an explanation of this request's answer."""
        return self.model.context(self.entry, self.order.in_order())

    # ------------------------------------------------------------ guesses: why a request does not fit

    def _after_a_deadline(self) -> Trial | None:
        """A deadline that is due about now fired before the request."""
        model, entry = self.model, self.entry
        due_ms = model.next_due_ms(max(self.at_ms, entry.until_ms) + FIRED_EARLIER_MS)
        due = None if due_ms is None else earliest(model.group)
        sessions, pass_absence = self.clock.sessions, self.clock.pass_absence
        if due_ms is None or due is None:
            return None
        if PassedDeadline(sessions, due, entry, self.at_ms, pass_absence).may_not_be_first:
            return None
        fired = model.try_deadline(due_ms)
        later_ms = max(self.at_ms, due_ms + 1)
        if not fired.fits or not model.try_request(entry, later_ms, fired.group).fits:
            return None
        model.adopt_deadline(fired)
        return model.try_request(entry, later_ms)

    def _after_neighbours(self, near_ms: float, *, at_once: bool = False) -> Trial | None:
        """Other requests of the same moment came before it. at_once: so that it is answered and need not wait."""
        path = None if self.order.is_too_deep else self._path(near_ms, at_once=at_once)
        for other in path or ():
            self.take(other)
        return self._again() if path else None

    def _path(self, near_ms: float, *, at_once: bool) -> list[LoggedRequest] | None:
        """The fewest neighbours, at most a few, after which the request fits; None if there are none."""
        model, entry, at_ms = self.model, self.entry, self.at_ms
        near = self.order.neighbours(model.group, entry, near_ms)
        found: list[tuple[Group, list[LoggedRequest]]] = [(model.group, [])]
        for _ in range(MOST_NEIGHBOURS):
            longer = []
            for reached, path in found:
                for other in near:
                    if other in path:
                        continue
                    trial = model.try_request(other, at_ms, reached, path)
                    if not trial.fits:
                        continue
                    then = model.try_request(entry, at_ms, trial.group, [*path, other])
                    if then.fits and (then.answers(entry.request.request_id) or not at_once):
                        return [*path, other]
                    longer.append((trial.group, [*path, other]))
            found = longer[:MOST_PATHS]
        return None

    def _later(self) -> Trial | None:
        """A request of a consumer group was handled at the end of its line's time."""
        model, until_ms = self.model, floor(self.entry.until_ms)
        is_possible = model.group.consumer is not None and until_ms > self.at_ms
        if not is_possible or model.next_due_ms(until_ms - 1) is not None:
            return None
        later = model.try_request(self.entry, until_ms)
        return later if later.fits else None

    def _after_an_answer(self) -> Trial | None:
        """What answered a parked request at about this time came before it."""
        model = self.model
        is_answered = model.owed_ms <= self.entry.until_ms and self.clock.explain_answered(model.first_owed)
        again = self._again() if is_answered else None
        return again if again is not None and again.fits else None

    def _after_an_explanation(self) -> Trial | None:
        """What no line shows and the answer proves came before it."""
        model = self.model

        def explains(trials: list[Trial]) -> bool:
            then = trials[-1].group if all(each.fits for each in trials) else None
            return then is not None and model.try_request(self.entry, self.at_ms, then).fits

        requests = model.adopt_first(explain(self._context()), self.at_ms, explains)
        if requests and getattr(requests[0], "why", "") == NOT_EXPLAINED and not model.is_older_than_log:
            model.is_elsewhere = True
        return self._again() if requests else None

    def _unexplained(self) -> Trial:
        """Nothing explains the answer."""
        self.model.tally.unsettled[self.entry.recorded.message.api] += 1
        self.causes.infer_unproven(self.entry)
        return self._again()

    # ------------------------------------------------------------ when it happened

    def _at_the_best_time(self, trial: Trial) -> Trial:
        """The trial of a request that fits, at the time within its interval that fits the next requests best. Two
        target assignments of a group are an interval apart, counted from when the broker computed the first.
        """
        model, long_ms, after = self.model, self.entry.until_ms - trial.at_ms, trial.group.consumer
        had_ms = None if model.group.consumer is None else model.group.consumer.target_at_ms
        if after is None or after.target_at_ms == had_ms or long_ms < ANSWERED_AT_ONCE_MS:
            return trial
        following = list(islice(self.order.in_order(), LOOKED_AT))
        best, most = trial, model.try_in_turn(following, trial.at_ms, trial.group)[1]
        for part in range(1, _PARTS + 1):
            at_ms = trial.at_ms + floor(long_ms * part / _PARTS)
            if model.next_due_ms(at_ms - 1) is not None:
                # The deadline would fire in the past.
                break
            later = model.try_request(self.entry, at_ms)
            count = model.try_in_turn(following, at_ms, later.group)[1] if later.fits else 0
            if count > most:
                best, most = later, count
        return best

    # ------------------------------------------------------------ neighbours that come first

    def _take_first_to_join(self) -> None:
        """Takes the clients that joined an Empty group before this request, as the answers show."""
        model, order, entry = self.model, self.order, self.entry
        if order.is_too_deep or (model.group.is_known and not model.group.is_empty):
            return
        first = order.first_to_be_assigned(entry, FARTHER_NEIGHBOUR_WITHIN_MS)
        leader = None if first is not None else order.first_to_lead(model.group, entry, FARTHER_NEIGHBOUR_WITHIN_MS)
        if leader is not None and model.try_request(leader, model.clock_ms).fits:
            first = leader
        if first is not None:
            self.take(first)

    def _take_earlier_ones(self, trial: Trial) -> Trial:
        """A request that changes the group waits for neighbours that fit before it and not after it."""
        model = self.model
        while trial.fits and trial.has_changed(model.group):
            near = self.order.near(self.entry, NEIGHBOUR_WITHIN_MS)
            earlier = next(filter(partial(self._is_after, trial), near), None)
            if earlier is None:
                break
            self.take(earlier)
            trial = model.try_request(self.entry, max(model.clock_ms, trial.at_ms))
        return trial

    def _is_after(self, trial: Trial, other: LoggedRequest) -> bool:
        """Whether the request still fits after a neighbour that fits before it, and not after it."""
        model, at_ms = self.model, max(trial.at_ms, other.request.received_at_ms)
        first = model.try_request(other, trial.at_ms)
        return (
            first.fits
            and model.try_request(self.entry, trial.at_ms, first.group, [other]).fits
            and not model.try_request(other, at_ms, trial.group).fits
        )

    # ------------------------------------------------------------ newcomers without a line

    def _take_unlogged_join(self) -> None:
        """A newcomer without a line joined at once with its id and died waiting. It is in the next generation, or a
        member is refused because of it, or learns of the rebalance.
        """
        model, context, request = self.model, self._context(), self.entry.request
        listed = context.newcomer_without_line()
        given_id = request.recorded_member_id if isinstance(request, JoinGroupRequest) else None
        has_joined = listed is not None or (given_id and self._has_joined(context, given_id))
        join = context.unlogged_join(given_id, listed) if given_id and has_joined else None
        if join is not None:
            model.adopt_first([[join]], self.entry.recorded.answered_at_ms, lambda trials: trials[0].fits)

    def _has_joined(self, context: Context, member_id: str) -> bool:
        """Whether the client that this request just gave an id is seen to have joined with it without a line.

        A newcomer joins at once. Two things show it: a member that is refused by a full group, and members that learn
        of a rebalance without another reason. By then others may have joined too, so the next requests are tried in
        order.
        """
        model = self.model
        following = [one for one in context.upcoming if not one.was_refused][:MOST_LOOKED_AT]
        if any(_names(one, member_id) for one in following):
            return False
        group, place, at_ms = model.try_in_turn(following, model.clock_ms, model.group)
        if place == len(following):
            return False
        stuck, rest = following[place], following[place + 1 :]
        if stuck.recorded.error is Error.GROUP_MAX_SIZE_REACHED:
            for joins in explain_full(model.context(stuck, rest)._replace(group=group)):
                tried = model.try_unlogged(joins, at_ms, group)
                if all(each.fits for each in tried) and model.try_request(stuck, at_ms, tried[-1].group).fits:
                    return any(getattr(join, "member_id", "") == member_id for join in joins)
        elif stuck.recorded.error is Error.REBALANCE_IN_PROGRESS and all(e.joined_generation_id < 0 for e in following):
            join = context.unlogged_join(member_id)
            tried = [] if join is None else model.try_unlogged([join], model.clock_ms)
            return any(
                each.fits and model.try_in_turn(following, model.clock_ms, each.group)[1] > place for each in tried
            )
        return False


def _names(entry: LoggedRequest, member_id: str) -> bool:
    """Whether a request comes from this member, or its answer says that it is one."""
    response = entry.recorded.response
    named = [entry.member_id]
    if isinstance(response, JoinGroupResponse):
        named += [response.leader, *(one.member_id for one in response.members)]
    return member_id in named


GUESSES: tuple[Callable[[Placing], Trial | None], ...] = (
    Placing._after_a_deadline,
    lambda placing: placing._after_neighbours(NEIGHBOUR_WITHIN_MS),
    lambda placing: placing._after_neighbours(FARTHER_NEIGHBOUR_WITHIN_MS),
    lambda one: one.clock.sessions.explain_risen_epoch(one.entry, max(one.model.clock_ms, one.at_ms)),
    lambda one: one.topics.fit(one.entry, one.at_ms),
    Placing._later,
    Placing._after_an_answer,
    Placing._after_an_explanation,
    Placing._unexplained,
)
"""The first that makes the request fit wins. The order is the rule, the nearest explanation first: what lines show at
another time, then what they prove of sessions and topics, then what no line shows. A silent member has expired more
likely than topics have changed at the same time.
"""
