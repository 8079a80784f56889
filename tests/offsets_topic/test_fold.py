"""A group's records in order: what each of them adds to its history, and that none of them ever stops it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import force_setattr

from rollcall.inputs.offsets_topic.history.fold import apply, finish
from rollcall.inputs.offsets_topic.history.state import DocumentError, History, read_document, write_document
from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import (
    GroupKey,
    OffsetCommitKey,
    RecordKey,
    RegularExpressionKey,
    RegularExpressionValue,
)
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import GroupTypeChanged, PatternsResolved, TargetAssigned
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import (
    Assigned,
    CauseFound,
    GroupFound,
    GroupNotCovered,
    GroupRemoved,
    MemberJoined,
    MemberRemoved,
    OffsetsCommitted,
    OffsetsRemoved,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
)
from tests.examples import examples
from tests.offsets_topic.by_hand import (
    TOPIC_ID,
    G,
    T,
    classic,
    commit,
    epoch,
    forming,
    generation,
    gone,
    last_cause,
    member,
    record,
    step,
    target_epoch,
)
from tests.offsets_topic.folded import fold


def test_a_connect_group_keeps_its_protocol_type_and_its_bytes_stay_opaque() -> None:
    worker = classic("worker-1", bytes_=b"\x00\x01connect")
    folded = fold([generation(0, 0), generation(9_000, 1, worker, protocol_type="connect")])
    assigned = folded.of(G, Assigned)[0]
    assert (assigned.partitions, assigned.assignment) == (None, b"\x00\x01connect")
    assert folded.of(G, StateChanged)[-1].protocol_type == "connect"


def test_members_bytes_that_cannot_be_read_leave_what_they_hold_open() -> None:
    broken = classic("a", bytes_=b"\xff")
    folded = fold([generation(0, 0), generation(9_000, 1, broken)])
    assert [one.partitions for one in folded.of(G, Assigned)] == [None]


def test_generations_that_died_before_their_assignment_leave_the_cause_open() -> None:
    folded = fold([generation(0, 0), generation(9_000, 1, classic("a", 0)), generation(20_000, 4, classic("a", 0))])
    ended = folded.of(G, RebalanceEnded)[-1]
    assert (ended.from_generation_id, ended.to_generation_id, ended.cause.kind) == (1, 4, "unknown")
    assert {"member_joined", "session_expired", "sync_timeout"} <= {one.kind for one in ended.cause.candidates}


def test_a_generation_with_the_same_members_and_more_partitions_came_of_changed_metadata() -> None:
    folded = fold([generation(0, 0), generation(9_000, 1, classic("a", 0)), generation(20_000, 2, classic("a", 0, 1))])
    assert (last_cause(folded).kind, last_cause(folded).is_inferred) == ("metadata_changed", True)


def test_a_generation_with_nothing_new_leaves_open_what_it_came_of() -> None:
    folded = fold([generation(0, 0), generation(9_000, 1, classic("a", 0)), generation(20_000, 2, classic("a", 0))])
    assert last_cause(folded).kind == "unknown"
    assert [one.kind for one in last_cause(folded).candidates] == ["member_rejoined", "metadata_changed"]


def test_of_several_that_came_nobody_is_named_and_all_are_candidates() -> None:
    first, *later = [classic(name, place) for place, name in enumerate("abc")]
    alone = classic("a", 0, 1, 2)
    folded = fold([generation(0, 0), generation(9_000, 1, alone), generation(20_000, 2, first, *later)])
    cause = last_cause(folded)
    assert (cause.kind, cause.member_id) == ("member_joined", "")
    assert [one.client_id for one in cause.candidates] == ["b", "c"]


def test_who_joined_an_empty_group_first_is_not_known_where_that_generation_got_no_assignment() -> None:
    """A generation 1 of a, which left before it sent its assignment, was not written."""
    folded = fold([generation(0, 0), generation(9_000, 2, classic("b", 0))])
    cause = last_cause(folded)
    assert (cause.kind, cause.member_id, cause.is_inferred) == ("member_joined", "", True)


def test_an_epoch_with_another_hash_and_nobody_s_record_came_of_changed_metadata() -> None:
    folded = fold([*forming(0, "a"), epoch(5_000, 3, hash_=8)])
    assert (last_cause(folded).kind, last_cause(folded).is_inferred) == ("metadata_changed", False)


def test_an_epoch_after_a_pattern_s_record_came_of_its_resolution() -> None:
    key = RegularExpressionKey(group=G, regular_expression="T.*")
    pattern = record(16, 5_000, key, RegularExpressionValue(topics=[T], version=1, timestamp=4_990))
    folded = fold([*forming(0, "a"), pattern, epoch(5_000, 3)])
    assert last_cause(folded).kind == "pattern_resolved"
    assert [(one.pattern, one.topics) for one in folded.of(G, PatternsResolved)[0].patterns] == [("T.*", [T])]


def test_an_epoch_after_a_member_s_other_subscription_came_of_it() -> None:
    folded = fold([*forming(0, "a"), member(5_000, "a", T, "U"), epoch(5_000, 3, hash_=8)])
    assert (last_cause(folded).kind, last_cause(folded).client_id) == ("subscription_changed", "a")


@pytest.mark.parametrize(
    ("after_ms", "kind", "joined"), [(300, "member_joined", ["b"]), (6_000, "subscription_changed", [])]
)
def test_a_member_that_joined_before_it_knew_its_topics_brings_the_epoch_by_coming(
    after_ms: int, kind: str, joined: list[str]
) -> None:
    came = [member(5_000, "b"), step(5_000, "b", 2)]
    says = [member(5_000 + after_ms, "b", T), epoch(5_000 + after_ms, 3)]
    (started,) = [
        one for one in fold([*forming(0, "a"), *came, *says]).of(G, RebalanceStarted) if one.from_generation_id == 2
    ]
    assert (started.cause.kind, started.cause.client_id) == (kind, "b")
    assert started.members_before == 2 - len(joined)


def test_members_that_one_request_removed_were_removed_by_an_administrator() -> None:
    folded = fold([*forming(0, "a", "b", "c"), *gone(60_000, "b", "c"), epoch(60_000, 5)])
    assert [one.end_cause for one in folded.of(G, MemberRemoved)] == ["admin_removed"] * 2
    assert last_cause(folded).kind == "admin_removed"


def test_two_requests_of_one_millisecond_are_two_epochs() -> None:
    folded = fold([*forming(0, "a", "b", "c"), *gone(9_000, "b"), epoch(9_000, 5), *gone(9_000, "c"), epoch(9_000, 6)])
    assert [one.cause.client_id for one in folded.of(G, RebalanceStarted)[-2:]] == ["b", "c"]
    assert [one.outcome for one in folded.of(G, RebalanceEnded)][-1:] == ["superseded"]


def test_a_member_whose_id_comes_back_was_not_closed_and_that_is_reported_later() -> None:
    away = [*forming(0, "a", "b"), *gone(309_000, "b"), epoch(309_000, 4)]
    folded = fold([*away, member(311_000, "b", T), epoch(311_000, 5)])
    reported = next(one for one in folded.of(G, RebalanceStarted) if one.from_generation_id == 3)
    assert {one.kind for one in reported.cause.candidates} == {"member_left", "poll_timeout", "session_expired"}
    found = folded.of(G, CauseFound)[0]
    assert (found.to_generation_id, found.client_id, found.cause.kind) == (4, "b", "poll_timeout")
    assert found.cause.is_inferred


def test_an_epoch_that_does_not_follow_is_a_group_found_anew() -> None:
    folded = fold([*forming(0, "a"), epoch(5_000, 9)])
    assert [(one.generation_id, one.at_ms) for one in folded.of(G, GroupFound)] == [(9, 5_000)]


def test_a_commit_is_its_owner_s_and_one_fact_for_all_partitions_of_one_request() -> None:
    records = [generation(0, 0), generation(9_000, 1, classic("a", 0, 1), classic("b", 2))]
    folded = fold([*records, commit(10_000, 0), commit(10_000, 1), commit(10_000, 2), commit(11_000, 9)])
    reported = [(one.member_id, [o.partition for o in one.offsets]) for one in folded.of(G, OffsetsCommitted)]
    assert reported == [("a-id", [0, 1]), ("b-id", [2]), ("", [9])]


def test_a_commit_of_a_consumer_group_is_found_by_the_topic_s_id() -> None:
    folded = fold([*forming(0, "a"), commit(500, 1, TOPIC_ID)])
    assert [one.member_id for one in folded.of(G, OffsetsCommitted)] == ["a-id"]


def test_a_commit_without_the_topic_s_id_is_its_owner_s_by_a_name_that_only_later_records_have() -> None:
    folded = fold([*forming(0, "a"), commit(500, 1), commit(600, 1, TOPIC_ID)])
    assert [one.member_id for one in folded.of(G, OffsetsCommitted)] == ["a-id", "a-id"]


def test_an_offset_that_is_gone_at_once_was_deleted_and_one_gone_later_may_have_expired() -> None:
    tombstone = record(1, 20_000, OffsetCommitKey(group=G, topic=T, partition=0), None)
    late = record(1, 10**9, OffsetCommitKey(group=G, topic=T, partition=1), None)
    folded = fold([commit(0, 0), commit(0, 1), tombstone, late])
    assert [one.why for one in folded.of(G, OffsetsRemoved)] == ["deleted", "unknown"]


def test_a_group_of_another_kind_is_reported_once_as_not_covered() -> None:
    share = Record(0, 0, 5, 11, RecordKey(group=G), None, is_covered=False)
    streams = Record(0, 1, 6, 17, RecordKey(group="flow"), None, is_covered=False)
    folded = fold([share, share._replace(offset=2), streams])
    assert [one.why for one in folded.of(G, GroupNotCovered)] == ["share"]
    assert [one.why for one in folded.of("flow", GroupNotCovered)] == ["streams"]


def test_tombstones_of_what_was_never_seen_tell_no_more_than_they_know() -> None:
    folded = fold([*gone(5, "a"), record(3, 5, GroupKey(group=G), None)])
    assert [(one.why, one.generation_id) for one in folded.of(G, GroupRemoved)] == [("unknown", 0)]
    assert folded.of(G, MemberRemoved) == []


def test_half_of_a_conversion_at_the_end_of_a_dump_is_reported_as_the_groups_end() -> None:
    folded = fold([generation(0, 0), generation(9_000, 1, classic("a", 0)), record(2, 20_000, GroupKey(group=G), None)])
    assert [one.client_id for one in folded.of(G, MemberRemoved)] == ["a"]
    assert len(folded.of(G, GroupRemoved)) == 1
    assert folded.of(G, GroupTypeChanged) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [("[]", "not a JSON object"), ('{"v":9}', "version 9"), ("{", "cannot be read"), ('{"v":1}', "group_id")],
)
def test_a_document_that_cannot_be_read_says_why(text: str, why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        read_document(text)


NAMES = st.sampled_from("abc")
MOMENTS = st.integers(0, 3).map(lambda place: place * 40_000)
PARTITIONS = st.lists(st.integers(0, 3), max_size=3, unique=True)
RECORDS = st.one_of(
    st.builds(
        lambda at, number, who: generation(at, number, *(classic(name, place) for place, name in enumerate(who))),
        MOMENTS,
        st.integers(0, 4),
        st.lists(NAMES, max_size=3, unique=True),
    ),
    st.builds(lambda at: record(2, at, GroupKey(group=G), None), MOMENTS),
    st.builds(lambda at: record(3, at, GroupKey(group=G), None), MOMENTS),
    st.builds(epoch, MOMENTS, st.integers(1, 6), st.integers(0, 2)),
    st.builds(target_epoch, MOMENTS, st.integers(1, 6)),
    st.builds(lambda at, name, topics: member(at, name, *topics), MOMENTS, NAMES, st.sampled_from([[], [T], [T, "U"]])),
    st.builds(
        lambda at, name, number, held: step(at, name, number, *held), MOMENTS, NAMES, st.integers(-2, 6), PARTITIONS
    ),
    st.builds(lambda at, name, place: gone(at, name)[place], MOMENTS, NAMES, st.integers(0, 2)),
    st.builds(commit, MOMENTS, st.integers(0, 3), st.sampled_from([None, TOPIC_ID])),
    st.builds(
        lambda at, number: record(1, at, OffsetCommitKey(group=G, topic=T, partition=number), None),
        MOMENTS,
        st.integers(0, 3),
    ),
)


@examples(100, 600)
@given(st.lists(RECORDS, max_size=40), st.booleans())
def test_records_in_any_order_lead_to_facts_and_never_to_an_error(records: list[Record], is_in_order: bool) -> None:
    """A topic that was compacted, cut or written by another version holds any of them beside any other."""
    history = History(group_id=G)
    if is_in_order:
        records.sort(key=lambda one: one.timestamp_ms)
    reported = []
    for one in records:
        reported += [shown.effect for shown in apply(history, [one], {})]
        history = read_document(write_document(history))
    reported += [shown.effect for shown in finish(history, {})]
    for place, effect in enumerate(reported):
        assert row_of(effect, place).at_ms is not None
    held = [(name, n) for one in history.members.values() for name, numbers in one.held.items() for n in numbers]
    assert len(held) == len(set(held)) or history.group_type != "consumer"


@pytest.mark.parametrize(
    ("silence_ms", "kinds"),
    [
        (40_000, {"static_member_replaced"}),
        (60_000, {"static_member_replaced", "session_expired", "member_joined"}),
    ],
)
def test_a_static_member_that_has_another_id_after_its_session_may_have_expired(
    silence_ms: int, kinds: set[str]
) -> None:
    """Its place is taken only while it is a member; else it comes anew into the rebalance that its end began."""
    old, new = classic("old", 0), classic("new", 0)
    force_setattr(old, "group_instance_id", "pod")
    force_setattr(new, "group_instance_id", "pod")
    folded = fold([generation(0, 0), generation(1_000, 1, old), generation(1_000 + silence_ms, 2, new)])
    cause = last_cause(folded)
    assert ({one.kind for one in cause.candidates} or {cause.kind}) == kinds
    [removed] = folded.of(G, MemberRemoved)
    assert (removed.is_inferred, removed.end_cause) == (
        (False, "static_member_replaced") if len(kinds) == 1 else (True, "unknown")
    )


@pytest.mark.parametrize(("silence_ms", "end"), [(40_000, "static_member_replaced"), (60_000, "unknown")])
def test_so_may_one_that_has_another_id_when_its_group_is_upgraded(silence_ms: int, end: str) -> None:
    old, at_ms = classic("old", 0), 1_000 + silence_ms
    force_setattr(old, "group_instance_id", "pod")
    upgrade = [record(2, at_ms, GroupKey(group=G), None), member(at_ms, "new", T, instance_id="pod"), epoch(at_ms, 1)]
    folded = fold([generation(0, 0), generation(1_000, 1, old), *upgrade, target_epoch(at_ms, 1)])
    [removed] = folded.of(G, MemberRemoved)
    assert removed.end_cause == end
    joined = folded.of(G, MemberJoined)[-1]
    assert (joined.member_id, joined.replaces_member_id) == ("new-id", "old-id" if end != "unknown" else None)


# ---------------------------------------------------------------- what Kafka 4.4 writes that 4.3 does not


def test_an_empty_group_is_assigned_nothing() -> None:
    folded = fold([*forming(0, "one"), *gone(60_000, "one"), epoch(60_000, 3), target_epoch(60_000, 3)])
    assert [assigned.generation_id for assigned in folded.of(G, TargetAssigned)] == [2]


def test_a_member_that_asks_for_another_assignor_raises_the_epoch() -> None:
    folded = fold([*forming(0, "one"), member(60_000, "one", T, vote="range"), epoch(60_000, 3)])
    cause = last_cause(folded)
    assert (cause.kind, cause.client_id, cause.is_inferred) == (CauseKind.SUBSCRIPTION_CHANGED, "one", False)


def test_a_vote_beside_changed_topics_is_not_the_cause() -> None:
    folded = fold([*forming(0, "one"), member(60_000, "one", T, vote="range"), epoch(60_000, 3, hash_=8)])
    assert last_cause(folded).kind == CauseKind.METADATA_CHANGED
