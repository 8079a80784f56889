"""What a new member is told at once is what the coordinator tells it when it comes to its request."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import step
from gateway.tables.first_joins import first_answer, offer_of
from gateway.tables.membership import Memberships, Standing
from schemas.effects import Reply
from schemas.errors import Error
from schemas.messages import JoinGroupRequest, Response
from tests.gateway.facts import facts_of
from tests.protocol.invariants_moves import Move, configs, plays
from tests.protocol.invariants_play import GROUP_ID, Play
from tests.requests import join


def a_join(api_version: int = 6, **more: Any) -> JoinGroupRequest:
    """A first JoinGroup of a new client."""
    return join("new", 2_000_000, GROUP_ID, api_version=api_version, request_id="gw-1", **more)


def answer_of_the_core(group: Group, request: JoinGroupRequest, config: GroupConfig) -> Response | None:
    replies = [
        effect
        for effect in step(group.copy(), request, request.received_at_ms, config)
        if isinstance(effect, Reply) and effect.request_id == request.request_id
    ]
    return replies[0].response if replies else None


joins = st.builds(
    a_join,
    st.integers(0, 9),
    session_timeout_ms=st.sampled_from([100, 6000, 400_000]),
    protocol_type=st.sampled_from(["consumer", "connect", ""]),
    protocols=st.sampled_from([{"range": b"r"}, {"sticky": b"s", "range": b"r"}, {"other": b"o"}, {}]),
)


@given(config=configs, moves=st.lists(plays, max_size=3), request=joins)
def test_the_answer_is_the_coordinators(
    config: GroupConfig, moves: list[list[Move]], request: JoinGroupRequest
) -> None:
    play, known = Play(config), Memberships()
    for some in moves:
        play.make(some)
    for fact in facts_of(GROUP_ID, play.effects):
        known.learn(fact)
    told = first_answer(request, known.of(GROUP_ID), [], config)
    if told is not None:
        assert told == answer_of_the_core(play.group, request, config)


@pytest.mark.parametrize("api_version", range(4, 10))
def test_a_group_that_is_not_there_yet(api_version: int) -> None:
    told = first_answer(a_join(api_version), None, [], GroupConfig())
    assert told is not None
    assert told.error_code is Error.MEMBER_ID_REQUIRED  # type: ignore[attr-defined]
    assert told == answer_of_the_core(Group(GROUP_ID), a_join(api_version), GroupConfig())


STABLE = Standing("Stable", 3, "consumer", "range")


@pytest.mark.parametrize(
    ("request_", "group"),
    [
        (a_join(3), None),
        (a_join(member_id="new-1"), None),
        (a_join(group_instance_id="i-1"), None),
        (a_join(session_timeout_ms=1), None),
        (a_join(protocols={}), None),
        (a_join(protocol_type=""), None),
        (a_join(protocol_type="connect"), STABLE),
        (a_join(protocols={"sticky": b""}), STABLE),
        (a_join(), Standing("PreparingRebalance", 3, "consumer", None)),
        (a_join(), Standing("Dead", 3, "consumer", "range")),
    ],
)
def test_where_another_answer_is_possible_the_coordinator_gives_it(
    request_: JoinGroupRequest, group: Standing | None
) -> None:
    assert first_answer(request_, group, [], GroupConfig()) is None


def test_a_stable_group_whose_protocol_the_client_supports() -> None:
    assert first_answer(a_join(), STABLE, [], GroupConfig()) is not None


def test_the_others_that_are_under_way_must_speak_alike() -> None:
    other = a_join()
    assert first_answer(a_join(), None, [offer_of(other)], GroupConfig()) is not None
    assert first_answer(a_join(), None, [offer_of(a_join(protocol_type="connect"))], GroupConfig()) is None
    assert first_answer(a_join(), None, [offer_of(a_join(protocols={"sticky": b""}))], GroupConfig()) is None


def test_where_groups_have_a_greatest_size_only_an_empty_one_takes_anybody() -> None:
    small = GroupConfig(group_max_size=2)
    assert first_answer(a_join(), None, [], small) is not None
    assert first_answer(a_join(), None, [offer_of(a_join())], small) is None
    assert first_answer(a_join(), STABLE, [], small) is None


def test_an_id_that_a_member_has_is_not_given_again() -> None:
    told = first_answer(a_join(), STABLE, [], GroupConfig())
    member_id = msgspec.to_builtins(told)["member_id"]
    taken = Standing("Stable", 3, "consumer", "range")
    taken.members[member_id] = None  # type: ignore[assignment]
    assert first_answer(a_join(), taken, [], GroupConfig()) is None
