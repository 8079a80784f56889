"""Static members: who took an instance id over, who lost it, and who could not have it.

Knows one group's facts. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterator

from rollcall.history.words import duration
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup, suggested, trouble
from rollcall.inputs.printed.wording import how_often

_ENDS = {
    FactKind.MEMBER_EXPIRED_EPOCH: "was removed when its session expired",
    FactKind.MEMBER_TOO_SLOW_EPOCH: "was removed when its rebalance timeout had passed",
    FactKind.MEMBER_NOT_SYNCED_EPOCH: "was removed since it did not sync in time",
    FactKind.MEMBER_LEFT_EPOCH: "left",
    FactKind.STATIC_MEMBER_AWAY: "left for a while",
}


def takeovers(group: LoggedGroup) -> Iterator[Finding]:
    """Find the static members that were replaced, and those that were fenced."""
    new_ids = _new_ids(group)
    replaced: dict[str, list[LoggedFact]] = {}
    fenced: dict[str, list[LoggedFact]] = {}
    joins = FactKind.MEMBER_JOINED_EPOCH, FactKind.STATIC_MEMBER_REPLACED
    for place in group.places_of(FactKind.MEMBER_FENCED, *joins):
        fact = group.facts[place]
        if fact.kind is FactKind.MEMBER_FENCED:
            fenced.setdefault(fact.instance_id, []).append(fact)
        if fact.kind is FactKind.MEMBER_JOINED_EPOCH and fact.other_member_id:
            old, new = fact.other_member_id, fact.member_id
        elif fact.kind is FactKind.STATIC_MEMBER_REPLACED:
            old, new = fact.member_id, fact.other_member_id or new_ids[place]
        else:
            continue
        replaced.setdefault(fact.instance_id, []).append(fact)
        after = group.facts[place + 1 : place + 2]
        quiet = [one for one in after if one.kind is FactKind.STATIC_JOIN_WITHOUT_REBALANCE]
        with_id = f" under the member id {new}" if new else ""
        how = ", without a rebalance: its partitions went to the process that came" if quiet else ""
        yield Finding(
            "static_member_replaced",
            f"The static member {fact.instance_id} joined anew{with_id}; the id {old} is out{how}.",
            (fact, *quiet),
        )
    for instance_id, mine in fenced.items():
        times = replaced.get(instance_id, [])
        yield trouble(
            "fenced",
            f"{mine[0].member_id} was fenced{how_often(mine)}: {mine[-1].other_member_id} is the member "
            f"{instance_id} now.",
            tuple(mine),
        )
        if times:
            yield suggested(
                "one_or_two_processes",
                f"{instance_id} was taken over{how_often(times)}, and an id that had lost it kept asking.",
                (*times, *mine),
                "two processes use one group.instance.id",
                "one process joined twice, and its first join was still carried out",
                is_trouble=True,
            )


def kept_out(group: LoggedGroup) -> Iterator[Finding]:
    """Find the members that could not join since another one owned their instance id and had not left."""
    refused: dict[tuple[str, str, str], list[LoggedFact]] = {}
    ends: dict[str, LoggedFact] = {}
    ended: dict[tuple[str, str, str], LoggedFact | None] = {}
    for fact in reversed(group.facts_of(FactKind.INSTANCE_ID_OWNED, *_ENDS)):
        key = fact.member_id, fact.instance_id, fact.other_member_id
        if fact.kind in _ENDS:
            ends[fact.member_id] = fact
        elif fact.kind is FactKind.INSTANCE_ID_OWNED:
            ended.setdefault(key, ends.get(fact.other_member_id))
            refused.setdefault(key, []).append(fact)
    for key, mine in reversed(refused.items()):
        (member_id, instance_id, owner), end, first = key, ended[key], mine[-1]
        after_ms = None if end is None else between_ms(first, end)
        until = "" if after_ms is None else f" {duration(after_ms)} after the first attempt"
        freed = "" if end is None else f" {owner} {_ENDS[end.kind]}{until}, which freed the id."
        yield trouble(
            "instance_id_owned",
            f"{member_id} could not join as {instance_id}{how_often(mine)}: {owner} owned this group.instance.id "
            f"and had not left.{freed}",
            (*reversed(mine), *filter(None, (end,))),
        )


def _new_ids(group: LoggedGroup) -> dict[int, str]:
    """By the place of a replacement, the id that took the instance id over: the first that later lines name."""
    found: dict[int, str] = {}
    latest: dict[str, str] = {}
    for place in reversed(group.places_of(FactKind.STATIC_MEMBER_REPLACED, FactKind.MEMBER_FENCED)):
        fact = group.facts[place]
        if fact.kind is FactKind.STATIC_MEMBER_REPLACED:
            found[place] = latest.get(fact.instance_id, "")
            latest[fact.instance_id] = fact.member_id
        else:
            latest[fact.instance_id] = fact.other_member_id
    return found
