"""Who is in which group, from facts alone: what the core's group holds, also where the past is read in any order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from gateway.settings import Settings
from gateway.tables.directory import Directory
from gateway.tables.membership import UNKNOWN, KnownMember, Memberships, Standing, lasting
from gateway.tables.tables_backend import TablesBackend
from schemas.effect_names import EffectName
from tables.request_table import RequestTable
from tests.gateway.facts import facts_of
from tests.protocol.invariants_moves import Move, configs, plays
from tests.protocol.invariants_play import GROUP_ID, Play

DETAILED = (EffectName.STATE_CHANGED, EffectName.MEMBER_JOINED, EffectName.MEMBER_UPDATED)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> TablesBackend:
    home = tmp_path_factory.mktemp("home")
    return TablesBackend(home, Settings(), RequestTable(home, "gw"), "gw")


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


@given(moves=st.lists(plays, min_size=1, max_size=3), place=st.integers(0, 100))
def test_a_fact_that_cannot_be_read_leaves_nothing_that_may_be_wrong(
    backend: TablesBackend, moves: list[list[Move]], place: int
) -> None:
    play = Play(GroupConfig())
    for some in moves:
        play.make(some)
    facts = facts_of(GROUP_ID, play.effects)
    detailed = [number for number, fact in enumerate(facts) if fact.effect in DETAILED]
    broken = detailed[place % len(detailed)] if detailed else -1
    backend.directory = Directory()
    backend._memberships = known = Memberships()
    for number, fact in enumerate(facts):
        backend._learn_fact(fact._replace(detail="{broken") if number == broken else fact)
    group = known.of(GROUP_ID)
    assert (group is None) == (not play.group.is_known)
    assert [state for _, _, state, _ in backend.directory] == ([] if group is None else [group.state])
    if group is None:
        return
    assert group.state in (play.group.state, UNKNOWN)
    assert group.state == UNKNOWN or group.generation_id == play.group.generation_id
    members = {
        one.member_id: KnownMember(one.group_instance_id, one.session_timeout_ms) for one in play.group.members.values()
    }
    assert group.members.items() <= members.items()
