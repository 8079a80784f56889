"""What shows a rebalance: the line or the record of each of its facts, or the request that it comes of.

Knows the facts of the rebalance's time. Must not know how they are shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from rollcall.history.facts import OF_REQUESTS, Fact
from rollcall.schemas.causes import CAUSES
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import RebalanceStarted

_APIS: Mapping[str, tuple[str, ...]] = {
    EffectName.JOIN_RECEIVED: ("JoinGroup",),
    EffectName.SYNC_RECEIVED: ("SyncGroup",),
    EffectName.ASSIGNED: ("SyncGroup", "ConsumerGroupHeartbeat"),
}
"""The APIs whose requests lead to a fact."""
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


def _of_a_moment(facts: list[Fact]) -> Iterator[Evidence]:
    sent = defaultdict[str, list[Fact]](list)
    for fact in filter(_is_sent_now, facts):
        sent[fact.member_id].append(fact)
    for fact in facts:
        if fact.effect in OF_REQUESTS or fact.effect == EffectName.OFFSETS_COMMITTED:
            continue
        cause = fact.content.cause if isinstance(fact.content, RebalanceStarted) else None
        member_id, client_id = (cause.member_id, cause.client_id) if cause else (fact.member_id, fact.client_id)
        shown_by = fact.request_id or _request_of(fact, sent.get(member_id, ()))
        if shown_by:
            yield Evidence(fact.at_ms, fact.effect, member_id, client_id, shown_by)


def _request_of(fact: Fact, sent: Iterable[Fact]) -> str:
    """A fact of a recording names no request: it is the only one of its member at that moment that leads to such."""
    if fact.cause in CAUSES and CAUSES[fact.cause].ends == "expired":
        return ""
    apis = _APIS.get(fact.effect, _OTHER_APIS)
    ids = {one.request_id for one in sent if one.api in apis}
    return ids.pop() if len(ids) == 1 else ""


def _is_sent_now(fact: Fact) -> bool:
    is_reply = fact.effect == EffectName.REPLY and fact.received_at_ms == fact.at_ms
    return bool(fact.member_id) and (is_reply or fact.effect == EffectName.REQUEST_PARKED)
