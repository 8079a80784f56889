"""Explain and replay agree: a rebalance has one number, end, cause and holder for both, and so has a leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest

from rollcall.inputs.printed.groups.logged_effects import SILENT_BUMPS, effects_of
from rollcall.inputs.printed.groups.own_part import LEFT
from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_facts import BROKER, LoggedFact, is_dated
from rollcall.inputs.printed.logged_rebalances import GROUP_NOT_NAMED, LoggedGroup
from rollcall.inputs.printed.reading import merged, read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import Cause
from rollcall.schemas.effects import UNKNOWN_END, MemberRemoved, RebalanceEnded
from tests.printed.recorded import BROKERS, recorded_logs

CUTS = 4
"""Of each log, besides all of it."""


class Known(NamedTuple):
    """What explain and replay both say of a rebalance."""

    number: int
    outcome: str
    kind: str
    culprit: str
    is_inferred: bool
    slowest: str
    members: int | None


LOGS = dict(recorded_logs())
BROKER_NAMES = {path.name for path in BROKERS.glob("*.gz")}


def cuts_of(name: str) -> Iterator[list[LoggedFact]]:
    """All lines of a log, and random parts of them: with holes, without the beginning, without the end."""
    facts = merged(read_files(LOGS[name]))
    yield facts
    for seed in range(CUTS):
        random = Random(f"{seed} {name}")
        kept = [fact for fact in facts if random.random() > seed * 0.15]
        place = random.randrange(len(kept)) if kept else 0
        yield kept[place:] if seed % 2 else kept[:place]


def of_rebalances(group: LoggedGroup) -> Iterator[Known]:
    """What explain says of each rebalance that has a number, and lines of a broker if the group has any."""
    is_of_clients = all(fact.dialect != BROKER for fact in group.facts)
    for one in group.rebalances:
        # A member that leaves may be behind its group: which number that brings is open.
        number = one.generation_id if is_of_clients else one.to_generation_id
        is_shown = one.clock in DATED if is_of_clients else any(fact.dialect == BROKER for fact in one.facts)
        if number is None or not is_shown:
            continue
        held = one.held_by
        slowest = held.member_id if held and not (held.is_inferred or held.candidates) else ""
        outcome = UNKNOWN_END if one.outcome == LEFT else one.outcome
        yield known(number, outcome, one.cause, slowest, one.members)


def of_facts(group: LoggedGroup) -> Iterator[Known]:
    """What replay says of each."""
    for effect in effects_of(group):
        if isinstance(effect, RebalanceEnded):
            slowest = effect.slowest_member_id or ""
            yield known(effect.to_generation_id, effect.outcome, effect.cause, slowest, effect.members_after)


def known(number: int, outcome: str, cause: Cause, slowest: str, members: int | None) -> Known:
    return Known(number, outcome or UNKNOWN_END, cause.kind, cause.member_id, cause.is_inferred, slowest, members)


def groups_with_facts(facts: list[LoggedFact]) -> Iterator[tuple[LoggedGroup, bool]]:
    """Each group whose lines have dates and name it, and whether only its clients print them."""
    for group in groups_in(facts) if facts else ():
        is_of_clients = all(fact.dialect != BROKER for fact in group.facts)
        has_facts = any(map(is_dated, group.facts)) and not group.group_id.startswith(GROUP_NOT_NAMED[:-1])
        if group.group_type not in SILENT_BUMPS and (has_facts or not is_of_clients):
            yield group, is_of_clients


@pytest.mark.parametrize("name", LOGS)
def test_each_end_of_a_rebalance_is_the_same_for_explain_and_replay(name: str) -> None:
    for facts in cuts_of(name):
        for group, is_of_clients in groups_with_facts(facts):
            explained, replayed = Counter(of_rebalances(group)), Counter(of_facts(group))
            if is_of_clients:
                assert explained == replayed, group.group_id
                continue
            ended = Counter({one: times for one, times in explained.items() if one.outcome != UNKNOWN_END})
            assert ended <= replayed <= explained, group.group_id
            assert (explained - replayed).total() <= 1, "the one that runs at the end"


@pytest.mark.parametrize("name", [name for name in LOGS if name not in BROKER_NAMES])
def test_a_client_leaves_for_the_same_reason_for_explain_and_replay(name: str) -> None:
    for facts in cuts_of(name):
        for group, is_of_clients in groups_with_facts(facts):
            gone = [one for one in effects_of(group) if isinstance(one, MemberRemoved)] if is_of_clients else []
            ends = {(one.member_id, str(one.end_cause), len(one.candidates)) for one in gone}
            ids = {one.member_id for one in gone}
            causes = [one.cause for one in group.rebalances if one.outcome == LEFT and one.cause.member_id in ids]
            assert {(one.member_id, str(one.kind), len(one.candidates)) for one in causes} <= ends, group.group_id
