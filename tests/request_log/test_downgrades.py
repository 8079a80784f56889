"""Logs of a broker in virtual time with groups that became classic again because the last member of the newer protocol
died: no line says so, and what the next answers show of it is held to what was.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import RebalanceStarted
from tests.request_log.broker import Broker
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import rebalances_in
from tests.request_log.newer_member import NewerMember
from tests.request_log.played import Played, read, with_consumer_groups

DIES_MS = 20_000
Acts = list[tuple[float, Callable[[], Any]]]
"""What is done, and how many ms after the start."""


def once_classic(stage: Broker, act: Callable[[], Any]) -> None:
    """Acts as soon as the group is not a consumer group any more."""
    if stage.groups["g"].consumer is None:
        act()
    else:
        stage.at(stage.now_ms + 1, lambda: once_classic(stage, act))


def ends_of(played: Played, of_member_id: str) -> list[tuple[str, str, bool]]:
    """Kind, culprit and whether it is inferred, of the rebalances since this member died, as the log has them."""
    true = rebalances_in(played.broker.effects, "g")
    since = next(i for i, each in enumerate(true) if each[1:] == (CauseKind.SESSION_EXPIRED, of_member_id))
    found = played.found.of_group("g", RebalanceStarted)[since:]
    return [(each.cause.kind, each.cause.member_id, each.cause.is_inferred) for each in found]


def one_leaves(stage: Broker) -> Acts:
    """The classic generation after the leave is one above the epoch before it: by the leave there were two."""
    stays, leaves = (MemberOf(stage, "g", name, partitions=8) for name in ("stays", "leaves"))
    return [(0, stays.start), (4_000, leaves.start), (DIES_MS, lambda: once_classic(stage, leaves.close))]


def one_joins(stage: Broker) -> Acts:
    """The classic member is silent as well, so only the newcomer's answers show it."""
    waits, joins = (MemberOf(stage, "g", name, partitions=8, session_ms=15_000) for name in ("waits", "joins"))
    stalls = partial(waits.stall, 10_000)
    return [(0, waits.start), (DIES_MS, stalls), (DIES_MS, lambda: once_classic(stage, joins.start))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("others", [one_leaves, one_joins])
def test_who_leaves_or_joins_a_group_that_became_classic_unseen_did_not_begin_its_rebalance(
    others: Callable[[Broker], Acts], seed: int, tmp_path: Path
) -> None:
    stage = with_consumer_groups(seed, session_timeout_ms=6_000)
    dies = NewerMember(stage, "g", "dies")
    played = read(stage, tmp_path, [(8_000, dies.start), (DIES_MS, dies.kill), *others(stage)])
    assert played.found.parity.first == []
    assert ends_of(played, dies.member_id) == [(CauseKind.SESSION_EXPIRED, dies.member_id, True)]


@pytest.mark.parametrize("seed", range(6))
def test_a_classic_member_that_ended_with_the_last_newer_one_is_as_uncertain_as_that(seed: int, tmp_path: Path) -> None:
    """A coordinator that has loaded the group lets both be silent for the group's own session, which no line says."""
    stage = with_consumer_groups(seed, session_timeout_ms=6_000)
    stays, ends = (MemberOf(stage, "g", name, partitions=8, session_ms=15_000) for name in ("stays", "ends"))
    dies = NewerMember(stage, "g", "dies")
    acts = (
        *((0, stays.start), (4_000, ends.start), (8_000, dies.start), (DIES_MS, ends.kill), (DIES_MS, dies.kill)),
        (DIES_MS + 500, lambda: stage.crash(1_000)),
    )
    played = read(stage, tmp_path, acts)
    true = rebalances_in(stage.effects, "g")[-2:]
    assert {each[2] for each in true} == {ends.member_id, dies.member_id}
    found = played.found.of_group("g", RebalanceStarted)[-2:]
    assert [(each.cause.kind, each.cause.member_id, each.cause.is_inferred) for each in found] == [
        (CauseKind.SESSION_EXPIRED, member_id, True) for _, _, member_id in true
    ]


@pytest.mark.parametrize("seed", range(6))
def test_of_all_who_fell_silent_none_is_certain_to_have_ended_first(seed: int, tmp_path: Path) -> None:
    """The group is empty when somebody comes: its generation shows that it became classic, but not how long before."""
    stage = with_consumer_groups(seed, session_timeout_ms=6_000)
    first, second = (MemberOf(stage, "g", name, partitions=8) for name in ("first", "second"))
    dies, comes = NewerMember(stage, "g", "dies"), MemberOf(stage, "g", "comes")
    acts = (
        *((0, first.start), (4_000, second.start), (8_000, dies.start), (DIES_MS, dies.kill)),
        *((DIES_MS + 3_000, first.kill), (DIES_MS + 3_500, second.kill), (DIES_MS + 20_000, comes.start)),
    )
    played = read(stage, tmp_path, acts)
    assert played.found.parity.first == []
    assert ends_of(played, dies.member_id)[0] == (CauseKind.SESSION_EXPIRED, dies.member_id, True)
