"""One rebalance, explained: everything that is known of it, as data, and what shows it.

Knows the facts of the group around it. Must not know how it is worded or shown; the reader of facts is a parameter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from rollcall.answers.why.cost import Asked, Cost, cost_of, is_lag_known
from rollcall.answers.why.moves import Move, Owners, moves_of
from rollcall.answers.why.past import EVER, LONGEST_SESSION_MS, Read, past_of
from rollcall.answers.why.slack import Seen, Slack, last_seen, slack_of
from rollcall.history.facts import OF_REQUESTS, Fact, effects_in
from rollcall.history.holdings import Holding, Partition, holdings_of, standstills
from rollcall.history.kinds import CLASSIC, Course, GroupKind, kind_at, kinds_of
from rollcall.history.members import Membership, Names, memberships_of
from rollcall.history.parts import course_of, culprit_among
from rollcall.history.rebalances import Choice, Rebalance, Span, choose
from rollcall.schemas.causes import CAUSES, Cause, row_of
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import (
    UNKNOWN_END,
    Assigned,
    Effect,
    GroupFound,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
)

AFTERWARDS_MS = 5 * 60_000
"""How long after a rebalance partitions that move back are looked for."""


class Meanwhile(NamedTuple):
    """When the group began to rebalance, from when on all of members' actions were read, and the next rebalance."""

    round_from_ms: int
    actions_from_ms: int
    after: Rebalance | None


@dataclass(frozen=True, kw_only=True)
class Explanation(Course):
    """All that is known of one rebalance; what is None is not known, or does not apply."""

    group_id: str
    note: str | None
    others: list[Rebalance]
    round_from_ms: int
    """When the group began to rebalance: earlier than this rebalance where it superseded another."""
    known_until_ms: int
    """When the latest fact that was read happened."""
    names: Names
    culprit: Membership | None
    last_seen: Seen | None
    """The last request of a culprit that expired."""
    moves: list[Move]
    kept_count: int
    unheld_ms: dict[Partition, int]
    """How long a partition had no owner."""
    owners: dict[Partition, Owners]
    standstill: tuple[int, int | None] | None
    """(from, to) of the time when nobody owned a partition; to is None if nobody does yet."""
    slack: list[Slack]
    unknown_slack: list[str]
    followed_by: Rebalance | None
    holdings: list[Holding] = field(repr=False)
    are_requests_known: bool = True
    """False if no request around it is known, as for a group known only from the offsets topic, or only then."""
    are_owners_known: bool = True
    """False if a recording does not show what some member owned, or how many members there were, or begins later."""
    kind: GroupKind = CLASSIC
    """What kind of group it was when the rebalance ended."""
    conversions: tuple[GroupTypeChanged, ...] = ()
    """The changes from one protocol to the other meanwhile."""
    cost: Cost | None = None
    """What it cost in records; None: not computed, or the group's lag around it is not known."""
    is_cost_unknown: bool = False
    """The group's lag is known at other times, but not around it."""
    evidence: list[Evidence] = field(default_factory=list, repr=False)
    """What shows each fact of it, as far as that is known."""

    @property
    def silent_since_ms(self) -> int | None:
        """When the last request of a culprit that expired arrived."""
        return None if self.last_seen is None else self.last_seen.at_ms

    @property
    def culprit_name(self) -> str:
        cause = self.rebalance.cause
        return self.names.of(cause.member_id, cause.client_id or cause.group_instance_id or "")


def explain(group_id: str, read: Read, generation_id: int | None = None, at: Span | None = None) -> Explanation:
    """Explains the rebalance that led to a generation, or the one at a moment, by default the latest one.

    Raises NoSuchRebalance, as choose does.
    """
    past = past_of(read)
    found = past.rebalances
    choice = choose(group_id, found, generation_id, at)
    place = found.index(choice.rebalance)
    round_from_ms = found[_first_of_round(found, place)].started_at_ms
    last_ms = EVER if choice.rebalance.ended_at_ms is None else choice.rebalance.ended_at_ms + AFTERWARDS_MS
    memberships = memberships_of(effects_in(fact for fact in past.facts if fact.at_ms <= last_ms))
    longest_ms = max((one.session_timeout_ms or 0 for one in memberships), default=0)
    actions_from_ms = round_from_ms - min(longest_ms, LONGEST_SESSION_MS)
    facts = past.around(read, round_from_ms, actions_from_ms, last_ms)
    if row_of(choice.rebalance.cause.kind).is_silent and _last_seen(choice.rebalance, facts, actions_from_ms) is None:
        # A coordinator that was away, or is slow, notices the end of a session late.
        actions_from_ms = round_from_ms - 2 * LONGEST_SESSION_MS
        facts = past.around(read, round_from_ms, actions_from_ms, last_ms)
    after = found[place + 1] if place + 1 < len(found) else None
    meanwhile = Meanwhile(round_from_ms, actions_from_ms, after)
    return _explained(group_id, choice, facts, memberships, meanwhile)


def with_cost(e: Explanation, asked: Asked) -> Explanation:
    """The explanation with what the rebalance cost, as far as that is known."""
    cost = cost_of(asked, e.rebalance.started_at_ms, e.rebalance.from_generation_id)
    return replace(e, cost=cost, is_cost_unknown=cost is None and is_lag_known(asked))


def _first_of_round(found: Sequence[Rebalance], place: int) -> int:
    """The index of the rebalance with which the group began to rebalance; those after it were superseded."""
    while place > 0 and found[place - 1].outcome == "superseded":
        place -= 1
    return place


def _explained(
    group_id: str,
    choice: Choice,
    facts: list[Fact],
    memberships: list[Membership],
    meanwhile: Meanwhile,
) -> Explanation:
    rebalance, round_from_ms = choice.rebalance, meanwhile.round_from_ms
    cause = rebalance.cause
    known_until_ms = facts[-1].at_ms
    end_ms = known_until_ms if rebalance.ended_at_ms is None else rebalance.ended_at_ms
    around = [one for one in memberships if one.is_member_in(round_from_ms, end_ms + AFTERWARDS_MS)]
    names = Names(around)
    effects = [*effects_in(facts)]
    holdings = holdings_of(effects)
    is_before_known = all(one.at_ms < round_from_ms for one in effects if isinstance(one, GroupFound))
    moved = moves_of(holdings, round_from_ms, end_ms, names, is_before_known=is_before_known)
    actions = [fact for fact in facts if meanwhile.actions_from_ms <= fact.at_ms <= end_ms]
    others = [one for one in around if one.member_id != cause.member_id and one.is_member_in(round_from_ms, end_ms)]
    are_owners_known = is_before_known and _are_owners_known(effects)
    are_requests_known = any(fact.effect in OF_REQUESTS for fact in facts if fact.at_ms >= meanwhile.actions_from_ms)
    slack, unknown_slack = slack_of(actions if are_requests_known else [], others, names)
    kind = kind_at(kinds_of(effects), end_ms)
    is_silent = are_requests_known and row_of(cause.kind).is_silent
    seen = _last_seen(rebalance, facts, meanwhile.actions_from_ms) if is_silent else None
    course = course_of(facts, rebalance, around, end_ms, names, kind)
    return Explanation(
        group_id=group_id,
        rebalance=rebalance,
        note=choice.note,
        others=choice.others,
        round_from_ms=round_from_ms,
        known_until_ms=known_until_ms,
        names=names,
        culprit=culprit_among(memberships, cause, rebalance.started_at_ms, end_ms),
        last_seen=seen,
        protocol_name=course.protocol_name,
        leader=course.leader,
        join_phase_ended_ms=course.join_phase_ended_ms,
        parts=course.parts,
        moves=moved.moves,
        kept_count=moved.kept_count,
        unheld_ms=moved.unheld_ms,
        owners=moved.owners,
        standstill=_standstill(holdings, rebalance, round_from_ms, end_ms) if are_owners_known else None,
        are_owners_known=are_owners_known,
        slack=slack,
        unknown_slack=unknown_slack,
        followed_by=meanwhile.after,
        holdings=holdings,
        are_requests_known=are_requests_known,
        kind=kind,
        protocol_type=_protocol_type(effects, end_ms),
        held_back_ms=kind.held_back_ms(effects, rebalance.to_generation_id),
        conversions=tuple(_conversions(effects, round_from_ms, end_ms)),
        evidence=[
            *_evidence_of_silence(cause, seen),
            *evidence_of(fact for fact in facts if round_from_ms <= fact.at_ms <= end_ms),
        ],
    )


def _last_seen(rebalance: Rebalance, facts: Iterable[Fact], from_ms: int) -> Seen | None:
    """The culprit's last request; None: none since from_ms, before which not everything was read."""
    actions = [fact for fact in facts if fact.at_ms >= from_ms]
    return last_seen(actions, rebalance.cause.member_id, rebalance.started_at_ms)


def _protocol_type(effects: Iterable[Effect], until_ms: int) -> str | None:
    """What kind of members a classic group had at a moment."""
    moves = [one for one in effects if isinstance(one, StateChanged) and one.at_ms <= until_ms]
    return moves[-1].protocol_type if moves else None


def _conversions(effects: Iterable[Effect], from_ms: int, until_ms: int) -> Iterable[GroupTypeChanged]:
    for one in effects:
        if isinstance(one, GroupTypeChanged) and one.from_type and from_ms <= one.at_ms <= until_ms:
            yield one


def _are_owners_known(effects: Sequence[Effect]) -> bool:
    """Whether it is known at every time what each member owns, and how many members there are."""
    return not any(
        (isinstance(one, Assigned) and one.partitions is None)
        or (isinstance(one, RebalanceEnded) and one.outcome in ("completed", UNKNOWN_END) and one.members_after is None)
        for one in effects
    )


def _standstill(
    holdings: Sequence[Holding], rebalance: Rebalance, from_ms: int, end_ms: int
) -> tuple[int, int | None] | None:
    """When nobody owned anything, around a rebalance: the longest such time that touches it, or the open one.

    For a group that had no members before, the time before the rebalance does not count. One that an earlier
    generation's assignment ended is not touched, in the millisecond in which the rebalance began either.
    """
    if rebalance.members_before == 0:
        return from_ms, next((holding.from_ms for holding in holdings if holding.from_ms >= from_ms), None)
    if holdings and all(holding.to_ms is not None and holding.to_ms <= end_ms for holding in holdings):
        return max(holding.to_ms or 0 for holding in holdings), None
    earlier = {one.from_ms for one in holdings if one.generation_id <= rebalance.from_generation_id}
    stood = [(start, end) for start, end in standstills(holdings) if start <= end_ms]
    touching = [(start, end) for start, end in stood if end > from_ms or (end == from_ms and end not in earlier)]
    return max(touching, key=lambda span: span[1] - span[0], default=None)


_APIS: Mapping[str, tuple[str, ...]] = {
    EffectName.JOIN_RECEIVED: ("JoinGroup",),
    EffectName.SYNC_RECEIVED: ("SyncGroup",),
    EffectName.ASSIGNED: ("SyncGroup", "ConsumerGroupHeartbeat"),
}
"""The APIs whose requests lead to a fact."""
_PARKED_BY = {EffectName.JOIN_PHASE_ENDED: "JoinGroup", EffectName.REBALANCE_ENDED: "SyncGroup"}
"""The API whose last request leads to a fact of the whole group, and is parked before it."""
_OTHER_APIS = ("JoinGroup", "LeaveGroup", "ConsumerGroupHeartbeat")


class Evidence(NamedTuple):
    """A fact, and what shows it."""

    at_ms: int
    effect: str
    member_id: str
    client_id: str
    shown_by: str
    """`server.log:12`, `__consumer_offsets-7@1234`, or a request's id, which is `kafka-request.log:12` if recorded."""


def evidence_of(facts: Iterable[Fact]) -> Iterator[Evidence]:
    """Yield the facts whose source is known. facts: in order of time."""
    for _, together in groupby(facts, key=attrgetter("at_ms")):
        yield from _of_a_moment([*together])


def _evidence_of_silence(cause: Cause, seen: Seen | None) -> Iterator[Evidence]:
    """No request shows that a member was silent: the last one does from when on."""
    if seen is not None and seen.request_id:
        yield Evidence(seen.at_ms, "last_seen", cause.member_id, cause.client_id, seen.request_id)


def _of_a_moment(facts: list[Fact]) -> Iterator[Evidence]:
    sent = defaultdict[str, list[Fact]](list)
    for fact in filter(_is_sent_now, facts):
        sent[fact.member_id].append(fact)
    is_timed = any(fact.effect == EffectName.MEMBER_REMOVED and _is_expired(fact) for fact in facts)
    for fact in facts:
        if fact.effect in OF_REQUESTS or fact.effect == EffectName.OFFSETS_COMMITTED:
            continue
        cause = fact.content.cause if isinstance(fact.content, RebalanceStarted) else None
        member_id, client_id = (cause.member_id, cause.client_id) if cause else (fact.member_id, fact.client_id)
        request_id = ""
        if fact.effect in _PARKED_BY:
            request_id = "" if is_timed else _request_of_all(fact, [one for of in sent.values() for one in of])
        elif not _is_expired(fact):
            request_id = _only(sent.get(member_id, ()), _APIS.get(fact.effect, _OTHER_APIS))
        if shown_by := ", ".join(filter(None, dict.fromkeys((request_id, fact.request_id)))):
            yield Evidence(fact.at_ms, fact.effect, member_id, client_id, shown_by)


def _request_of_all(fact: Fact, sent: list[Fact]) -> str:
    """The request that led to a fact of the whole group: the last that was parked for it, or the only one then."""
    api = _PARKED_BY[EffectName(fact.effect)]
    parked = [one for one in sent if one.effect == EffectName.REQUEST_PARKED and one.api == api and one.seq < fact.seq]
    is_other = isinstance(fact.content, RebalanceEnded) and fact.content.outcome != "completed"
    return _only(sent, _OTHER_APIS) if is_other or not parked else max(parked, key=attrgetter("seq")).request_id


def _only(sent: Iterable[Fact], apis: Collection[str]) -> str:
    """A fact of a recording names no request: it is the only one of its moment that leads to such."""
    ids = {one.request_id for one in sent if one.api in apis}
    return ids.pop() if len(ids) == 1 else ""


def _is_expired(fact: Fact) -> bool:
    return fact.cause in CAUSES and CAUSES[fact.cause].ends == "expired"


def _is_sent_now(fact: Fact) -> bool:
    is_reply = fact.effect == EffectName.REPLY and fact.received_at_ms == fact.at_ms
    return bool(fact.member_id) and (is_reply or fact.effect == EffectName.REQUEST_PARKED)
