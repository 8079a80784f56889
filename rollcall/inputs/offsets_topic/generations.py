"""Which generation a recording has a group in, and when; and which rebalances it has.

A generation only rises while its group exists. So a printed one is contradicted where the recording has the group in
two generations around it, and the printed one is not between these. Knows facts. Must not know lines or records.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Sequence
from operator import itemgetter

from rollcall.history.facts import NEWER_ID_LENGTH, Fact
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS
from rollcall.schemas.effects import GroupFound, GroupObserved, RebalanceEnded, RebalanceStarted

Seen = tuple[int, int]
"""A moment (ms), and the generation that the recording has the group in at it."""
Span = tuple[int, int]
"""The first and the last time of a rebalance, or the generations before and after one or several."""
_FIRST = itemgetter(0)


def seen_in(facts: Iterable[Fact], seen: Iterable[Seen] = ()) -> list[Seen]:
    """Every moment at which facts show the generation, in order of time. seen: what earlier facts have shown."""
    kept = [*facts]
    ends = [one.content for one in kept if isinstance(one.content, RebalanceEnded)]
    gaps = {one.started_at_ms for one in ends if one.to_generation_id > one.from_generation_id + 1}
    shown = [one for fact in kept if (one := _generation_at(fact, gaps)) is not None]
    return sorted(dict.fromkeys([*(one for one in seen if one[0] not in gaps), *shown]), key=_FIRST)


def _generation_at(fact: Fact, gaps: Container[int | None]) -> Seen | None:
    """The generation that a fact proves. gaps: the beginnings of rebalances that the recording has only in part.

    A member of the newer protocol shows only its own epoch. When a rebalance is superseded, the next one begins.
    """
    match fact.content:
        case GroupFound() as found:
            return fact.at_ms, found.generation_id
        case GroupObserved(generation_id=generation_id, member_ids=[first, *_]) if len(first) > NEWER_ID_LENGTH:
            return fact.at_ms, generation_id
        case RebalanceStarted() as started if fact.at_ms not in gaps:
            return fact.at_ms, started.from_generation_id
        case RebalanceEnded(outcome=outcome) as ended if outcome != "superseded":
            return fact.at_ms, ended.to_generation_id
        case _:
            return None


def is_contradicted(span: Span, generation_id: int, seen: Sequence[Seen]) -> bool:
    """Whether a recording shows that no rebalance of that time led to this generation."""
    behind = bisect_left(seen, span[0] - SAME_FACT_WITHIN_MS, key=_FIRST)
    ahead = bisect_right(seen, span[1] + SAME_FACT_WITHIN_MS, key=_FIRST)
    if behind == 0 or ahead == len(seen):
        return False
    before, after = seen[behind - 1][1], seen[ahead][1]
    return before <= after and not before <= generation_id <= after


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return the spans of generations in order, those that touch as one."""
    found: list[Span] = []
    for before, after in sorted(spans):
        if found and before <= found[-1][1]:
            found[-1] = found[-1][0], max(after, found[-1][1])
        else:
            found.append((before, after))
    return found


def is_in(known: Sequence[Span], generation_id: int | None) -> bool:
    """Whether one of joined spans has a rebalance to this generation; None: not known to which."""
    if generation_id is None:
        return False
    place = bisect_left(known, generation_id, key=_FIRST)
    return place > 0 and generation_id <= known[place - 1][1]
