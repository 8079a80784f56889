"""What befell several groups at once: members that one broker removed, and what one broker did to all of them.

Knows groups with their findings. Must not know how lines are worded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from rollcall.history.words import count, duration, some
from rollcall.inputs.printed.findings.session_findings import at_once
from rollcall.inputs.printed.lines.entries import DATED, Clock
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup, suggested
from rollcall.inputs.tolerances import EXPIRED_AROUND_MS, EXPIRED_TOGETHER_MS, REMOVED_WITHIN_MS

_EXPIRED = (FactKind.MEMBER_EXPIRED, FactKind.MEMBER_EXPIRED_EPOCH)
_NAMED = 4
"""Groups that a sentence names."""
_SEVERAL = 3
_OF_BROKERS = (
    "coordinator_moved",
    "coordinator_lost_by_client",
    "coordinator_not_found",
    "coordinator_cannot_be_used",
    "coordinator_named_but_denies",
    "coordinator_refuses_syncs",
    "client_session_timer",
    "expired_at_coordinator",
    "connection_failed",
    "join_refused",
    "write_failed",
)
"""Findings about a broker: what it does to one group, it does to others."""


def alike_at_once(groups: Sequence[LoggedGroup]) -> Iterator[tuple[Finding, list[Finding]]]:
    """Yield what one broker did to several groups within seconds, and the groups' own findings that it stands for."""
    alike: dict[tuple[str, tuple[str, ...], Clock, bool], list[tuple[int, int, Finding]]] = {}
    for place, group in enumerate(groups):
        for one in group.findings if len(groups) >= _SEVERAL else ():
            first = one.first if one.finding in _OF_BROKERS else None
            if first is not None and first.at_ms is not None and first.clock in DATED:
                brokers = tuple(dict.fromkeys(fact.broker_id for fact in one.facts if fact.broker_id))
                key = one.finding, brokers, first.clock, bool(one.candidates)
                alike.setdefault(key, []).append((first.at_ms, place, one))
    for findings in alike.values():
        for together in at_once(sorted(findings, key=lambda one: one[:2])):
            names = list(dict.fromkeys(groups[place].group_id for _, place, _ in together))
            if len(names) >= _SEVERAL and together[-1][0] - together[0][0] <= EXPIRED_TOGETHER_MS:
                own = [one for _, _, one in together]
                within = duration(together[-1][0] - together[0][0])
                others = f"{len(names) - 1} other groups ({some(names[1:], _NAMED)}), within {within}"
                for_all = own[0]._replace(
                    sentence=f"{names[0]}: {own[0].sentence} Likewise {others}.",
                    facts=tuple(fact for one in own for fact in one.facts),
                    is_inferred=any(one.is_inferred for one in own),
                    group_ids=tuple(names),
                )
                yield for_all, own


def expired_together(groups: Iterable[LoggedGroup]) -> Iterator[tuple[LoggedGroup, Finding]]:
    """Members of several groups that one coordinator removed at once while it removed few others: for each group.

    Those that a coordinator has not heard at all since it loaded their group are another matter.
    """
    by_broker: dict[tuple[str, Clock], list[tuple[int, int, LoggedFact]]] = {}
    every = [*groups]
    for place, group in enumerate(every):
        for fact in _expired_later_than_loaded(group):
            if fact.at_ms is not None:
                by_broker.setdefault((fact.broker_id, fact.clock), []).append((fact.at_ms, place, fact))
    for (broker_id, _), expired in by_broker.items():
        expired.sort(key=lambda one: one[:2])
        for together in at_once(expired):
            places = sorted({place for _, place, _ in together})
            if len(places) > 1 and _stand_out(together[0][0], together[-1][0], [ms for ms, _, _ in expired]):
                facts = tuple(fact for _, _, fact in together)
                finding = _of_one_cause(facts, [every[place].group_id for place in places], broker_id)
                yield from ((every[place], finding) for place in places)


def _stand_out(first_ms: int, last_ms: int, all_ms: Sequence[int]) -> bool:
    """Whether those that expired between two times are more than two, and twice as many as those around them."""
    expired = bisect_right(all_ms, last_ms) - bisect_left(all_ms, first_ms)
    from_ms, to_ms = first_ms - EXPIRED_AROUND_MS, last_ms + EXPIRED_AROUND_MS
    around = bisect_right(all_ms, to_ms) - bisect_left(all_ms, from_ms) - expired
    return last_ms - first_ms <= EXPIRED_TOGETHER_MS and expired > 2 and 2 * around <= expired


def _expired_later_than_loaded(group: LoggedGroup) -> Iterator[LoggedFact]:
    loaded: LoggedFact | None = None
    for fact in group.facts_of(FactKind.GROUP_TAKEN_OVER, *_EXPIRED):
        if fact.kind is FactKind.GROUP_TAKEN_OVER:
            loaded = fact
        else:
            since_ms = None if loaded is None else between_ms(loaded, fact)
            if since_ms is None or since_ms > REMOVED_WITHIN_MS:
                yield fact


def _of_one_cause(facts: tuple[LoggedFact, ...], group_ids: Sequence[str], broker_id: str) -> Finding:
    within = duration(max(0, between_ms(facts[0], facts[-1]) or 0))
    broker = f"broker {broker_id}" if broker_id else "the broker"
    members = count(len({fact.member_id for fact in facts}), "member")
    who = f"{members} of {len(group_ids)} groups ({some(group_ids, _NAMED)})"
    return suggested(
        "common_cause",
        f"{who} expired within {within} on {broker}: one common cause is likely.",
        facts,
        f"{broker} stood still",
        f"the network between them and {broker} failed",
        "their processes stopped at once, as on a machine that failed",
        is_trouble=True,
    )._replace(group_ids=tuple(group_ids))
