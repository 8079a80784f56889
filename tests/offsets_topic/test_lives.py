"""A real broker's topic: groups that change their protocol, static members that leave and return, members killed.

dumps/lives.txt.gz is of Kafka 4.3 with librdkafka's clients; sessions of consumer groups were 10 s.

What was done, second by second: `convert` a classic member, a member of the newer protocol beside it for 12 s, then the
classic one alone; then Empty, taken over by the newer protocol, then by the classic one. `statics` pod-1 leaves and
returns within its session, leaves and never returns; then pod-0 does. `killed`, `killed-classic` one of two members is
killed. `coop` cooperative-sticky: a second member comes and goes; the group is deleted at the end.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from rollcall.schemas.consumer_effects import GroupTypeChanged, MemberLeftForNow
from rollcall.schemas.effects import GroupCreated, GroupRemoved, MemberJoined, MemberRemoved, RebalanceEnded
from tests.offsets_topic.folded import Folded, decoded, fold, read_dump

LIVES = Path(__file__).parent / "dumps" / "lives.txt.gz"


@cache
def lives() -> Folded:
    return fold(decoded(read_dump(LIVES)))


def test_a_group_that_changes_its_protocol_goes_on_as_the_same_group() -> None:
    changes = [(one.from_type, one.to_type, one.why) for one in lives().of("convert", GroupTypeChanged)]
    assert changes == [
        ("classic", "consumer", "upgraded"),
        ("consumer", "classic", "downgraded"),
        ("classic", "consumer", "replaced"),
        ("consumer", "classic", "replaced"),
    ]
    assert len(lives().of("convert", GroupCreated)) == 1
    assert lives().of("convert", GroupRemoved) == []
    assert [one.client_id for one in lives().of("convert", MemberJoined)] == ["c-old", "c-new", "c-new-2", "c-old-2"]


def test_the_rebalance_after_a_downgrade_is_caused_by_the_member_that_made_it() -> None:
    after = next(one for one in lives().of("convert", RebalanceEnded) if one.from_generation_id == 2)
    assert (after.cause.kind, after.cause.client_id, after.cause.is_inferred) == ("member_left", "c-new", True)
    assert after.cause.candidates == ()


def test_a_static_member_that_returns_keeps_its_place_and_one_that_does_not_expires() -> None:
    away = [one.group_instance_id for one in lives().of("statics", MemberLeftForNow)]
    assert away == ["pod-1", "pod-1", "pod-0"]
    ends = [(one.group_instance_id, one.end_cause) for one in lives().of("statics", MemberRemoved)]
    assert ends == [
        ("pod-1", "static_member_replaced"),
        ("pod-1", "session_expired"),
        ("pod-0", "session_expired"),
    ]
    assert [cause.kind for _, _, cause in lives().causes("statics")] == [
        "member_joined",
        "member_joined",
        "session_expired",
        "session_expired",
    ]


def test_a_killed_member_fell_silent_while_others_committed() -> None:
    """Nobody wrote down its session timeout, and the broker's was shorter than as shipped."""
    gone = lives().of("killed", MemberRemoved)[0]
    assert (gone.client_id, gone.end_cause, gone.candidates) == ("k-1", "session_expired", ())
    cause = lives().causes("killed")[2][2]
    assert (cause.kind, cause.client_id, cause.is_inferred) == ("session_expired", "k-1", True)


def test_a_killed_classic_member_has_its_session_timeout_in_the_topic() -> None:
    cause = lives().causes("killed-classic")[2][2]
    assert (cause.kind, cause.client_id, cause.is_inferred) == ("session_expired", "kc-1", True)


def test_the_second_round_of_a_cooperative_rebalance_is_reported_as_one() -> None:
    kinds = [cause.kind for _, _, cause in lives().causes("coop")]
    assert kinds == ["member_joined", "member_joined", "cooperative_followup", "member_left", "member_left"]


@pytest.mark.parametrize(("group", "why"), [("coop", ["deleted"]), ("statics", [])])
def test_only_a_group_that_was_deleted_is_gone(group: str, why: list[str]) -> None:
    assert [one.why for one in lives().of(group, GroupRemoved)] == why
