"""The history that the topic of recorded clusters gives, beside what really happened there."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import pytest

from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.schemas.consumer_effects import MemberProgressed, TargetAssigned
from rollcall.schemas.effects import (
    Assigned,
    GroupCreated,
    GroupFound,
    GroupRemoved,
    JoinPhaseEnded,
    MemberJoined,
    MemberRemoved,
    OffsetsCommitted,
    RebalanceEnded,
    RebalanceStarted,
)
from tests.nightly import nightly_but
from tests.offsets_topic.folded import (
    CLASSIC,
    CONSUMER,
    NAMES,
    OF_SESSIONS,
    SESSIONS,
    Folded,
    capture,
    decoded,
    fold,
    groups_of,
    read_dump,
    truth,
)
from tests.request_log.recordings import INCIDENTS

CLASSIC_EXACT_AT_LEAST = 0.70
CONSUMER_EXACT_AT_LEAST = 0.95


def partitions_of(reported: Any) -> list[str]:
    return sorted(f"{one.topic}-{number}" for one in reported or () for number in one.partitions)


def held_at_the_end(folded: Folded, group: str) -> dict[str, list[str]]:
    """What each member holds in the end."""
    held: dict[str, list[str]] = {}
    for effect in folded.reported[group]:
        match effect:
            case MemberJoined():
                held[effect.member_id] = []
            case MemberRemoved():
                held.pop(effect.member_id, None)
            case Assigned():
                held[effect.member_id] = partitions_of(effect.partitions)
            case _:
                pass
    return held


@pytest.mark.parametrize("name", NAMES)
def test_every_group_of_the_topic_is_reported_from_its_first_moment(name: str) -> None:
    folded = capture(name)
    assert set(groups_of(name)) <= set(folded.reported)
    for group in groups_of(name):
        assert folded.of(group, GroupFound) == []
        assert len(folded.of(group, GroupCreated)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_topic_names_follow_from_the_records(name: str) -> None:
    assert capture(name).names == truth(name)["topic_ids"]


@pytest.mark.parametrize("name", NAMES)
def test_each_group_ends_with_the_true_members_and_what_they_own(name: str) -> None:
    for group, what in groups_of(name).items():
        if what["final"].get("members") is not None:
            theirs = {one["member_id"]: sorted(one["assignment"]) for one in what["final"]["members"]}
            assert held_at_the_end(capture(name), group) == theirs, group


def test_every_classic_generation_is_reported_with_its_moments_and_its_leader() -> None:
    for group, what in groups_of(CLASSIC).items():
        formed = {one.generation_id: one for one in capture(CLASSIC).of(group, JoinPhaseEnded)}
        ended = {one.to_generation_id: one for one in capture(CLASSIC).of(group, RebalanceEnded)}
        assert list(ended) == [one["generation"] for one in what["generations"]], group
        for theirs in what["generations"]:
            ours = ended[theirs["generation"]]
            assert ours.members_after == theirs["members"]
            assert (ours.started_at_ms, ours.waits, ours.slowest_member_id) == (None, [], None)
            assert abs(ours.known_from_ms - theirs["t_join_complete_ms"]) <= 2
            if theirs["members"]:
                assert formed[theirs["generation"]].leader_id == theirs["leader"]
                assert len(formed[theirs["generation"]].member_ids) == theirs["members"]
                assert abs(ours.at_ms - theirs["t_assignment_ms"]) <= 10
            else:
                assert ours.outcome == "empty"


def test_a_static_member_that_came_back_is_reported_without_a_rebalance() -> None:
    for group, what in groups_of(CLASSIC).items():
        replaced = [one for one in capture(CLASSIC).of(group, MemberJoined) if one.replaces_member_id is not None]
        reported = [one for one in what["broker_events"] if one["event"] == "static_member_replaced"]
        assert len(replaced) == len(reported) == what["summary"]["static_members_replaced"], group
        for ours, theirs in zip(replaced, reported, strict=True):
            assert ours.group_instance_id == theirs["instance_id"]


@pytest.mark.parametrize("name", CONSUMER)
def test_every_epoch_is_reported_at_its_moment(name: str) -> None:
    for group, what in groups_of(name).items():
        began = capture(name).of(group, RebalanceStarted)
        theirs = what["consumer"]["epochs"]
        assert [one.from_generation_id + 1 for one in began] == [one["epoch"] for one in theirs], group
        # A group's first records wait for the broker's start, so they may be written long after the epoch rose.
        assert all(abs(ours.at_ms - one["t_ms"]) <= 1_000 for ours, one in zip(began, theirs, strict=True)), group
        ended = [one.to_generation_id for one in capture(name).of(group, RebalanceEnded)]
        assert ended == [one["epoch"] for one in theirs], group


@pytest.mark.parametrize("name", CONSUMER)
def test_every_step_of_every_member_is_the_true_one(name: str) -> None:
    for group, what in groups_of(name).items():
        ours = [
            (one.member_id, one.generation_id, one.state, partitions_of(one.partitions), partitions_of(one.to_revoke))
            for one in capture(name).of(group, MemberProgressed)
        ]
        theirs: list[Any] = []
        last: dict[str, Any] = {}
        for one in what["consumer"]["member_states"]:
            state = one["state"].partition("_")[0].lower()
            held, given_up = sorted(one["assigned"].split()), sorted(one["pending_revocation"].split())
            step = (one["member_id"], one["member_epoch"], state, held, given_up)
            if last.get(one["member_id"]) != step:
                theirs.append(step)
            last[one["member_id"]] = step
        assert ours == theirs, group


@pytest.mark.parametrize("name", CONSUMER)
def test_every_target_assignment_is_reported_with_its_epoch(name: str) -> None:
    for group, what in groups_of(name).items():
        ours = [one.generation_id for one in capture(name).of(group, TargetAssigned)]
        assert ours == [one["epoch"] for one in what["consumer"]["target_assignments"]], group


@pytest.mark.parametrize("name", CONSUMER)
def test_who_joined_and_who_went_is_the_truth(name: str) -> None:
    gone = ("left", "session_expired", "rebalance_timeout")
    for group, what in groups_of(name).items():
        events = what["consumer"]["events"]
        joined = [one["member_id"] for one in events if one["event"] == "joined"]
        assert [one.member_id for one in capture(name).of(group, MemberJoined)] == joined, group
        went = [one["member_id"] for one in events if one["event"] in gone]
        assert [one.member_id for one in capture(name).of(group, MemberRemoved)] == went, group


def causes_beside_the_truth(name: str) -> Counter[str]:
    """How many causes are exact, open with the truth among what fits, or wrong; and every culprit is the true one."""
    found: Counter[str] = Counter()
    for group, what in groups_of(name).items():
        if what.get("consumer"):
            theirs = [(one["epoch"], one["cause"], one["trigger"]) for one in what["consumer"]["epochs"]]
        else:
            theirs = [(one["to_generation"], one["cause"], one["trigger"]) for one in what["rebalances"]]
        for (_, to, ours), (true_to, cause, trigger) in zip(capture(name).causes(group), theirs, strict=True):
            assert to == true_to, group
            candidates = {one.kind for one in ours.candidates}
            exact, fits = ours.kind == cause, ours.kind == "unknown" and cause in candidates
            found["exact" if exact else "fits" if fits else "wrong"] += 1
            assert exact or ours.is_inferred, f"{group} {to}: {ours.kind} is reported as certain"
            assert not ours.member_id or ours.member_id == trigger["member_id"], f"{group} {to}"
    return found


def test_classic_causes_are_mostly_exact_and_never_wrong() -> None:
    found = causes_beside_the_truth(CLASSIC)
    assert found["wrong"] == 0
    assert found["exact"] / found.total() >= CLASSIC_EXACT_AT_LEAST


def test_causes_of_consumer_groups_are_exact() -> None:
    found = causes_beside_the_truth(CONSUMER[0]) + causes_beside_the_truth(CONSUMER[1])
    assert found["wrong"] == 0
    assert found["exact"] / found.total() >= CONSUMER_EXACT_AT_LEAST


@pytest.mark.parametrize(("name", "group"), [(CLASSIC, "nightly-batch"), ("o-consumer-protocol", "miles-import")])
def test_a_deleted_group_is_reported_as_deleted(name: str, group: str) -> None:
    removed = capture(name).of(group, GroupRemoved)
    assert [one.why for one in removed] == ["deleted"]


@pytest.mark.parametrize("name", NAMES)
def test_a_commit_is_reported_with_the_owner_of_its_partition(name: str) -> None:
    for group in groups_of(name):
        commits = capture(name).of(group, OffsetsCommitted)
        assert commits
        assert all(one.is_inferred and one.generation_id == -1 for one in commits)
        owned = sum(bool(one.member_id) for one in commits)
        assert owned / len(commits) > 0.95, group


@pytest.mark.parametrize("name", NAMES)
def test_a_compacted_topic_shows_what_is_left_as_found(name: str) -> None:
    folded = capture(name, "offsets-topic-compacted")
    for group, what in groups_of(name).items():
        found = folded.of(group, GroupFound)
        if what["final"].get("state") in (None, "Dead"):
            assert found == []
            continue
        last = what["final"].get("group_epoch") or what["generations"][-1]["generation"]
        assert [one.generation_id for one in found] == [last], group
        assert folded.of(group, GroupCreated) == []
        assert folded.of(group, RebalanceStarted) == []
        assert folded.of(group, RebalanceEnded) == []
        assert all(one.is_inferred for one in folded.of(group, MemberJoined))
        theirs = {one["member_id"]: sorted(one["assignment"]) for one in what["final"]["members"]}
        assert held_at_the_end(folded, group) == theirs, group


# ---------------------------------------------------------------- groups with sessions of their own
# The truth is that of the server's own log. In `sessions*` nobody consumed anything, so there are no commits: ends are
# open, and the truth is a candidate.


class Compared(NamedTuple):
    counts: Counter[str]
    wrong: list[object]


@cache
def records(name: str) -> list[Record]:
    return decoded(read_dump(OF_SESSIONS / f"{name}.dump.gz"))


def compared(name: str, sessions: dict[str, int]) -> Compared:
    found, counts, wrong = fold(records(name), sessions=sessions), Counter[str](), list[object]()
    for group, epochs in json.loads((INCIDENTS / f"{name}.json").read_text()).items():
        causes = [(start, cause) for start, _, cause in found.causes(group)]
        assert [start for start, _ in causes] == [from_epoch for from_epoch, _, _ in epochs]
        for (_, cause), (from_epoch, kind, member_id) in zip(causes, epochs, strict=True):
            if (str(cause.kind), cause.member_id) == (kind, member_id):
                counts["exact"] += 1
            elif cause.kind == "unknown" and kind in {str(one.kind) for one in cause.candidates}:
                counts["open"] += 1
            else:
                wrong.append((group, from_epoch, kind, cause))
    return Compared(counts, wrong)


CASES: list[tuple[str, bool, dict[str, int]]] = [
    ("sessions", False, {"exact": 14, "open": 6}),
    ("sessions", True, {"exact": 15, "open": 5}),
    ("sessions-changed", False, {"exact": 10, "open": 6}),
    ("sessions-changed", True, {"exact": 11, "open": 5}),
    ("sessions-unseen", False, {"exact": 14, "open": 7}),
    ("sessions-unseen", True, {"exact": 16, "open": 5}),
    ("conversions", False, {"exact": 29}),
    ("conversions", True, {"exact": 29}),
    ("libraries", False, {"exact": 33, "open": 6}),
    ("libraries", True, {"exact": 32, "open": 7}),
    ("night", False, {"exact": 29, "open": 2}),
    ("night", True, {"exact": 28, "open": 3}),
    ("dusk", False, {"exact": 51, "open": 2}),
    ("dusk", True, {"exact": 51, "open": 2}),
    ("dawn", False, {"exact": 18, "open": 3}),
    ("dawn", True, {"exact": 19, "open": 2}),
]
"""Of each incident, without and with how long members may be silent: how many causes are exact, and how many open."""


@pytest.mark.parametrize(("name", "is_known", "expected"), nightly_but([case for case in CASES if case[1]], CASES))
def test_what_is_inferred_of_members_that_went_is_true(name: str, is_known: bool, expected: dict[str, int]) -> None:
    found = compared(name, SESSIONS[name] if is_known else {})
    assert found.wrong == []
    assert found.counts == expected


@pytest.mark.parametrize(("name", "open_count"), [("k44-classic", 0), ("k44-mixed", 0), ("k44-newer", 1)])
def test_what_is_inferred_of_a_kafka_4_4_is_true(name: str, open_count: int) -> None:
    found = compared(name, {})
    assert (found.wrong, found.counts["open"]) == ([], open_count)
    assert compared(name, {"orders-newer": 6_000, "orders-mixed": 6_000}).counts.keys() == {"exact"}
