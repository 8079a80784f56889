"""What clients' lines show of their connection to the coordinator: sessions given up, by one or by several at once.

That a client gave up is a fact; why it heard nothing is not in its log. Knows facts of clients. Must not know how lines
are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from rollcall.history.words import count, duration
from rollcall.inputs.printed.error_names import NOT_COORDINATOR, error_name, error_said
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms, in_a_rebalance
from rollcall.inputs.printed.logged_rebalances import Finding, Rule, one_trouble, suggested, trouble
from rollcall.inputs.tolerances import ALIVE_WITHIN_MS, AT_ONCE_MS

_ANSWERS = {
    FactKind.GROUP_IS_REBALANCING: "that the group rebalances",
    FactKind.MEMBERSHIP_LOST: "that it is not a member",
}
"""What a failed heartbeat of a client was answered."""
SAYS_NOT_WHY = ("", "coordinator unavailable")
"""Reasons for giving a coordinator up that leave open whether it answered."""
_DENIALS = (FactKind.JOIN_REFUSED, FactKind.JOIN_FAILED, FactKind.COORDINATOR_LOST)
_CONNECTED = "UP"
_NO_ERROR = "Success"
_Thing = TypeVar("_Thing")


def _sessions_given_up(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    given_up = [fact for fact in facts if fact.kind is FactKind.SESSION_GIVEN_UP]
    for fact in given_up:
        last = "no error came either" if fact.error == _NO_ERROR else f"its last error was {error_said(fact.error)}"
        yield trouble(
            "client_session_timer",
            f"{who} gave its session up by its own clock: no successful answer of the coordinator, broker "
            f"{fact.broker_id}, for {duration(fact.length_ms or 0)}; {last}.",
            (fact,),
        )
    in_rebalances = tuple(filter(in_a_rebalance, given_up))
    if in_rebalances:
        yield suggested(
            "client_gives_up_in_long_rebalance",
            f"{who} did not take the answer that a rebalance is in progress as a sign of life: a rebalance that "
            "outlasts its session timeout brings the next one.",
            in_rebalances,
            "a version of the client that does not count such answers",
            "heartbeats really stopped",
        )


def _heartbeats_unanswered(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Gave its coordinator up by its own timer: which side was silent is not in its log.

    aiokafka counts an answer that is an error as none.
    """
    answer: LoggedFact | None = None
    for fact in facts:
        if fact.kind in _ANSWERS and fact.dialect == "aiokafka":
            answer = fact
        elif fact.kind is FactKind.JOINED:
            answer = None
        elif fact.kind is FactKind.HEARTBEATS_UNANSWERED:
            since_ms = None if answer is None else between_ms(answer, fact)
            if answer is not None and (since_ms is None or since_ms <= ALIVE_WITHIN_MS):
                yield trouble(
                    "client_session_timer",
                    f"By its own timer {who} had no successful answer to a heartbeat for its whole session timeout. "
                    f"Its coordinator did answer: the last answer was {_ANSWERS[answer.kind]}.",
                    (answer, fact),
                )
                continue
            yield trouble(
                "client_session_timer",
                f"By its own timer {who} had no answer to a heartbeat for its whole session timeout, and looked for "
                "its coordinator anew.",
                (fact,),
            )
            yield suggested(
                "expired_at_coordinator",
                f"The coordinator may have removed {who} for the same silence.",
                (fact,),
                "its heartbeats did not get to run",
                "the broker or the network was silent",
                "its clock or its process was paused",
            )


def _heartbeats_went_on(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Up to a poll timeout: the process was alive."""
    beat: LoggedFact | None = None
    for fact in facts:
        if fact.kind is FactKind.HEARTBEAT:
            beat = fact
        elif fact.kind is FactKind.POLL_TIMEOUT and beat is not None:
            before_ms = between_ms(beat, fact)
            if before_ms is not None and 0 <= before_ms <= ALIVE_WITHIN_MS:
                yield Finding(
                    "heartbeats_went_on",
                    f"{who} sent a heartbeat {duration(before_ms)} before its poll timeout: it was alive, its "
                    "application did not poll.",
                    (beat, fact),
                )
            beat = None


def _connections(who: str, failed: Sequence[LoggedFact]) -> str:
    times, last = f" {count(len(failed), 'time')}, the last" if len(failed) > 1 else "", failed[-1]
    after = duration(last.length_ms or 0)
    return f"{who} got no connection to its coordinator{times} after {after}: {error_said(last.error)}."


def _coordinator_denies(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """A broker that was named as coordinator, and says to the next join that it is not; each time of it at once."""
    named: LoggedFact | None = None
    denied: list[LoggedFact] = []
    for fact in facts:
        match fact.kind:
            case FactKind.COORDINATOR_FOUND:
                if named is None and denied and denied[-2].broker_id != fact.broker_id:
                    yield _denied(who, denied)
                    denied = []
                named = fact
            case kind if kind in _DENIALS and named is not None and _denies(named, fact):
                denied += (named, fact)
                named = None
            case FactKind.JOINED | FactKind.SYNCED | FactKind.HEARTBEAT | FactKind.COORDINATOR_LOST:
                named = None
    if denied:
        yield _denied(who, denied)


def _denied(who: str, denied: Sequence[LoggedFact]) -> Finding:
    times = len(denied) // 2
    broker = f"broker {denied[0].broker_id}" if denied[0].broker_id else "the broker"
    within = between_ms(denied[0], denied[-1])
    often = f" {times} times{'' if within is None else f' within {duration(within)}'}" if times > 1 else ""
    return suggested(
        "coordinator_named_but_denies",
        f"{who} was told{often} that {broker} is the coordinator, and {broker} denies it.",
        tuple(denied),
        f"{broker} has not taken over the group's partition of __consumer_offsets",
        "the broker that was asked has old metadata",
        "the leadership of that partition moves to and fro",
        "lines are missing",
        is_trouble=True,
    )


def _denies(named: LoggedFact, fact: LoggedFact) -> bool:
    """Whether the broker that was named says that it is not the coordinator; long after, it may be so no more."""
    if fact.kind is not FactKind.COORDINATOR_LOST:
        return error_name(fact.error) == NOT_COORDINATOR
    is_soon = (between_ms(named, fact) or 0) <= ALIVE_WITHIN_MS
    return is_soon and fact.broker_id == named.broker_id and error_name(fact.reason) == NOT_COORDINATOR


SESSION_RULES: Sequence[Rule] = (
    _sessions_given_up,
    _heartbeats_unanswered,
    _heartbeats_went_on,
    # A connection that was up and ends may have been idle.
    one_trouble(
        "connection_failed",
        lambda fact: fact.kind is FactKind.CONNECTION_FAILED and fact.state != _CONNECTED,
        _connections,
    ),
    _coordinator_denies,
)


def common_causes(clients: Sequence[Sequence[LoggedFact]]) -> Iterator[Finding]:
    """Several clients of a group that lost one broker at once: then no single client was the cause."""
    by_broker: dict[str, list[tuple[int, int, LoggedFact]]] = {}
    for place, facts in enumerate(clients):
        for fact in _losses(facts):
            if fact.at_ms is not None and fact.broker_id:
                by_broker.setdefault(fact.broker_id, []).append((fact.at_ms, place, fact))
    for broker_id, lost in by_broker.items():
        for together in at_once(sorted(lost, key=lambda one: one[:2])):
            first = {place: fact for _, place, fact in reversed(together)}
            if len(first) > 1:
                yield _common_cause(broker_id, sorted(first.values(), key=lambda one: one.at_ms or 0))


def _losses(facts: Sequence[LoggedFact]) -> Iterator[LoggedFact]:
    """Where a client gives a broker up for its silence, as far as its lines say. Where others are found it moved."""
    found: LoggedFact | None = None
    for fact in reversed(facts):
        if fact.kind is FactKind.COORDINATOR_FOUND:
            found = fact
        elif fact.kind is FactKind.COORDINATOR_LOST:
            is_answered = error_name(fact.reason) != "" or "error response" in fact.reason
            if not is_answered and (found is None or found.broker_id == fact.broker_id):
                yield fact
        elif fact.kind is FactKind.SESSION_GIVEN_UP and not in_a_rebalance(fact):
            yield fact


def _common_cause(broker_id: str, lost: Sequence[LoggedFact]) -> Finding:
    """What the clients have in common. lost: in each one's lines the first that says so, in order."""
    within_ms = max(between_ms(lost[0], lost[-1]) or 0, 1000 if lost[0].is_whole_seconds else 0)
    says_not_why = any(fact.kind is FactKind.COORDINATOR_LOST and fact.reason in SAYS_NOT_WHY for fact in lost)
    return suggested(
        "common_cause",
        f"{count(len(lost), 'client')} lost broker {broker_id} within {duration(within_ms)}: the cause is "
        "not in a single client.",
        tuple(lost),
        f"broker {broker_id} stood still or closed its connections",
        *((f"broker {broker_id} answered that it does not coordinate the group",) if says_not_why else ()),
        "the machine or container host of the clients stood still",
        "the network between them failed",
        is_trouble=True,
    )


def at_once(lost: Sequence[tuple[int, int, _Thing]]) -> Iterator[list[tuple[int, int, _Thing]]]:
    """Runs in time, each a little after the one before."""
    together: list[tuple[int, int, _Thing]] = []
    for one in lost:
        if together and one[0] - together[-1][0] > AT_ONCE_MS:
            yield together
            together = []
        together.append(one)
    if together:
        yield together
