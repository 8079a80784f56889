"""Recorded incidents of a real broker, each with the truth: every answer, every rebalance, its cause, its end."""

from __future__ import annotations

import pytest

from rollcall.inputs.request_log.following.group_sessions import SESSION_OVER, SESSIONS_OVER
from rollcall.schemas.consumer_protocol import decode_assignment
from rollcall.schemas.effects import RebalanceEnded, RebalanceStarted
from tests.request_log.recordings import capture
from tests.request_log.truth import NAMES, groups, host_at

pytestmark = pytest.mark.parametrize("name", NAMES)


def test_every_answer_is_the_recorded_one(name: str) -> None:
    found = capture(name)
    assert found.parity.compared == found.tally.used > 0
    assert found.parity.first == []
    assert found.parity.share == 1.0


def test_nothing_needs_to_be_inferred_and_nothing_is_left_over(name: str) -> None:
    tally = capture(name).tally
    assert tally.read == tally.used + tally.skipped.total() + tally.quarantined.total()
    assert (tally.quarantined, tally.unsettled) == ({}, {})
    assert set(tally.inferred) <= {SESSION_OVER, SESSIONS_OVER}


def test_every_rebalance_its_cause_and_its_culprit_are_the_true_ones(name: str) -> None:
    for group, what in groups(name).items():
        ours = [
            (
                effect.from_generation_id,
                str(effect.from_state),
                str(effect.cause.kind),
                effect.cause.member_id,
                effect.cause.group_instance_id,
                effect.cause.client_host,
            )
            for effect in capture(name).of_group(group, RebalanceStarted)
        ]
        theirs = [
            (
                rebalance["from_generation"],
                rebalance["state_before"],
                rebalance["cause"],
                rebalance["trigger"]["member_id"],
                rebalance["trigger"]["instance_id"],
                "/" + host_at(name, rebalance["trigger"]["member"], rebalance["t_prepare_ms"]),
            )
            for rebalance in what["rebalances"]
        ]
        assert ours == theirs, group


def test_every_rebalance_led_to_the_true_generation_and_members(name: str) -> None:
    for group, what in groups(name).items():
        ended = [e for e in capture(name).of_group(group, RebalanceEnded) if e.outcome != "superseded"]
        ours = [(e.from_generation_id, e.to_generation_id, e.members_after) for e in ended]
        done = [rebalance for rebalance in what["rebalances"] if rebalance["completed"]]
        assert ours == [(r["from_generation"], r["to_generation"], r["members"]) for r in done], group


def test_it_is_known_to_the_moment_when_a_rebalance_began(name: str) -> None:
    for group, what in groups(name).items():
        began = [effect.at_ms for effect in capture(name).of_group(group, RebalanceStarted)]
        late = [abs(a - b["t_prepare_ms"]) for a, b in zip(began, what["rebalances"], strict=True)]
        assert max(late) <= 25, group


def test_each_group_ends_with_the_true_members_and_what_they_own(name: str) -> None:
    for group, what in groups(name).items():
        ours = capture(name).groups[group]
        assert str(ours.state).upper() == what["final"]["state"], group
        owned = {
            member.member_id: sorted(
                f"{p.topic}-{p.partition}" for p in decode_assignment(member.assignment).partitions
            )
            for member in ours.members.values()
        }
        assert owned == {m["member_id"]: sorted(m["assignment"]) for m in what["final"]["members"]}, group


def test_the_rows_of_a_group_rise_in_time_and_none_has_another_ones_id(name: str) -> None:
    rows = capture(name).rows
    for group_id in {row.group_id for row in rows}:
        of_group = [row.request for row in rows if row.group_id == group_id]
        keys = [(request.received_at_ms, request.request_seq) for request in of_group]
        assert keys == sorted(set(keys)), group_id
    assert len({row.request.request_id for row in rows}) == len(rows)
