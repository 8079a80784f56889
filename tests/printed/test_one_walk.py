"""Explain and replay agree on a broker's log: a rebalance has one number, end, cause and holder for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest

from rollcall.inputs.printed.groups.group_effects import effects_of
from rollcall.inputs.printed.groups.standing import SILENT_BUMPS
from rollcall.inputs.printed.logged_facts import BROKER, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import merged, read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import Cause
from rollcall.schemas.effects import UNKNOWN_END, RebalanceEnded
from tests.printed.recorded import BROKERS, FIELD, INCIDENTS

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


def logs() -> Iterator[tuple[str, list[str]]]:
    """Every recorded broker's log, with its clients' logs where they are kept."""
    for path in sorted((*BROKERS.glob("*.gz"), *FIELD.glob("*.log"))):
        yield path.name, [str(path)]
    for folder in sorted(INCIDENTS.iterdir()):
        brokers, clients = (sorted(map(str, folder.glob(one))) for one in ("server-*.gz", "clients/*.gz"))
        yield f"{folder.name}-brokers", brokers
        yield f"{folder.name}-all", [*brokers, *clients]


LOGS = dict(logs())


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
    """What explain says of each rebalance that has a number and lines of a broker."""
    for one in group.rebalances:
        number = one.to_generation_id
        if number is None or all(fact.dialect != BROKER for fact in one.facts):
            continue
        held = one.held_by
        slowest = held.member_id if held and not (held.is_inferred or held.candidates) else ""
        yield known(number, one.outcome, one.cause, slowest, one.members)


def of_facts(group: LoggedGroup) -> Iterator[Known]:
    """What replay says of each."""
    for effect in effects_of(group):
        if isinstance(effect, RebalanceEnded):
            slowest = effect.slowest_member_id or ""
            yield known(effect.to_generation_id, effect.outcome, effect.cause, slowest, effect.members_after)


def known(number: int, outcome: str, cause: Cause, slowest: str, members: int | None) -> Known:
    return Known(number, outcome or UNKNOWN_END, cause.kind, cause.member_id, cause.is_inferred, slowest, members)


@pytest.mark.parametrize("name", LOGS)
def test_each_end_of_a_rebalance_is_the_same_for_explain_and_replay(name: str) -> None:
    for facts in cuts_of(name):
        for group in groups_in(facts) if facts else ():
            if group.group_type in SILENT_BUMPS or all(fact.dialect != BROKER for fact in group.facts):
                continue
            explained, replayed = Counter(of_rebalances(group)), Counter(of_facts(group))
            ended = Counter({one: times for one, times in explained.items() if one.outcome != UNKNOWN_END})
            assert ended <= replayed <= explained, group.group_id
            assert (explained - replayed).total() <= 1, "the one that runs at the end"
