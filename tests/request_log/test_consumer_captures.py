"""Recorded incidents of consumer groups (KIP-848), each with the truth: every answer, every epoch, its cause."""

from __future__ import annotations

import pytest

from rollcall.schemas.effects import MemberRemoved, RebalanceEnded, RebalanceStarted
from tests.request_log.imported import imported
from tests.request_log.recordings import capture
from tests.request_log.truth import BOTH_PROTOCOLS, FOLDER, NAMES, consumer_groups, groups, truth

LEAST_EQUAL = 0.995
WHOLE_LOG = FOLDER / "raw-sample" / "requests-unfiltered.log.gz"

each_capture = pytest.mark.parametrize("name", BOTH_PROTOCOLS)
of_consumers = pytest.mark.parametrize("name", ["o-consumer-protocol", "q-consumer-slow"])
of_classic_groups = pytest.mark.parametrize("name", ["n-classic-mixed"])


@each_capture
def test_the_recorded_answers_are_ours(name: str) -> None:
    found = capture(name)
    assert found.parity.compared == len([row for row in found.rows if row.recorded is not None]) > 0
    assert found.parity.share >= LEAST_EQUAL, found.parity.first
    assert {api for api, count in found.parity.different.items() if count} <= {"ConsumerGroupDescribe"}


@of_consumers
def test_every_epoch_its_cause_and_its_culprit_are_the_true_ones(name: str) -> None:
    for group, what in consumer_groups(name).items():
        ours = [
            (effect.from_generation_id + 1, str(effect.cause.kind), effect.cause.member_id)
            for effect in capture(name).of_group(group, RebalanceStarted)
        ]
        theirs = [(epoch["epoch"], epoch["cause"], epoch["trigger"]["member_id"] or "") for epoch in what["epochs"]]
        assert ours == theirs, group


@of_classic_groups
def test_every_classic_rebalance_is_the_true_one(name: str) -> None:
    for group, what in groups(name).items():
        ours = [(f, kind, by) for f, kind, by in capture(name).rebalances(group)]
        theirs = [(r["from_generation"], r["cause"], r["trigger"]["member_id"]) for r in what["rebalances"]]
        assert [(f, kind) for f, kind, _ in ours] == [(f, kind) for f, kind, _ in theirs], group


@of_consumers
def test_each_group_ends_with_the_true_members_and_what_they_own(name: str) -> None:
    for group in consumer_groups(name):
        final = truth(name)["groups"][group]["final"]
        ours = capture(name).groups.get(group)
        members = {} if ours is None or ours.consumer is None else ours.consumer.members
        owned = {
            member_id: sorted(f"{topic}-{p}" for topic, partitions in member.owned().items() for p in partitions)
            for member_id, member in members.items()
        }
        theirs = {member["member_id"]: sorted(member["assignment"]) for member in final.get("members", [])}
        assert owned == theirs, group


def test_a_member_that_did_not_give_up_in_time_is_fenced_though_no_line_says_so() -> None:
    (gone,) = [e for e in capture("q-consumer-slow").of_group("tiles-cache", MemberRemoved)]
    assert (str(gone.end_cause), gone.client_id) == ("rebalance_timeout", "tiles-cache-0")


def test_who_kept_the_others_waiting_is_reported() -> None:
    ended = capture("q-consumer-slow").of_group("tiles-cache", RebalanceEnded)
    (fenced,) = [e for e in ended if e.cause.kind == "rebalance_timeout"]
    (waited,) = [e for e in ended if e.to_generation_id == fenced.from_generation_id]
    assert (waited.outcome, waited.slowest_client_id) == ("superseded", "tiles-cache-0")
    assert waited.slowest_wait_ms is not None
    assert waited.slowest_wait_ms >= 10_000


@pytest.mark.parametrize("name", [*NAMES, *BOTH_PROTOCOLS])
def test_reading_it_again_gives_the_same_rows(name: str) -> None:
    assert [row.request for row in imported(FOLDER / name).rows] == [row.request for row in capture(name).rows]


def test_a_consumer_group_is_found_in_a_whole_brokers_log() -> None:
    found = imported(WHOLE_LOG)
    assert (found.parity.share, found.tally.unsettled, found.tally.inferred) == (1.0, {}, {})
    assert found.parity.equal["ConsumerGroupHeartbeat"] == 6
    assert [kind for _, kind, _ in found.rebalances("app-new-protocol")] == ["member_joined"]
