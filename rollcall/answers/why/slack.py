"""How close each member came to losing its session, by the rule of the view `heartbeat_slack`.

Knows which facts restart, hold or end a session's timer. Must not know any rebalance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rollcall.history.facts import BEGIN_ANEW, OF_REQUESTS, Fact
from rollcall.history.kinds import kind_of
from rollcall.history.members import Membership, Names
from rollcall.schemas.causes import row_of
from rollcall.schemas.consumer_effects import TAKES_MEMBERS_OVER, GroupTypeChanged
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import GroupFound, GroupObserved, JoinPhaseEnded

_API_OF: dict[str, str] = {EffectName.SYNC_RECEIVED: "SyncGroup"}


class Gap(NamedTuple):
    """A time during which a member's session timer ran without a request."""

    member_id: str
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        return self.to_ms - self.from_ms


@dataclass(frozen=True)
class Slack:
    """How close a member came to expiring: its longest silence around the rebalance, and its session timeout then."""

    name: str
    silent_from_ms: int
    silent_ms: int
    session_timeout_ms: int

    @property
    def left_ms(self) -> int:
        return self.session_timeout_ms - self.silent_ms


def gaps_of(facts: Sequence[Fact]) -> list[Gap]:
    """Every gap, in order of its end: from the timer's restart to the next request that restarted or held it, or to the
    expiry. A generation restarts the timer of each member in it, and a session may begin anew without a request. A
    member's absence is not a gap, and a member without known requests has none.
    """
    heard = {
        fact.member_id
        for fact in facts
        if fact.effect in OF_REQUESTS or (fact.effect == EffectName.OFFSETS_COMMITTED and fact.generation_id >= 0)
    }
    since: dict[str, int] = {}
    owed: dict[str, tuple[int, str]] = {}
    found: list[Gap] = []
    group_type = ""
    for fact in sorted(facts, key=lambda fact: (fact.at_ms, fact.effect not in BEGIN_ANEW)):
        restarted = _restarted(fact, [*since])
        since |= dict.fromkeys(restarted, fact.at_ms)
        for member_id in restarted:
            owed.pop(member_id, None)
        group_type = _type_in(fact) or group_type
        is_request = fact.is_sign_of_life or fact.effect == EffectName.REQUEST_PARKED or is_expiry(fact)
        is_request |= not kind_of(group_type).parks_joins and _is_taken_at_once(fact)
        if fact.effect == EffectName.MEMBER_JOINED:
            since.pop(fact.member_id, None)
        is_gap = is_request and fact.member_id in since and fact.member_id in heard
        if is_gap and (is_expiry(fact) or fact.member_id not in owed):
            found.append(Gap(fact.member_id, since[fact.member_id], fact.at_ms))
        if fact.effect == EffectName.REQUEST_PARKED:
            owed[fact.member_id] = fact.at_ms, fact.api
        elif fact.effect in (EffectName.MEMBER_JOINED, EffectName.MEMBER_REMOVED) or (
            fact.is_answer and (fact.at_ms > fact.received_at_ms or owed.get(fact.member_id) == (fact.at_ms, fact.api))
        ):
            owed.pop(fact.member_id, None)
        if fact.effect == EffectName.MEMBER_REMOVED:
            since.pop(fact.member_id, None)
        elif is_request or (fact.is_answer and fact.at_ms > fact.received_at_ms):
            since[fact.member_id] = fact.at_ms
    return found


def _type_in(fact: Fact) -> str | None:
    match fact.content:
        case GroupTypeChanged(to_type=group_type) | GroupFound(group_type=group_type):
            return group_type
        case _:
            return None


def _is_taken_at_once(fact: Fact) -> bool:
    """Whether only a consumer group restarts a classic member's session for this answer."""
    return fact.is_answer and fact.error_code == "NONE" and fact.at_ms == fact.received_at_ms


def _restarted(fact: Fact, members: Iterable[str]) -> Iterable[str]:
    """Members whose sessions begin anew by a fact without their own request, by the rule of the views."""
    match fact.content:
        case JoinPhaseEnded(member_ids=member_ids):
            return member_ids
        case GroupObserved(is_loaded=True):
            return members
        case GroupObserved(member_ids=seen):
            return seen
        case GroupTypeChanged(why=why) if why in TAKES_MEMBERS_OVER:
            return members
        case _:
            return ()


def is_expiry(fact: Fact) -> bool:
    """Whether a member's session ran out."""
    return fact.effect == EffectName.MEMBER_REMOVED and row_of(fact.cause).is_expiry


class Seen(NamedTuple):
    """A member's latest accepted request before its session ended."""

    at_ms: int
    api: str
    request_id: str
    """Of a run of heartbeats, that of its first."""
    renewed_ms: int | None
    """When its session was renewed for the last time; None: not known."""

    @property
    def does_renew(self) -> bool:
        """Whether the session was not renewed before it, as far as is known."""
        return self.renewed_ms is None or self.renewed_ms >= self.at_ms


def last_seen(facts: Sequence[Fact], member_id: str, before_ms: int) -> Seen | None:
    """Return a member's latest request before the end of its session; None if it is not known."""
    request = last_request(facts, member_id, before_ms)
    if request is None:
        return None
    renewed_ms = next((one.from_ms for one in gaps_of(facts) if one[::2] == (member_id, before_ms)), None)
    return Seen(*request, renewed_ms)


def last_request(facts: Iterable[Fact], member_id: str, before_ms: int) -> tuple[int, str, str] | None:
    """Return when a member's latest accepted request before a moment arrived, its API and its id; None if not known, as
    of nobody (an empty id, which some requests have).
    """
    if not member_id:
        return None
    seen = [
        (
            fact.received_at_ms if fact.is_answer else fact.at_ms,
            fact.api or _API_OF.get(fact.effect, ""),
            fact.request_id,
        )
        for fact in facts
        if fact.member_id == member_id
        and fact.at_ms < before_ms
        and (
            fact.is_sign_of_life
            or fact.is_answer
            or fact.effect in (EffectName.REQUEST_PARKED, EffectName.SYNC_RECEIVED)
        )
    ]
    return max(seen, default=None)


def nearest_to_expiry(own: Iterable[Gap], one: Membership) -> Gap | None:
    """The gap of a member that left least of its session: its longest, unless its session timeout changed meanwhile.

    A session timeout that is not known is taken to have been the latest.
    """

    def over_ms(gap: Gap) -> int:
        session_ms = one.session_until(gap.to_ms)
        return gap.length_ms - ((one.session_timeout_ms or 0) if session_ms is None else session_ms)

    return max(own, key=lambda gap: (over_ms(gap), gap.length_ms, gap.to_ms), default=None)


def slack_of(actions: Sequence[Fact], others: Iterable[Membership], names: Names) -> tuple[list[Slack], list[str]]:
    """Each member's least slack, the least first; and the members without a gap."""
    gaps = gaps_of(actions)
    known: list[Slack] = []
    unknown: list[str] = []
    for one in others:
        own = [gap for gap in gaps if gap.member_id == one.member_id and one.is_member_in(gap.from_ms, gap.from_ms)]
        longest_gap, name = nearest_to_expiry(own, one), names.of(one.member_id)
        session_ms = None if longest_gap is None else one.session_until(longest_gap.to_ms)
        if longest_gap is None or session_ms is None:
            unknown.append(name)
        else:
            known.append(Slack(name, longest_gap.from_ms, longest_gap.length_ms, session_ms))
    return sorted(known, key=lambda slack: slack.left_ms), unknown
