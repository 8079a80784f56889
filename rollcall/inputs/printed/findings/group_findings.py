"""What a group's lines show beside its rebalances: the answers to what people ask of such a log.

Each rule looks at one group and gives findings: a sentence, its lines, and whether it is stated or inferred. Where
several explanations fit, all are named. Knows one group's facts and rebalances. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from rollcall.history.words import count, duration, some
from rollcall.inputs.printed.findings.coordinator_findings import COORDINATOR_RULES, Rule, never_given_up, owners
from rollcall.inputs.printed.findings.static_members import kept_out, takeovers
from rollcall.inputs.printed.groups.holders import INITIAL_DELAY_MS, is_a_timeout, may_have_been_empty, was_empty
from rollcall.inputs.printed.logged_facts import GOES, NEW_IDS, NEWER, FactKind, LoggedFact, between_ms, gap_ms
from rollcall.inputs.printed.logged_rebalances import (
    Finding,
    LoggedGroup,
    LoggedRebalance,
    client_id_of,
    shortest_name,
    suggested,
    trouble,
)
from rollcall.inputs.tolerances import GIVEN_TOGETHER_MS, NOT_WAITED_MS, TIMER_LATE_MS
from rollcall.schemas.causes import CauseKind, name_of, row_of

OFTEN = 3
"""This number of rebalances by one member is a pattern."""
_NAMED = 2
"""Member ids that one sentence has: they are long."""
LONGEST_SESSION_MS = 45_000
"""The longest session timeout that clients have as shipped."""
_NAMES_NOT_ALL = (FactKind.REBALANCE_BEGAN, FactKind.JOIN_PHASE_ENDED, FactKind.GROUP_TAKEN_OVER)
_CONTINUES = (FactKind.JOIN_PHASE_ENDED, FactKind.ASSIGNMENT_RECEIVED, FactKind.GROUP_EMPTIED)
"""Lines which show that a rebalance ran up to them."""
_JOIN_PHASE = "PreparingRebalance"
_WAITED_FOR = ("the join phase waits for it", "it joined, and the broker's level hides that line")


def findings_of(group: LoggedGroup) -> list[Finding]:
    """Everything that the rules find, in their order."""
    return [finding for rule in RULES for finding in rule(group)]


def _never_synced(group: LoggedGroup) -> Iterator[Finding]:
    """Members that expired one session after the join phase, whose leader's assignment never came."""
    for before, rebalance in pairwise(group.rebalances):
        if not row_of(rebalance.cause.kind).is_expiry or rebalance.began_at_ms is None:
            continue
        if before.ended_at_ms is not None:
            yield from _silent_since_assigned(before, rebalance, rebalance.began_at_ms - before.ended_at_ms)
        elif before.joined_at_ms is not None and is_a_timeout(rebalance.began_at_ms - before.joined_at_ms):
            after_ms = rebalance.began_at_ms - before.joined_at_ms
            yield suggested(
                "assignment_never_came",
                f"After the join phase of generation {before.generation_id} the leader never sent the assignment; "
                f"{duration(after_ms)} later {shortest_name(rebalance.cause.member_id) or 'a member'} expired.",
                (before.facts[-1], rebalance.facts[-1]),
                "the member died",
                "its network failed",
                "it never got the answer to its JoinGroup",
                is_trouble=True,
            )


def _silent_since_assigned(before: LoggedRebalance, rebalance: LoggedRebalance, after_ms: int) -> Iterator[Finding]:
    """A member that sent its generation's assignment, as leader or alone, and that expired soon."""
    assigned, member_id = before.facts[-1], rebalance.cause.member_id
    is_sender = before.members == 1 or (member_id != "" and assigned.member_id == member_id)
    is_known = assigned.kind is FactKind.ASSIGNMENT_RECEIVED and _follows(before, rebalance)
    if is_known and is_sender and 0 < after_ms <= LONGEST_SESSION_MS + TIMER_LATE_MS:
        yield suggested(
            "silent_since_assigned",
            f"{shortest_name(member_id) or 'A member'} expired {duration(after_ms)} after it had sent the assignment "
            f"of generation {before.generation_id}: it may have been silent since then.",
            (assigned, rebalance.facts[-1]),
            "it sent no heartbeat in this generation",
            "its session timeout is shorter, and its heartbeats ended later",
        )


def _again_and_again(group: LoggedGroup) -> Iterator[Finding]:
    """One member that sets off rebalance after rebalance."""
    by_doer: dict[tuple[CauseKind, str], list[LoggedRebalance]] = {}
    for one in group.rebalances:
        if one.cause.member_id:
            who = one.cause.group_instance_id or shortest_name(one.cause.member_id)
            by_doer.setdefault((one.cause.kind, who), []).append(one)
    for (kind, who), own in by_doer.items():
        if len(own) < OFTEN or kind is CauseKind.MEMBER_JOINED:
            continue
        between = (gap_ms(a.began_at_ms, b.began_at_ms) for a, b in pairwise(own) if _follows(a, b))
        gaps = [ms for ms in between if ms is not None]
        every = f", every {duration(min(gaps))} to {duration(max(gaps))}" if gaps else ""
        kinds = [one.kind for one in own[0].cause.candidates] if kind is CauseKind.UNKNOWN else [kind]
        how = " or ".join(map(name_of, kinds))
        yield trouble(
            "same_member_again_and_again",
            f"{who} set off {len(own)} of {count(len(group.rebalances), 'rebalance')} ({how}){every}.",
            tuple(one.facts[0] for one in own),
        )


def _came_again(group: LoggedGroup) -> Iterator[Finding]:
    """A client id under one member id after the other."""
    ids: dict[str, dict[str, LoggedFact]] = {}
    joiners = {id(fact): one.cause.member_id for one in reversed(group.rebalances) for fact in one.facts}
    for fact in group.facts_of(FactKind.REBALANCE_BEGAN, *NEW_IDS):
        is_join = fact.kind is FactKind.REBALANCE_BEGAN and "Adding new member" in fact.reason
        member_id = fact.member_id or joiners.get(id(fact)) if is_join or fact.kind in NEW_IDS else ""
        if member_id:
            ids.setdefault(client_id_of(member_id), {}).setdefault(member_id, fact)
    removed = {fact.member_id for fact in group.facts_of(*GOES)}
    for client_id, given in ids.items():
        if client_id and len(given) > 1 and not removed & given.keys():
            yield suggested(
                "same_client_new_member_id",
                f"The client id {client_id} joined {count(len(given), 'time')}, each time under another member id.",
                tuple(given.values()),
                "one process came again and again",
                "several processes share the client id",
            )


def _nobody_waited(group: LoggedGroup) -> Iterator[Finding]:
    """Joins that wait for nobody though others had just been members."""
    quick = [
        one
        for one in group.rebalances
        if one.cause.kind is CauseKind.MEMBER_JOINED
        and one.join_phase_ms is not None
        and one.join_phase_ms <= NOT_WAITED_MS
        and one.from_generation_id
    ]
    if len(quick) >= OFTEN - 1 and len({one.cause.member_id for one in quick}) > 1:
        yield Finding(
            "joins_do_not_wait",
            f"{count(len(quick), 'join phase')} that a new member set off took at most {NOT_WAITED_MS} ms: no other "
            "member was waited for.",
            tuple(fact for one in quick for fact in one.facts[:1]),
        )
        yield suggested(
            "members_dropped_silently",
            "The members of the generation before were out, without a line that says so.",
            tuple(fact for one in quick for fact in one.facts[:1]),
            "the group has one member at a time",
            "Kafka 2.3.0 takes the rebalance timeout of old clients for 0 (KAFKA-8653)",
        )


def _initial_delay(group: LoggedGroup) -> Iterator[Finding]:
    for one in group.rebalances:
        length_ms = one.join_phase_ms
        if length_ms is None or length_ms < INITIAL_DELAY_MS - TIMER_LATE_MS:
            continue
        if was_empty(one):
            yield suggested(
                "initial_delay",
                f"The join phase of generation {one.generation_id} took {duration(length_ms)} because the group was "
                "empty: its coordinator waits for more members (group.initial.rebalance.delay.ms). Nobody was slow.",
                tuple(one.facts),
            )
        elif length_ms <= INITIAL_DELAY_MS + TIMER_LATE_MS and may_have_been_empty(one):
            yield suggested(
                "initial_delay",
                f"The join phase of generation {one.generation_id} took {duration(length_ms)}, which is the initial "
                "delay of an empty group as shipped (group.initial.rebalance.delay.ms).",
                tuple(one.facts),
                "the group was empty, and nobody was slow",
                "a member came back that late",
            )


def _inside(group: LoggedGroup) -> Iterator[Finding]:
    """Members that expired while a rebalance ran, as a later line of it shows: they did not begin it, nor the next."""
    rebalances = group.rebalances if group.facts_of(FactKind.MEMBER_EXPIRED) else []
    for one, after in zip(rebalances, (*rebalances[1:], None), strict=False):
        last = max((place for place, fact in enumerate(one.facts) if fact.kind in _CONTINUES), default=-1)
        shown = one.facts if one.outcome == "superseded" else one.facts[: last + 1]
        for fact in shown if one.began_at_ms is not None else ():
            is_culprit = after is not None and any(fact is other for other in after.facts)
            if fact.kind is FactKind.MEMBER_EXPIRED and fact.member_id != one.cause.member_id and not is_culprit:
                yield Finding(
                    "expired_inside",
                    f"{fact.member_id} expired while the rebalance to generation {one.generation_id} ran; it did not "
                    "set it off.",
                    (fact,),
                )
                yield from _came_back_as_new(one, fact)


def _expired_apart(group: LoggedGroup) -> Iterator[Finding]:
    """Members that expired without a rebalance in these lines."""
    expired = group.facts_of(FactKind.MEMBER_EXPIRED)
    of_rebalances = {id(fact) for one in group.rebalances if expired for fact in one.facts}
    if expired := [fact for fact in expired if id(fact) not in of_rebalances]:
        yield trouble(
            "expired_apart",
            f"{some([fact.member_id or 'a member' for fact in expired], _NAMED)} "
            f"sent no heartbeat within the session timeout and {'was' if len(expired) == 1 else 'were'} removed.",
            tuple(expired),
        )


def _came_back_as_new(one: LoggedRebalance, expired: LoggedFact) -> Iterator[Finding]:
    """A member joined under the client id of one that then expired: nobody had said that the old one was gone."""
    client_id = client_id_of(expired.member_id)
    if one.cause.kind is CauseKind.MEMBER_JOINED and client_id and client_id == client_id_of(one.cause.member_id):
        yield suggested(
            "restart_without_leave",
            f"{client_id} joined with a new member id while its old one was a member still: no LeaveGroup came of "
            "the old one, so it had to expire.",
            (one.facts[0], expired),
            "its process was killed or crashed, and was started again",
            "the client gave its member id up and joined as new",
            "two processes have one client id, and one of them is gone",
        )


def _given_ids(group: LoggedGroup) -> Iterator[Finding]:
    """Ids that were given out and never joined."""
    given = group.facts_of(FactKind.MEMBER_ID_GIVEN)
    yield from _given_last(group.facts) if given else ()
    places = {fact.member_id: place for place, fact in reversed([*enumerate(given)])}
    for fact in group.facts_of(FactKind.PENDING_MEMBER_EXPIRED):
        place = places.get(fact.member_id)
        asked = None if place is None else given[place]
        yield trouble(
            "id_never_joined",
            f"{fact.member_id} was an id that the coordinator had given out; nobody joined with it.",
            (fact,) if asked is None else (asked, fact),
        )
        near = [] if asked is None or place is None else _given_beside(given, place)
        if asked is not None and near:
            ids = some([asked.member_id, *(one.member_id for one in near)], _NAMED)
            yield suggested(
                "one_client_two_ids",
                f"{ids} were given out at nearly the same time, and not all were used.",
                (asked, *near),
                "one client asked twice and forgot the first answer",
                "two clients, and one of them was gone",
            )


def _given_last(facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Ids that no later line has, given out since the last rebalance began: its lines may not name who joins."""
    since = [*takewhile(lambda one: one.kind not in _NAMES_NOT_ALL, reversed(facts))]
    latest = {one.member_id: one for one in reversed(since)}
    open_ = [one for one in reversed(since) if one.kind is FactKind.MEMBER_ID_GIVEN and latest[one.member_id] is one]
    for is_waiting in (False, True):
        given = [one for one in open_ if (one.state == _JOIN_PHASE) == is_waiting]
        if given:
            which = f"{some([one.member_id for one in given], _NAMED)} {'was' if len(given) == 1 else 'were'} given out"
            yield Finding(
                "id_without_a_join",
                f"{which} to a client that asked to join. By the end of these lines nobody has joined with it.",
                tuple(given),
                is_inferred=is_waiting,
                candidates=_WAITED_FOR if is_waiting else (),
            )


def _given_beside(given: Sequence[LoggedFact], place: int) -> list[LoggedFact]:
    """The ids that were given out just before and after the one at a place."""

    def is_beside(one: LoggedFact) -> bool:
        gap_ms = between_ms(given[place], one)
        return gap_ms is not None and abs(gap_ms) <= GIVEN_TOGETHER_MS

    before = list(takewhile(is_beside, (given[each] for each in range(place - 1, -1, -1))))
    return [*reversed(before), *takewhile(is_beside, (given[each] for each in range(place + 1, len(given))))]


def _missing(group: LoggedGroup) -> Iterator[Finding]:
    """Generations that the lines skip: there were rebalances that are not in them.

    Of epochs only bumps prove that lines are missing: what members reach, and targets, need not have a line.
    """
    for before, after in pairwise(one for one in group.rebalances if one.generation_id is not None):
        first, last = (before.generation_id or 0) + 1, (after.generation_id or 0) - 1
        kinds = [{fact.kind for fact in one.facts} for one in (before, after)]
        are_epochs = any(own.intersection(NEWER) for own in kinds)
        if are_epochs and not all(FactKind.EPOCH_BUMPED in own for own in kinds):
            continue
        if first <= last:
            name = "Epoch" if are_epochs else "Generation"
            which = f"{name} {first} is" if first == last else f"{name}s {first} to {last} are"
            yield Finding("generations_missing", f"{which} not in these lines.", (before.facts[-1], after.facts[0]))


RULES: Sequence[Rule] = (
    *COORDINATOR_RULES,
    takeovers,
    kept_out,
    _again_and_again,
    _never_synced,
    _nobody_waited,
    _came_again,
    _given_ids,
    _inside,
    _expired_apart,
    _initial_delay,
    _missing,
    never_given_up,
    owners,
)


def _follows(before: LoggedRebalance, after: LoggedRebalance) -> bool:
    return after.from_generation_id is not None and after.from_generation_id == before.generation_id
