"""Who is in which group, from facts alone: what the core's group holds, also where the past is read in any order."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from gateway.tables.membership import KnownMember, Memberships, Standing, lasting
from tests.gateway.facts import facts_of
from tests.protocol.invariants_moves import Move, configs, plays
from tests.protocol.invariants_play import GROUP_ID, Play


def assert_stands(known: Standing | None, group: Group) -> None:
    if not group.is_known:
        assert known is None
        return
    assert known is not None
    assert (known.state, known.generation_id) == (group.state, group.generation_id)
    assert known.members == {
        one.member_id: KnownMember(one.group_instance_id, one.session_timeout_ms) for one in group.members.values()
    }
    timeouts = [one.session_timeout_ms for one in group.members.values()]
    assert known.shortest_session_timeout_ms == min(timeouts, default=0)


@given(config=configs, moves=st.lists(plays, min_size=1, max_size=3), seed=st.integers(0, 1000))
def test_what_facts_tell_is_what_the_group_is(config: GroupConfig, moves: list[list[Move]], seed: int) -> None:
    play = Play(config)
    for some in moves:
        play.make(some)
    facts = facts_of(GROUP_ID, play.effects)
    followed, read = Memberships(), Memberships()
    for fact in facts:
        followed.learn(fact)
    assert_stands(followed.of(GROUP_ID), play.group)
    random.Random(seed).shuffle(facts)
    for fact in lasting(facts):
        read.learn(fact)
    assert_stands(read.of(GROUP_ID), play.group)
