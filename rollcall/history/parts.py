"""Each member's part in a rebalance: the moments that its kind of group has, how long the others waited for it, and who
set it off.

Knows the facts of one rebalance's time. Must not know partitions, nor how anything is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rollcall.history.facts import Fact, effects_in
from rollcall.history.kinds import Course, GroupKind, Part
from rollcall.history.members import Membership, Names, host_of
from rollcall.history.rebalances import Rebalance
from rollcall.history.sentences import Terms
from rollcall.schemas.causes import Cause, EndCause, row_of
from rollcall.schemas.consumer_effects import MemberProgressed
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, JoinPhaseEnded, MemberRemoved, RebalanceEnded


def course_of(
    facts: Sequence[Fact],
    rebalance: Rebalance,
    around: Sequence[Membership],
    end_ms: int,
    names: Names,
    kind: GroupKind,
) -> Course:
    """How a rebalance went: who took which part in it, and who led. around: the memberships of its time."""
    phase = _join_phase(effects_in(facts), rebalance, end_ms)
    return Course(
        rebalance=rebalance,
        parts=parts_of(facts, rebalance, around, end_ms, names, kind),
        join_phase_ended_ms=None if phase is None else phase.at_ms,
        leader=None if phase is None or not phase.leader_id else names.of(phase.leader_id),
        protocol_name=None if phase is None else phase.protocol_name,
    )


def culprit_among(memberships: Iterable[Membership], cause: Cause, began_ms: int, end_ms: int) -> Membership | None:
    """The membership of who set a rebalance off: the one that ended with it, of a member that came back with its id.

    memberships: by when each began. None: there is none.
    """
    own = [one for one in memberships if one.member_id == cause.member_id and one.joined_at_ms <= end_ms]
    ended = [one for one in own if one.ended_at_ms is not None and one.ended_at_ms <= began_ms]
    over = ended if row_of(cause.kind).ends else []
    return next(reversed(over or own), None)


def terms_of(culprit: Membership | None, kind: GroupKind, who: str = "") -> Terms:
    """What a cause's sentence says of a culprit. who: its name."""
    session_ms = None if culprit is None else culprit.session_timeout_ms
    poll_ms = None if culprit is None else culprit.rebalance_timeout_ms
    return Terms(who, session_ms, poll_ms, kind.many, kind.why_again)


def parts_of(
    facts: Sequence[Fact],
    rebalance: Rebalance,
    around: Iterable[Membership],
    end_ms: int,
    names: Names,
    kind: GroupKind,
) -> list[Part]:
    """The parts of all clients that were members during it or that it waited for, in the order in which they came."""
    memberships = {
        one.member_id: one
        for one in around
        if one.is_member_in(rebalance.started_at_ms, end_ms) and not _is_of_another(one, rebalance)
    }
    waits = {wait.member_id: wait for wait in rebalance.waits}
    by_member, gone_after = _moments(facts, rebalance, end_ms), _gone_after(facts, rebalance)
    parts: list[Part] = []
    for member_id in dict.fromkeys([*memberships, *waits]):
        one, wait = memberships.get(member_id), waits.get(member_id)
        moments = by_member.get(member_id, {})
        if wait is not None:
            known = {kind.came: wait.joined_at_ms, kind.ready: moments.get(kind.ready, wait.synced_at_ms)}
            moments = {name: at_ms for name, at_ms in {**moments, **known}.items() if at_ms is not None}
        is_over = one is not None and one.ended_at_ms is not None and one.ended_at_ms <= end_ms
        went = one if is_over and member_id not in gone_after else None
        host = one.client_host if one is not None else wait.client_host if wait is not None else ""
        parts.append(
            Part(
                name=names.of(member_id, wait.client_id if wait is not None else ""),
                member_id=member_id,
                host=host_of(host),
                is_member=one is not None,
                is_new=one is not None and one.joined_at_ms >= rebalance.started_at_ms,
                moments={moment.key: moments[moment.key] for moment in kind.moments if moment.key in moments},
                held_others_ms=None if wait is None else wait.held_others_ms,
                end_cause=None if went is None else went.end_cause,
                is_end_inferred=went is not None and went.is_end_inferred,
            )
        )
    return sorted(parts, key=lambda part: part.moments.get(kind.came, float("inf")))


def _join_phase(effects: Iterable[Effect], rebalance: Rebalance, end_ms: int) -> JoinPhaseEnded | None:
    """The end of its join phase, if it came to that."""
    phases = [
        one
        for one in effects
        if isinstance(one, JoinPhaseEnded)
        and rebalance.started_at_ms <= one.at_ms <= end_ms
        and one.generation_id == rebalance.from_generation_id + 1
    ]
    return phases[-1] if phases else None


def _is_of_another(one: Membership, rebalance: Rebalance) -> bool:
    """Whether it joined in the millisecond in which the rebalance ended, or went in the one in which it began, and that
    belongs to another rebalance: this one does not name it. Who goes for a static member's return is never named.
    """
    if rebalance.ended_at_ms is None:
        return False
    came_after = one.joined_at_ms == rebalance.ended_at_ms and one.name not in rebalance.joined
    gone = (*rebalance.left, *rebalance.expired, *rebalance.gone)
    is_replaced = one.end_cause == EndCause.STATIC_MEMBER_REPLACED
    is_earlier = one.ended_at_ms == rebalance.started_at_ms < rebalance.ended_at_ms
    return came_after or (is_earlier and not is_replaced and one.name not in gone)


def _gone_after(facts: Iterable[Fact], rebalance: Rebalance) -> set[str]:
    """Who was removed in the millisecond in which the rebalance ended, but after its end."""
    led = (rebalance.from_generation_id, rebalance.to_generation_id, rebalance.outcome)
    found: set[str] = set()
    is_over = False
    for fact in facts:
        if fact.at_ms == rebalance.ended_at_ms:
            match fact.content:
                case RebalanceEnded() as ended if not is_over:
                    is_over = (ended.from_generation_id, ended.to_generation_id, ended.outcome) == led
                case MemberRemoved(member_id=member_id) if is_over:
                    found.add(member_id)
    return found


def _moments(facts: Iterable[Fact], rebalance: Rebalance, end_ms: int) -> dict[str, dict[str, int]]:
    """By member, the moments of either kind of group: the latest JoinGroup, the first of everything else.

    A SyncGroup may come after the rebalance has ended, which it does when the leader's assignment arrives. A SyncGroup
    that comes after a superseded rebalance belongs to a later one that led to the same generation.
    """
    is_superseded = rebalance.outcome == "superseded"
    found: dict[str, dict[str, int]] = {}
    for fact in facts:
        if fact.at_ms < rebalance.started_at_ms or (is_superseded and fact.at_ms > end_ms):
            continue
        own = found.setdefault(fact.member_id, {})
        match fact.effect:
            case EffectName.JOIN_RECEIVED if fact.at_ms <= end_ms:
                own["rejoined"] = fact.at_ms
            case EffectName.SYNC_RECEIVED if fact.generation_id == rebalance.leads_to:
                own.setdefault("synced", fact.at_ms)
            case EffectName.REPLY if fact.error_code == "REBALANCE_IN_PROGRESS" and fact.at_ms <= end_ms:
                own.setdefault("notified", fact.at_ms)
            case EffectName.REPLY if fact.api == "SyncGroup" and fact.error_code == "NONE":
                if fact.generation_id == rebalance.leads_to:
                    own.setdefault("back", fact.at_ms)
            case _:
                match fact.content:
                    case MemberProgressed(target_epoch=epoch) if epoch == rebalance.leads_to and fact.at_ms <= end_ms:
                        own.setdefault("reported", fact.at_ms)
    return found
