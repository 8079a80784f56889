"""Groups from facts alone: what the core's groups hold, also where the past is read in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.known_groups import UNKNOWN, KnownGroup, KnownGroups, KnownMember
from rollcall.schemas.effect_names import EffectName
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.tables.tables_backend import TablesBackend
from rollcall.tables.lasting_facts import Fact
from rollcall.tables.request_table import RequestTable
from tests.gateway.facts import facts_of, lasting
from tests.protocol import consumer_moves
from tests.protocol.classic_moves import configs, plays
from tests.protocol.play import GROUP_ID, Move, Play

DETAILED = (EffectName.STATE_CHANGED, EffectName.MEMBER_JOINED, EffectName.MEMBER_UPDATED)


def members_of(group: Group) -> dict[str, KnownMember]:
    return {
        one.member_id: KnownMember(
            one.client_id, one.group_instance_id, one.session_timeout_ms, one.rebalance_timeout_ms
        )
        for one in group.members.values()
    }


def assert_known(known: KnownGroup | None, group: Group) -> None:
    """The facts give the same group as the core has."""
    if not group.is_known:
        assert known is None
        return
    assert known is not None
    assert (known.state, known.group_type) == (group.shown_state, group.group_type)
    assert known.members.keys() == group.roster.members.keys()
    if group.consumer is None:
        assert known.generation_id == group.generation_id
        assert known.members == members_of(group)
        timeouts = [one.session_timeout_ms for one in group.members.values()]
        assert known.shortest_session_timeout_ms == min(timeouts, default=0)
        return
    members = group.consumer.members
    assert {one: known.members[one].is_classic for one in members} == {
        one: member.classic is not None for one, member in members.items()
    }
    if group.consumer.state is ConsumerGroupState.STABLE:
        assert {member.member_epoch for member in members.values()} == {known.generation_id}


def learned(facts: Sequence[Fact]) -> KnownGroups:
    known = KnownGroups()
    for fact in facts:
        known.apply(fact.group_id, fact.effect, fact.detail)
    return known


def assert_learned(play: Play, seed: int) -> None:
    """From all facts in their order, and from the lasting ones in any."""
    facts = facts_of(GROUP_ID, play.effects)
    assert_known(learned(facts).get(GROUP_ID), play.group)
    random.Random(seed).shuffle(facts)
    assert_known(learned(lasting(facts)).get(GROUP_ID), play.group)


@given(config=configs, moves=st.lists(plays, min_size=1, max_size=3), seed=st.integers(0, 1000))
def test_what_facts_tell_of_a_classic_group_is_what_the_group_is(
    config: GroupConfig, moves: list[list[Move]], seed: int
) -> None:
    assert_learned(Play(config).make(chain.from_iterable(moves)), seed)


@given(config=consumer_moves.configs, moves=consumer_moves.plays, seed=st.integers(0, 1000))
def test_what_facts_tell_of_a_group_of_the_newer_protocol_is_what_the_group_is(
    config: GroupConfig, moves: list[Move], seed: int
) -> None:
    assert_learned(consumer_moves.consumer_play(config).make(moves), seed)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@given(moves=st.lists(plays, min_size=1, max_size=3), place=st.integers(0, 100))
def test_a_fact_that_cannot_be_read_leaves_nothing_that_may_be_wrong(
    home: Path, moves: list[list[Move]], place: int
) -> None:
    play = Play(GroupConfig()).make(chain.from_iterable(moves))
    facts = facts_of(GROUP_ID, play.effects)
    detailed = [number for number, fact in enumerate(facts) if fact.effect in DETAILED]
    broken = detailed[place % len(detailed)] if detailed else -1
    backend = TablesBackend(home, Settings(), RequestTable(home, "gw"), "gw")
    for number, fact in enumerate(facts):
        backend._learn_fact(fact._replace(detail="{broken") if number == broken else fact)
    group = backend.known.get(GROUP_ID)
    assert (group is None) == (not play.group.is_known)
    if group is None:
        return
    assert group.state in (play.group.state, UNKNOWN)
    assert group.state == UNKNOWN or group.generation_id == play.group.generation_id
    assert group.members.items() <= members_of(play.group).items()
