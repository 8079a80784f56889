"""What is answered before the coordinator has taken a request is what it answers to the same request at that point."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.at_rest import first_join_answer, is_answered_none, offer_of
from rollcall.coordinator_udfs.protocol.config import INT32_MAX, GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroup, KnownGroups, KnownMember
from rollcall.schemas.effects import Effect
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import GroupRequest, HeartbeatResponse, JoinGroupRequest
from tests.examples import examples
from tests.gateway.core_backend import answer_of_the_core
from tests.gateway.facts import facts_of
from tests.protocol import consumer_moves
from tests.protocol.classic_moves import configs, plays
from tests.protocol.play import GROUP_ID, INSTANCE_IDS, Move, Play
from tests.requests import SUBSCRIPTION, consumer_beat, heartbeat, join

EXAMPLES = examples(20, 400)


def a_join(api_version: int = 6, **more: Any) -> JoinGroupRequest:
    """A first JoinGroup of a new client."""
    return join("new", 2_000_000, GROUP_ID, api_version=api_version, request_id="gw-1", **more)


def known_by(group_id: str, effects: Iterable[Effect]) -> KnownGroup | None:
    known = KnownGroups()
    for fact in facts_of(group_id, effects):
        known.apply(group_id, fact.effect, fact.detail)
    return known.get(group_id)


class Asked:
    """How many requests were answered before the coordinator had them, each as it answers it."""

    def __init__(self) -> None:
        self.heartbeats = self.joins = 0

    def of(self, play: Play) -> None:
        """Every member, as it is and as another, and a stranger; and new clients."""
        group, config, at_ms = play.group, play.config, max(play.now_ms, play.group.updated_at_ms)
        known = known_by(group.group_id, play.effects)
        names = [*({} if known is None else known.members), "stranger"]
        for name in names:
            for generation_id in (group.generation_id - 1, group.generation_id, group.generation_id + 1):
                for instance_id in (None, "i-1", *INSTANCE_IDS):
                    beat = heartbeat(
                        name,
                        generation_id,
                        at_ms,
                        group.group_id,
                        request_id="asked",
                        group_instance_id=instance_id,
                    )
                    if is_answered_none(known, beat):
                        assert answer_of_the_core(group, beat, config) == HeartbeatResponse()
                        self.heartbeats += 1
        for protocols in ({"range": SUBSCRIPTION}, {"sticky": b"s", "range": SUBSCRIPTION}, {"other": b""}):
            request = join("new", at_ms, group.group_id, api_version=6, request_id="asked", protocols=protocols)
            answer = first_join_answer(known, request, [], config)
            if answer is not None:
                assert answer == answer_of_the_core(group, request, config)
                self.joins += 1


classic_plays = st.builds(
    lambda config, moves: Play(config).make(chain.from_iterable(moves)), configs, st.lists(plays, max_size=3)
)
plays_of_both = st.builds(
    lambda config, moves: consumer_moves.consumer_play(config).make(moves), consumer_moves.configs, consumer_moves.plays
)


@given(play=classic_plays)
@EXAMPLES
def test_of_a_classic_group_whatever_its_life(play: Play) -> None:
    Asked().of(play)


@given(play=plays_of_both)
@EXAMPLES
def test_of_a_group_with_members_of_both_protocols_whatever_its_life(play: Play) -> None:
    Asked().of(play)


def test_the_random_lives_lead_to_groups_that_are_answered_early() -> None:
    classic, mixed = Asked(), Asked()
    of_both = 0

    @settings(max_examples=60, derandomize=True, database=None)
    @given(play=classic_plays)
    def play_classic(play: Play) -> None:
        classic.of(play)

    @settings(max_examples=300, derandomize=True, database=None)
    @given(play=plays_of_both)
    def play_both(play: Play) -> None:
        nonlocal of_both
        before = mixed.heartbeats
        mixed.of(play)
        of_both += (mixed.heartbeats - before) if play.group.consumer is not None else 0

    play_classic()
    play_both()
    assert min(classic.heartbeats, classic.joins, mixed.joins) > 10
    assert of_both > 0


# ---------------------------------------------------------------- first JoinGroups


joins = st.builds(
    a_join,
    st.integers(0, 9),
    session_timeout_ms=st.sampled_from([100, 6000, 400_000]),
    protocol_type=st.sampled_from(["consumer", "connect", ""]),
    protocols=st.sampled_from([{"range": b"r"}, {"sticky": b"s", "range": b"r"}, {"other": b"o"}, {}]),
)


@given(config=configs, moves=st.lists(plays, max_size=3), request=joins)
def test_a_first_join_of_any_kind(config: GroupConfig, moves: list[list[Move]], request: JoinGroupRequest) -> None:
    play = Play(config).make(chain.from_iterable(moves))
    answer = first_join_answer(known_by(GROUP_ID, play.effects), request, [], config)
    if answer is not None:
        assert answer == answer_of_the_core(play.group, request, config)


@pytest.mark.parametrize("api_version", range(4, 10))
def test_a_group_that_is_not_there_yet(api_version: int) -> None:
    answer = first_join_answer(None, a_join(api_version), [], GroupConfig())
    assert answer is not None
    assert answer.error_code is Error.MEMBER_ID_REQUIRED
    assert answer == answer_of_the_core(Group(GROUP_ID), a_join(api_version), GroupConfig())


def known(state: str = "Stable", protocol_name: str | None = "range") -> KnownGroup:
    return KnownGroup(GROUP_ID, state, generation_id=3, protocol_type="consumer", protocol_name=protocol_name)


@pytest.mark.parametrize(
    ("request_", "group"),
    [
        (a_join(3), None),
        (a_join(member_id="new-1"), None),
        (a_join(group_instance_id="i-1"), None),
        (a_join(session_timeout_ms=1), None),
        (a_join(protocols={}), None),
        (a_join(protocol_type=""), None),
        (a_join(protocol_type="connect"), known()),
        (a_join(protocols={"sticky": b""}), known()),
        (a_join(), known("PreparingRebalance", None)),
        (a_join(), known("Dead")),
    ],
)
def test_where_another_answer_is_possible_the_coordinator_gives_it(
    request_: JoinGroupRequest, group: KnownGroup | None
) -> None:
    assert first_join_answer(group, request_, [], GroupConfig()) is None


def test_a_stable_group_whose_protocol_the_client_supports() -> None:
    assert first_join_answer(known(), a_join(), [], GroupConfig()) is not None


def offers(*others: GroupRequest) -> list[bytes]:
    return [offer for other in others if (offer := offer_of(other)) is not None]


def test_the_others_that_are_under_way_must_offer_the_same() -> None:
    config = GroupConfig()
    assert first_join_answer(None, a_join(), offers(a_join()), config) is not None
    assert first_join_answer(None, a_join(), offers(heartbeat("m", 1, 5, GROUP_ID)), config) is not None
    for other in (
        a_join(protocol_type="connect"),
        a_join(protocols={"sticky": b""}),
        consumer_beat("m", 0, 5, GROUP_ID),
    ):
        assert first_join_answer(None, a_join(), offers(other), config) is None


def test_where_groups_have_a_greatest_size_others_under_way_may_take_the_last_place() -> None:
    small, one_member = GroupConfig(group_max_size=2), known()
    one_member.put("m", KnownMember("c", None, 6000, 60_000))
    assert first_join_answer(None, a_join(), [], small) is not None
    assert first_join_answer(None, a_join(), offers(a_join()), small) is None
    assert first_join_answer(one_member, a_join(), [], small) is not None
    one_member.put("m2", KnownMember("c", None, 6000, 60_000))
    assert first_join_answer(one_member, a_join(), [], small) is None
    assert first_join_answer(one_member, a_join(), [], GroupConfig(group_max_size=INT32_MAX)) is not None


def test_an_id_that_a_member_has_is_not_given_again() -> None:
    answer = first_join_answer(known(), a_join(), [], GroupConfig())
    assert answer is not None
    taken = known()
    taken.put(answer.member_id, KnownMember("c", None, 6000, 60_000))
    assert first_join_answer(taken, a_join(), [], GroupConfig()) is None
