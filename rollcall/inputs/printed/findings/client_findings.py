"""What a group's clients' lines show beside its rebalances: the answers to what people ask of an application's log.

Each rule looks at one client's facts in order. Stock phrases are taken for what they are: a coordinator that is "marked
dead" and found again is the same broker. Knows facts of one client. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rollcall.history.words import count, duration, some
from rollcall.inputs.printed.absence import could_stand
from rollcall.inputs.printed.error_names import NOT_COORDINATOR, error_name, error_said
from rollcall.inputs.printed.findings.connect_findings import CONNECT_RULES
from rollcall.inputs.printed.findings.membership_findings import MEMBERSHIP_RULES
from rollcall.inputs.printed.findings.session_findings import SAYS_NOT_WHY, SESSION_RULES
from rollcall.inputs.printed.findings.topic_findings import topics_changed
from rollcall.inputs.printed.groups.own_generations import GIVEN_ID, learnt_of_others
from rollcall.inputs.printed.groups.own_part import LONGEST_MS
from rollcall.inputs.printed.logged_facts import FATAL, INCREMENTAL, LEAVE_REFUSED, FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_partitions import names_no_partition, partitions_in
from rollcall.inputs.printed.logged_rebalances import Finding, Rule, client_id_of, shortest_name, suggested, trouble
from rollcall.inputs.printed.templates import counted
from rollcall.inputs.printed.wording import how_often_within, lasting

_WORKS = (
    FactKind.GROUP_IS_REBALANCING,
    FactKind.JOINED,
    FactKind.JOINED_AND_SYNCED,
    FactKind.SYNCED,
    FactKind.HEARTBEAT,
)
"""Its coordinator answers."""
_OF_A_JOIN = (
    *(FactKind.JOINED, FactKind.JOINED_AND_SYNCED, FactKind.SYNCED, FactKind.PARTITIONS_ADDED, FactKind.REJOIN_WANTED),
    *(FactKind.JOIN_REFUSED, FactKind.JOIN_FAILED, FactKind.LEAVE_SENT, FactKind.POLL_TIMEOUT),
    FactKind.MEMBERSHIP_LOST,
)
"""Lines that say what became of a request to join, or why it was sent."""
_NO_REASONS = (*SAYS_NOT_WHY, "null")
"""Reasons of an unavailable coordinator that explain nothing."""
_ASKS = (FactKind.JOIN_SENT, FactKind.JOINED_AND_SYNCED)
"""Lines that show that a client asked to join: some clients only print the answer."""


def client_findings(facts: Sequence[LoggedFact]) -> list[Finding]:
    """Everything that the rules find in one client's lines."""
    ids = (fact.instance_id or fact.client_id or client_id_of(fact.member_id) for fact in facts)
    names = (*ids, *(fact.source for fact in facts))
    who = next(filter(None, names), "the client")
    return [finding for rule in RULES for finding in rule(who, facts)]


def _does_not_poll(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Learnt of a rebalance again and again, and did not ask to join: the thread that polls is elsewhere."""
    learnt: list[LoggedFact] = []
    revoked: LoggedFact | None = None
    for fact in (*facts, None):
        if fact is not None and learnt_of_others(fact):
            is_apart = bool(learnt) and (between_ms(learnt[-1], fact) or 0) > LONGEST_MS
            learnt = [fact] if is_apart else [*learnt, fact]
        elif fact is not None and fact.kind is FactKind.PARTITIONS_REVOKED and learnt:
            revoked = fact
        elif fact is not None and fact.kind is FactKind.JOINED_AND_SYNCED:
            learnt, revoked = [], None  # This client prints no line when it asks to join: the answer shows that it did.
        elif fact is None or fact.kind in (FactKind.JOIN_SENT, FactKind.JOINED, FactKind.MEMBERSHIP_LOST):
            if len(learnt) > 2 and could_stand(learnt[-1], *_ASKS):
                yield suggested(
                    "application_does_not_poll",
                    f"{who} learnt of a rebalance{how_often_within(learnt)} and did not ask to join: "
                    "its application did not poll meanwhile.",
                    tuple(learnt),
                    "the application is busy or blocked between two polls",
                    "its rebalance listener does not return",
                    "lines are missing",
                    is_trouble=True,
                )
                if revoked is not None:
                    yield suggested(
                        "revoke_callback_stuck",
                        f"{who} had begun to give {_given_up(revoked)} up, and no line says that this ended.",
                        (revoked, learnt[-1]),
                        "its rebalance listener did not return",
                        "lines are missing",
                    )
            learnt, revoked = [], None


def _given_up(revoked: LoggedFact) -> str:
    """The partitions of a line that names or counts them."""
    named = revoked.partitions.strip()
    number = counted(named)
    return named or "its partitions" if number is None else count(number, "partition")


def _polled_too_late(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """How long its application was away in all; for a leave that set nothing off, that its poll timeout had passed."""
    left: LoggedFact | None = None
    notified: LoggedFact | None = None
    for fact in facts:
        if fact.kind is FactKind.POLL_TIMEOUT:
            left = left or fact
        elif fact.state == LEAVE_REFUSED:
            if left is not None:
                yield Finding(
                    "late_leave_refused",
                    f"The application of {who} did not poll within max.poll.interval.ms. Its client asked to leave, "
                    f"and its coordinator refused: {error_said(fact.error)}. So this leave set no rebalance off.",
                    (left, fact),
                )
        elif learnt_of_others(fact):
            left, notified = None, fact  # A client that has left sends no heartbeats: another one printed this line.
        elif fact.kind in (FactKind.JOIN_SENT, FactKind.MEMBERSHIP_LOST):
            if left is not None and could_stand(fact, FactKind.JOIN_SENT):
                yield trouble(
                    "polled_again",
                    f"{who} left because its application did not poll within max.poll.interval.ms. It polled again"
                    f"{lasting(' {} later', left, fact)}: one round of its loop took max.poll.interval.ms and that.",
                    (left, fact),
                )
            left = notified = None
    if left is not None and notified is not None and could_stand(left, FactKind.JOIN_SENT):
        yield Finding(
            "left_others_rebalance",
            f"{who} had been notified of a rebalance, and left instead of joining again: its application did not poll "
            "within max.poll.interval.ms.",
            (notified, left),
        )


def _asks_again(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Gave its partitions up and asked to join, in lines that have neither why nor an answer."""
    revoked: LoggedFact | None = None
    asked: LoggedFact | None = None
    for fact in facts:
        if fact.kind is FactKind.PARTITIONS_REVOKED and not names_no_partition(fact):
            revoked = fact
        elif fact.kind is FactKind.JOIN_SENT:
            asked = asked or (None if revoked is None else fact)
        elif fact.kind in _OF_A_JOIN:
            revoked = asked = None
    if revoked is not None and asked is not None and not any(map(learnt_of_others, facts)):
        yield Finding(
            "rejoin_unanswered",
            f"{who} gave its partitions up and asked to join again. Neither why nor the answer is in these lines.",
            (revoked, asked),
        )


def _fenced(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """A client prints one fencing in several lines; it can be fenced again only once it is a member again."""
    fenced: list[LoggedFact] = []
    for fact in (*facts, None):
        if fact is not None and fact.kind is FactKind.INSTANCE_FENCED:
            fenced.append(fact)
        elif fenced and (fact is None or fact.kind in _WORKS):
            yield trouble("fenced", f"{who} was fenced: another member uses its group.instance.id.", tuple(fenced))
            fenced = []


def _join_refused(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Asked a broker to join that is not the coordinator, or not yet: each answer once, with how often it came."""
    asked: LoggedFact | None = None
    refused: list[LoggedFact] = []
    for fact, after in zip_longest(facts, facts[1:]):
        if fact.kind is FactKind.JOIN_SENT:
            asked = fact
        elif fact.kind is FactKind.JOIN_REFUSED or (
            fact.kind is FactKind.COORDINATOR_LOST and asked is not None and error_name(fact.reason) == NOT_COORDINATOR
        ):
            refused.append(fact)
            asked = None
        elif fact.kind in (FactKind.JOINED, FactKind.SYNCED, FactKind.MEMBER_PROGRESSED):
            asked = None
        if refused and (after is None or not _continues(refused[0], after)):
            why = refused[0].error or refused[0].reason
            is_fatal = refused[0].state == FATAL or "fatal" in why
            then = "This error is fatal: it does not try again on its own." if is_fatal else "It tries again."
            said = f"{who} asked to join and was refused{how_often_within(refused)}: {error_said(why)}. {then}"
            yield trouble("join_refused", said, tuple(refused))
            refused = []


def _continues(refused: LoggedFact, fact: LoggedFact) -> bool:
    """Whether a line belongs to the attempts that get the same answer."""
    if fact.kind is FactKind.JOIN_REFUSED:
        return (fact.error, fact.state) == (refused.error, refused.state)
    return fact.kind in (FactKind.JOIN_SENT, FactKind.JOIN_FAILED, FactKind.CLIENT_STATE, FactKind.REJOIN_WANTED)


def _coordinators(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """A coordinator that was lost and found, where the same one did not move, or that no later line has."""
    known, lost = "", None
    before: list[LoggedFact] = []
    again: list[LoggedFact] = []
    """Where it was lost and found, up to the latest answer and since."""
    missed: list[LoggedFact] = []
    """The lines that say so since it was last found, or answered."""
    for fact in facts:
        if fact.kind is FactKind.COORDINATOR_LOST:
            lost, known = lost or fact, fact.broker_id or known
            missed.append(fact)
        elif fact.kind is FactKind.COORDINATOR_FOUND:
            moved = bool(known and fact.broker_id and fact.broker_id != known)
            if lost is not None and known and fact.broker_id == known:
                again += (lost, fact)
            elif moved:
                yield from _found_again(who, (*before, *again))
                yield Finding(
                    "coordinator_moved",
                    f"For {who} the coordinator moved from broker {known} to broker {fact.broker_id}.",
                    (fact,) if lost is None else (lost, fact),
                )
                before, again = [], []
            known, lost, missed = fact.broker_id or known, None, []
        elif fact.kind in _WORKS:
            before, again, missed = [*before, *again], [], []
    yield from _found_again(who, (*before, *again), missed if again else ())
    if missed and len(again) > 2:
        yield _cannot_be_used(who, (*again, *missed), again[-1].broker_id)
    if missed and not again:
        without = f"without its coordinator{how_often_within(missed)}{_because(missed)}"
        no_line = f"At the end of its lines {who} is {without}: no later line says that it found one or was answered."
        if could_stand(missed[-1], FactKind.COORDINATOR_FOUND):
            yield trouble("coordinator_not_found", no_line, tuple(missed))
        else:
            yield Finding("coordinator_lost_by_client", f"{who} was {without}.", tuple(missed))


def _found_again(who: str, again: Sequence[LoggedFact], missed: Sequence[LoggedFact] = ()) -> Iterator[Finding]:
    """One finding of all times that a client lost and found one coordinator.

    missed: the lines that say at the end that it is lost once more.
    """
    if not again:
        return
    lost, found, times = again[0], again[-1], len(again) // 2
    when = lasting(" {} later", lost, found) if times == 1 else f" {times} times{lasting(' within {}', lost, found)}"
    then = " The last line about it says again that it is unavailable." if missed else ""
    yield Finding(
        "coordinator_lost_by_client",
        f"{who} took its coordinator for unavailable{_because(again)} and found the same broker {found.broker_id} "
        f"again{when}: it did not move.{then}",
        (*again, *missed),
    )


def _cannot_be_used(who: str, facts: tuple[LoggedFact, ...], broker_id: str) -> Finding:
    return suggested(
        "coordinator_cannot_be_used",
        f"Broker {broker_id} is named as the coordinator each time, and {who} cannot use it.",
        facts,
        f"broker {broker_id} is down, and its partition of __consumer_offsets has no other replica in sync",
        "that partition has no new leader yet",
        f"broker {broker_id} lives, and does not take the group over",
        is_trouble=True,
    )


def _because(lost: Sequence[LoggedFact]) -> str:
    reasons = dict.fromkeys(error_name(fact.reason) or fact.reason for fact in lost if fact.reason not in _NO_REASONS)
    return f" ({some(reasons)})" if reasons else ""


def _idle(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Was given no partition. Where its lines name only what is new, it may own what it had before them."""
    given = [
        fact
        for fact in facts
        if fact.kind is FactKind.PARTITIONS_ADDED
        or (fact.kind in (FactKind.SYNCED, FactKind.JOINED_AND_SYNCED) and fact.partitions)
    ]
    taken = [fact for fact in facts if fact.kind is FactKind.PARTITIONS_REVOKED]
    lost = [fact for fact in facts if fact.kind is FactKind.PARTITIONS_LOST]
    if not given or not all(map(names_no_partition, (*given, *taken, *lost))):
        return
    before = facts[: facts.index(given[0])]
    is_new = any(fact.kind is FactKind.CLIENT_STARTED or GIVEN_ID in fact.reason for fact in before)
    if taken or is_new or any(fact.operation != INCREMENTAL for fact in given):
        yield Finding(
            "idle_member",
            f"{who} owned no partition in these lines: it takes part in every rebalance and consumes nothing.",
            (*given, *taken),
        )
        yield suggested(
            "more_members_than_partitions", "There was no partition left for it.", tuple(given), *_WITHOUT_PARTITIONS
        )
    else:
        yield Finding(
            "given_nothing",
            f"{who} was given no partition in these lines.",
            tuple(given),
            candidates=(*_WITHOUT_PARTITIONS, "it kept those that it had before these lines"),
        )


_WITHOUT_PARTITIONS = ("the group has more consumers than partitions", "its topic is not there for it")


def _others_gone(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """It leads where another led, and has more partitions than before."""
    before: LoggedFact | None = None
    for fact in facts:
        if fact.kind is not FactKind.JOINED_AND_SYNCED:
            continue
        leads_now = before is not None and fact.other_member_id == fact.member_id != before.other_member_id != ""
        if before is not None and leads_now and partitions_in(before) < partitions_in(fact):
            leader = shortest_name(before.other_member_id)
            yield suggested(
                "others_gone",
                f"{who} leads the group now, and has what others had: the earlier leader {leader} is gone.",
                (before, fact),
                "it left",
                "it expired",
            )
        before = fact


def _crashed(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    for place, fact in enumerate(facts):
        if fact.kind is not FactKind.CLIENT_CRASHED:
            continue
        after = next((one for one in facts[place + 1 :] if one.kind is not FactKind.LEAVE_SENT), None)
        again = after if after is not None and after.state == "restarting" else None
        then = "" if again is None else f". Its client restarts it {duration(again.length_ms or 0)} later."
        yield trouble(
            "client_crashed",
            f"{who} stopped consuming: {error_said(fact.error)}{then}",
            (fact,) if again is None else (fact, again),
        )


RULES: Sequence[Rule] = (
    _does_not_poll,
    _polled_too_late,
    _asks_again,
    _fenced,
    _join_refused,
    *CONNECT_RULES,
    _coordinators,
    _idle,
    _others_gone,
    _crashed,
    *MEMBERSHIP_RULES,
    *SESSION_RULES,
    topics_changed,
)
