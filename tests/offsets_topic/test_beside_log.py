"""A request log and the topic of the same cluster as one history: what each of them adds, and where they meet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.history.facts import Fact
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import (
    Assigned,
    CauseFound,
    Effect,
    GroupCreated,
    GroupFound,
    GroupRemoved,
    OffsetCommitted,
    OffsetsCommitted,
    RebalanceEnded,
    RebalanceStarted,
)
from tests.offsets_topic.beside import Both, both_of, facts_of, merged
from tests.offsets_topic.beside_written import LOG_OF_ONE, began, ended, gone, joined, observed, reported_of
from tests.offsets_topic.folded import CAPTURES, CLASSIC, NAMES, groups_of
from tests.written_effects import effect

WITH_BOTH = sorted(path.parent.name for path in CAPTURES.glob("*/offsets-topic.jsonl.gz"))
CUTS = [(0.0, 1.0), (0.25, 1.0), (0.55, 1.0), (0.8, 1.0), (0.0, 0.3), (0.0, 0.6), (0.3, 0.7)]


def generations_of(name: str, group: str) -> list[int]:
    what = groups_of(name)[group]
    if what.get("consumer"):
        return [one["epoch"] for one in what["consumer"]["epochs"]]
    return [one["generation"] for one in what["generations"]]


def owned_at_the_end(both: Both, group: str) -> dict[str, list[str]]:
    """What each member holds in the end. A member that joins was not there, and one that goes was there."""
    held: dict[str, list[str]] = {}
    for fact in both.history(group):
        member_id = fact.member_id or ""
        match fact.effect:
            case EffectName.MEMBER_JOINED:
                assert member_id not in held
                held[member_id] = []
            case EffectName.MEMBER_REMOVED:
                del held[member_id]
            case EffectName.ASSIGNED:
                assert isinstance(fact.content, Assigned)
                held[member_id] = sorted(
                    f"{one.topic}-{n}" for one in fact.content.partitions or () for n in one.partitions
                )
            case _:
                pass
    return held


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("from_share", "to_share"), CUTS)
def test_however_much_of_a_cluster_a_log_shows_its_history_is_whole(
    name: str, from_share: float, to_share: float, tmp_path: Path
) -> None:
    both = both_of(name, tmp_path, from_share, to_share)
    for group, what in groups_of(name).items():
        ended = [fact.generation_id for fact in both.history(group) if fact.effect == EffectName.REBALANCE_ENDED]
        assert ended == generations_of(name, group), group
        if what["final"].get("members") is not None:
            theirs = {one["member_id"]: sorted(one["assignment"]) for one in what["final"]["members"]}
            assert owned_at_the_end(both, group) == theirs, group
    assert not any(one.differences for one in both.merged.values())
    if from_share == 0:
        assert sum(one.compared for one in both.merged.values()) >= 5


def causes_reported(facts: Iterable[Fact]) -> dict[int, CauseKind]:
    """Why each generation came about, which is reported once."""
    found: dict[int, CauseKind] = {}
    for fact in facts:
        match fact.content:
            case RebalanceEnded(to_generation_id=to, cause=cause):
                assert to not in found
                found[to] = cause.kind
            case CauseFound(to_generation_id=to, cause=cause) if to in found:
                found[to] = cause.kind
            case _:
                pass
    return found


def true_causes(name: str, group: str) -> set[tuple[int, str]]:
    what = groups_of(name)[group]
    if what.get("consumer"):
        return {(one["epoch"], one["cause"]) for one in what["consumer"]["epochs"]}
    return {(one["to_generation"], one["cause"]) for one in what["rebalances"]}


@pytest.mark.parametrize("name", WITH_BOTH)
@pytest.mark.parametrize("from_share", [0.0, 0.3, 0.6])
def test_no_generation_is_reported_twice_and_as_many_causes_are_right_as_by_the_better_input(
    name: str, from_share: float, tmp_path: Path
) -> None:
    for to_share in (from_share + 0.2, 1.0):
        both = both_of(name, tmp_path, from_share, to_share)
        for group in groups_of(name):
            reported = (both.history(group), both.log.get(group, []), both.topic[group])
            right, by_log, by_topic = (true_causes(name, group) & causes_reported(facts).items() for facts in reported)
            assert len(right) >= max(len(by_log), len(by_topic)), group
            starts = [
                fact.content.from_generation_id for fact in reported[0] if isinstance(fact.content, RebalanceStarted)
            ]
            assert len(starts) == len(set(starts)), group


@pytest.mark.parametrize("name", NAMES)
def test_of_a_log_that_has_everything_every_fact_holds(name: str, tmp_path: Path) -> None:
    both = both_of(name, tmp_path)
    assert all(one.log_left_out == [] for one in both.merged.values())
    kept = [fact for one in both.merged.values() for fact in one.topic_kept]
    # A few commits' lines came after the log was cut off.
    assert {fact.effect for fact in kept} <= {EffectName.OFFSETS_COMMITTED}
    assert len(kept) < 5


def test_the_causes_that_the_log_saw_hold_and_those_before_it_are_the_topics(tmp_path: Path) -> None:
    both = both_of(CLASSIC, tmp_path, 0.4)
    found = {"log": 0, "topic": 0}
    for group, what in groups_of(CLASSIC).items():
        theirs = {one["to_generation"]: one["cause"] for one in what["rebalances"]}
        for fact in both.history(group):
            if not isinstance(fact.content, RebalanceEnded):
                continue
            cause, to = fact.content.cause, fact.content.to_generation_id
            if fact in both.log[group]:
                found["log"] += 1
                assert cause.kind == theirs[to], group
            else:
                found["topic"] += 1
                assert theirs[to] in [cause.kind, *(one.kind for one in cause.candidates)], group
    assert min(found.values()) > 5


# ---------------------------------------------------------------- written by hand


def commit(at_ms: int, offset: int, metadata: str = "") -> OffsetsCommitted:
    one = OffsetCommitted(
        topic="t", partition=0, committed_offset=offset, leader_epoch=-1, metadata=metadata, commit_timestamp_ms=at_ms
    )
    return OffsetsCommitted(at_ms=at_ms, request_id="", member_id="a", generation_id=-1, offsets=[one])


def both(log: list[Effect], topic: list[Effect], until_ms: int = 100_000) -> Both:
    return merged({"g": facts_of(log)}, {"g": facts_of(topic)}, until_ms)


TOPIC_OF_TWO: list[Effect] = [
    GroupCreated(at_ms=1_000),
    joined(4_000, "a"),
    *ended(4_000, 1, ["a"], is_logged=False),
    joined(20_000, "b"),
    *ended(20_000, 2, ["a", "b"], is_logged=False),
]


def test_a_log_that_begins_late_is_believed_from_a_rebalance_on_whose_members_the_topic_confirms() -> None:
    log = [
        GroupCreated(at_ms=10_000),
        observed(10_000, 1, "a"),
        joined(10_000, "a", is_inferred=True),
        joined(19_995, "b"),
        began(19_995, 2),
        *ended(19_999, 2, ["a", "b"], is_logged=True),
    ]
    found = both(log, TOPIC_OF_TWO)
    assert reported_of(found, "member_joined") == [(4_000, "topic"), (19_995, "log")]
    assert reported_of(found, "rebalance_ended") == [(4_000, "topic"), (19_999, "log")]
    assert reported_of(found, "group_created") == [(1_000, "topic")]


def test_a_rebalance_before_which_the_log_knew_others_is_the_topics() -> None:
    log = [
        GroupCreated(at_ms=10_000),
        observed(10_000, 1, "x"),
        joined(10_000, "x", is_inferred=True),
        joined(19_995, "b"),
        began(19_995, 2),
        *ended(19_999, 2, ["a", "b"], is_logged=True),
        joined(29_995, "c"),
    ]
    found = both(log, TOPIC_OF_TWO)
    assert reported_of(found, "rebalance_ended") == [(4_000, "topic"), (20_000, "topic")]
    assert reported_of(found, "member_joined")[:2] == [(4_000, "topic"), (20_000, "topic")]


def test_what_a_log_infers_just_after_the_topics_last_record_is_no_second_end_of_a_rebalance() -> None:
    log = [
        GroupCreated(at_ms=10_000),
        observed(10_000, 1, "a"),
        joined(10_000, "a", is_inferred=True),
        began(19_995, 2),
        observed(20_013, 2, "a"),
        ended(20_013, 2, ["a", "b"], is_logged=True)[-1],
    ]
    found = both(log, TOPIC_OF_TWO)
    assert reported_of(found, "rebalance_ended") == [(4_000, "topic"), (20_000, "topic")]


def test_a_generation_of_which_the_log_has_no_line_is_the_topics() -> None:
    found = both(LOG_OF_ONE, TOPIC_OF_TWO)
    assert reported_of(found, "rebalance_ended") == [(4_000, "log"), (20_000, "topic")]
    assert reported_of(found, "member_joined") == [(1_000, "log"), (20_000, "topic")]


def test_while_a_group_is_elsewhere_the_topic_is_used() -> None:
    log = [
        *LOG_OF_ONE,
        commit(5_000, 1),
        observed(10_000, 1, is_away=True),
        GroupRemoved(at_ms=10_000, why="unloaded", generation_id=1),
    ]
    found = both(log, [*TOPIC_OF_TWO, commit(5_000, 1), commit(15_000, 2)])
    assert reported_of(found, "group_removed") == []
    assert reported_of(found, "rebalance_ended") == [(4_000, "log"), (20_000, "topic")]
    assert reported_of(found, "offsets_committed") == [(5_000, "log"), (15_000, "topic")]


def test_a_group_of_another_broker_is_the_topics_alone() -> None:
    found = merged({}, {"g": facts_of(TOPIC_OF_TWO)}, 100_000)
    assert len(found.merged["g"].topic_kept) == len(found.topic["g"])


def test_a_group_that_the_topic_does_not_tell_of_is_the_logs_alone() -> None:
    log = [observed(10_000, 1, "a"), joined(10_000, "a", is_inferred=True), began(15_000, 2)]
    found = merged({"g": facts_of(log)}, {}, 100_000)
    assert found.merged["g"].log_left_out == []


def test_a_group_that_was_deleted_and_came_again_is_the_logs_in_both_lives() -> None:
    def life(at_ms: int, *, is_logged: bool) -> list[Effect]:
        return [
            GroupCreated(at_ms=at_ms),
            # A record has who came by the end of the join phase.
            joined(at_ms if is_logged else at_ms + 10, "a"),
            *([began(at_ms, 1, 0)] if is_logged else []),
            *ended(at_ms + 10, 1, ["a"], is_logged=is_logged),
            gone(at_ms + 20, "a", 1),
            GroupRemoved(at_ms=at_ms + 30, why="deleted", generation_id=1),
        ]

    found = both(
        life(1_000, is_logged=True) + life(9_000, is_logged=True),
        life(1_000, is_logged=False) + life(9_000, is_logged=False),
    )
    assert found.merged["g"].topic_kept == []
    assert found.merged["g"].log_left_out == []


def test_what_the_topic_was_found_with_stands_where_the_log_only_inferred_it() -> None:
    topic: list[Effect] = [
        GroupFound(at_ms=5_000, group_type=GroupType.CLASSIC, generation_id=1),
        joined(5_000, "a", is_inferred=True),
    ]
    log = [GroupCreated(at_ms=10_000), observed(10_000, 1, "a"), joined(10_000, "a", is_inferred=True)]
    found = merged({"g": facts_of(log)}, {"g": facts_of([*topic, commit(50_000, 1)])}, 100_000)
    assert reported_of(found, "member_joined") == [(5_000, "topic")]


def test_a_generation_that_its_record_contradicts_is_the_records_and_it_is_said() -> None:
    log = [
        *LOG_OF_ONE,
        joined(19_995, "b"),
        began(19_995, 2),
        *ended(19_999, 2, ["z"], is_logged=True),
    ]
    found = both(log, TOPIC_OF_TWO)
    assert [(one.what, one.log, one.topic) for one in found.merged["g"].differences] == [
        ("members of generation 2", "led by z, z", "led by a, a, b")
    ]
    assert reported_of(found, "rebalance_ended") == [(4_000, "log"), (20_000, "topic")]
    assert reported_of(found, "member_joined") == [(1_000, "log"), (20_000, "topic")]


@pytest.mark.parametrize(("later_ms", "is_the_logs"), [(400, False), (60_000, True)])
def test_a_generation_that_the_topic_left_behind_just_before_its_end_is_not_the_logs(
    later_ms: int, is_the_logs: bool
) -> None:
    """A minute later the group may have begun anew, of which a dump that ends earlier knows nothing."""
    at_ms = 20_000 + later_ms
    end = {"from_generation_id": 1, "to_generation_id": 1, "members_before": 1, "members_after": 0, "outcome": "empty"}
    shown = observed(19_950, 1, "a")
    log = [*LOG_OF_ONE, began(19_900, 2), shown, effect(RebalanceEnded, at_ms, started_at_ms=19_900, **end)]
    found = merged({"g": facts_of(log)}, {"g": facts_of(TOPIC_OF_TWO)}, 100_000, 20_000)
    expected = [(4_000, "log"), (20_000, "topic")] + [(at_ms, "log")] * is_the_logs
    assert reported_of(found, "rebalance_ended") == expected


def test_a_member_that_the_log_only_thought_gone_stays() -> None:
    log = [
        *LOG_OF_ONE,
        gone(12_000, "a", 1),
        began(12_000, 2),
        observed(14_000, 1, "a"),
        joined(14_000, "a", is_inferred=True),
    ]
    found = both(log, TOPIC_OF_TWO)
    assert reported_of(found, "member_removed") == []
    assert reported_of(found, "member_joined") == [(1_000, "log"), (20_000, "topic")]


def test_of_an_offset_with_other_metadata_the_logs_holds() -> None:
    log = [*TOPIC_OF_TWO[:4], commit(5_000, 1, "log's")]
    found = both(log, [*TOPIC_OF_TWO[:4], commit(5_000, 1, "topic's")])
    assert reported_of(found, "offsets_committed") == [(5_000, "log")]
