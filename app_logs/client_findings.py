"""What a group's clients' lines show beside its rebalances: the answers to what people ask of an application's log.

Each rule looks at one client's facts in order. Stock phrases are taken for what they are: a coordinator that is "marked
dead" and found again is the same broker, and a client that gives up by its own clock was not removed by a broker.
Knows facts of one client. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app_logs.logged_facts import FactKind, LoggedFact
from app_logs.logged_rebalances import Finding
from why.words import count, duration

Rule = Callable[[str, Sequence[LoggedFact]], Iterator[Finding]]
NO_PARTITIONS = ("", "[]", "{}", "()", "set()")


def client_findings(facts: Sequence[LoggedFact]) -> list[Finding]:
    """Everything that the rules find in one client's lines."""
    who = next(
        (fact.instance_id or fact.client_id for fact in facts if fact.client_id or fact.instance_id), "the client"
    )
    return [finding for rule in RULES for finding in rule(who, facts)]


def _does_not_poll(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Learnt of a rebalance again and again, and did not ask to join: the thread that polls is elsewhere."""
    learnt: list[LoggedFact] = []
    for fact in (*facts, None):
        if fact is not None and _is_learning(fact):
            learnt.append(fact)
        elif fact is None or fact.kind in (FactKind.JOIN_SENT, FactKind.JOINED, FactKind.MEMBERSHIP_LOST):
            if len(learnt) > 2:
                yield Finding(
                    "application_does_not_poll",
                    f"{who} learnt of a rebalance {len(learnt)} times{_over(learnt[0], learnt[-1])} and did not ask to "
                    "join: its application did not poll meanwhile.",
                    tuple(learnt),
                    is_inferred=True,
                    candidates=(
                        "the application is busy or blocked between two polls",
                        "its rebalance listener does not return",
                        "lines are missing",
                    ),
                )
            learnt = []


def _is_learning(fact: LoggedFact) -> bool:
    return fact.kind is FactKind.GROUP_IS_REBALANCING or (
        fact.kind is FactKind.REJOIN_WANTED and "rebalancing" in fact.reason
    )


def _polled_too_late(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """How long its application was away in all."""
    left: LoggedFact | None = None
    for fact in facts:
        if fact.kind is FactKind.POLL_TIMEOUT:
            left = left or fact
        elif left is not None and fact.kind in (FactKind.JOIN_SENT, FactKind.MEMBERSHIP_LOST):
            yield Finding(
                "polled_again",
                f"{who} left because its application did not poll within max.poll.interval.ms. It polled again"
                f"{_after(left, fact)}: one round of its loop took max.poll.interval.ms and that.",
                (left, fact),
            )
            left = None


def _gave_up_itself(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    for fact in facts:
        if fact.kind is not FactKind.SESSION_GIVEN_UP:
            continue
        silent = f" for {duration(fact.length_ms)}" if fact.length_ms is not None else ""
        broker = f" from broker {fact.broker_id}" if fact.broker_id else ""
        last = fact.error or fact.reason
        answered = f' The last answer was "{last}".' if last else ""
        yield Finding(
            "client_session_timer",
            f"{who} had no answer that counts{broker}{silent} and gave its partitions up by its own clock.{answered} "
            "Whether the coordinator removed it is not in its log.",
            (fact,),
        )


def _fenced(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    for fact in facts:
        if fact.kind is FactKind.INSTANCE_FENCED:
            yield Finding(
                "fenced",
                f"{who} was fenced: another member uses its group.instance.id.",
                (fact,),
            )


def _join_refused(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Asked a broker to join that is not the coordinator, or not yet."""
    asked: LoggedFact | None = None
    for fact in facts:
        if fact.kind is FactKind.JOIN_SENT:
            asked = fact
        elif fact.kind is FactKind.JOIN_REFUSED or (
            fact.kind is FactKind.COORDINATOR_LOST and asked is not None and "NOT_COORDINATOR" in fact.reason.upper()
        ):
            why = fact.error or fact.reason
            yield Finding("join_refused", f"{who} asked to join and was refused: {why}. It tries again.", (fact,))
            asked = None
        elif fact.kind in (FactKind.JOINED, FactKind.SYNCED):
            asked = None


def _coordinators(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """A coordinator that was lost and found: the same one did not move."""
    known, lost = "", None
    for fact in facts:
        if fact.kind is FactKind.COORDINATOR_LOST:
            lost, known = lost or fact, fact.broker_id or known
        elif fact.kind is FactKind.COORDINATOR_FOUND:
            if known and fact.broker_id and fact.broker_id != known:
                yield Finding(
                    "coordinator_moved",
                    f"For {who} the coordinator moved from broker {known} to broker {fact.broker_id}.",
                    (fact,) if lost is None else (lost, fact),
                )
            elif lost is not None and known and fact.broker_id == known:
                yield Finding(
                    "coordinator_lost_by_client",
                    f"{who} took its coordinator for unavailable and found the same broker {known} again"
                    f"{_after(lost, fact)}: it did not move.",
                    (lost, fact),
                )
            known, lost = fact.broker_id or known, None


def _idle(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    given = [fact for fact in facts if fact.kind is FactKind.PARTITIONS_ADDED]
    taken = [fact for fact in facts if fact.kind is FactKind.PARTITIONS_REVOKED]
    if given and all(fact.partitions.strip() in NO_PARTITIONS for fact in (*given, *taken)):
        yield Finding(
            "idle_member",
            f"{who} owned no partition in these lines: it takes part in every rebalance and consumes nothing.",
            (*given, *taken),
        )
        yield Finding(
            "more_members_than_partitions",
            "There was no partition left for it.",
            tuple(given),
            is_inferred=True,
            candidates=("the group has more consumers than partitions", "its topic is not there for it"),
        )


def _configs_behind(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    behind = [fact for fact in facts if fact.kind is FactKind.CONFIGS_BEHIND]
    if len(behind) < 2:
        return
    yield Finding(
        "worker_rejoins_in_a_loop",
        f"{who} forced itself to join again {len(behind)} times{_over(behind[0], behind[-1])}: what it reads of its "
        "config topic does not reach the offset that its assignment names.",
        tuple(behind),
    )
    generations = {fact.generation_id for fact in facts if fact.kind is FactKind.JOINED}
    if len(generations) == 1:
        yield Finding(
            "generation_does_not_move",
            f"The generation stays {generations.pop()}: the group does not rebalance, the worker alone joins again.",
            tuple(fact for fact in facts if fact.kind is FactKind.JOINED),
        )
    yield Finding(
        "different_config_topics",
        "It and the leader do not read the same config topic.",
        tuple(behind),
        is_inferred=True,
        candidates=(
            "two Connect clusters with different config topics share one group id",
            "the config topic was deleted and made again",
        ),
    )


def _commits_refused(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    refused = [fact for fact in facts if fact.kind is FactKind.COMMIT_REFUSED]
    if refused:
        yield Finding(
            "commit_refused",
            f"{count(len(refused), 'commit')} of {who} failed: what it had processed since its last commit may be "
            "processed again by the next owner.",
            tuple(refused),
        )


RULES: Sequence[Rule] = (
    _does_not_poll,
    _polled_too_late,
    _gave_up_itself,
    _fenced,
    _join_refused,
    _configs_behind,
    _coordinators,
    _idle,
    _commits_refused,
)


def _over(first: LoggedFact, last: LoggedFact) -> str:
    if first.at_ms is None or last.at_ms is None:
        return ""
    return f" within {duration(max(0, last.at_ms - first.at_ms))}"


def _after(first: LoggedFact, last: LoggedFact) -> str:
    if first.at_ms is None or last.at_ms is None:
        return ""
    return f" {duration(max(0, last.at_ms - first.at_ms))} later"
