"""A group's facts by the topic beside what its coordinator printed: which of the two says what."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.beside_growing_lines import LINES_KEPT_MS, MergingLines
from rollcall.inputs.offsets_topic.beside_lines import Before, Enriched, completed, enriched
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind, EndCause
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import CauseFound, Effect, MemberJoined, MemberRemoved, RebalanceEnded, RebalanceStarted
from tests.written_effects import effect

JOINED = effect(MemberJoined, 1_000, member_id="m", client_id="app-1", client_host="/10.0.0.7", is_inferred=True)


def cause(kind: CauseKind, *fits: CauseKind, member_id: str = "m", is_inferred: bool | None = None) -> Cause:
    return Cause(
        kind=kind,
        member_id=member_id,
        is_inferred=bool(fits) if is_inferred is None else is_inferred,
        candidates=tuple(CauseCandidate(kind=one, member_id=member_id) for one in fits),
    )


def ended(at_ms: int, generation_id: int, why: Cause, **fields: Any) -> RebalanceEnded:
    fields = {"started_at_ms": None, "from_generation_id": generation_id - 1, **fields}
    return effect(RebalanceEnded, at_ms, to_generation_id=generation_id, cause=why, **fields)


def as_facts(effects: list[Effect]) -> list[Fact]:
    return [Fact(one.at_ms, seq, str(one.__struct_config__.tag), content=one) for seq, one in enumerate(effects)]


def beside(topic: list[Effect], lines: list[Effect]) -> list[Effect]:
    """The topic's facts as they are beside the lines, behind what these add."""
    merging = MergingLines()
    merging.take(as_facts(lines), as_facts(topic))
    found = merging.decide(1 << 40)
    now = {fact.seq: one.effect for fact, one in found.topic_changed}
    now |= {fact.seq: fact.content for fact in found.topic_kept if fact.content is not None}
    return [*(one.effect for _, one in found.added), *(now[seq] for seq in sorted(now))]


def in_log(facts: list[Effect], lines: list[Effect]) -> Enriched:
    return enriched(Before(), facts, lines, range(len(facts)))


def only_rebalance(topic: list[Effect], lines: list[Effect]) -> RebalanceEnded:
    (found,) = (fact for fact in beside(topic, lines) if isinstance(fact, RebalanceEnded))
    return found


def test_a_generation_of_both_has_the_lines_beginning_and_cause_and_the_topics_names() -> None:
    line = ended(9_010, 3, cause(CauseKind.SESSION_EXPIRED), started_at_ms=7_000, slowest_member_id="m")
    removed = effect(MemberRemoved, 9_000, member_id="m", client_id="app-1", end_cause=EndCause.UNKNOWN)
    topic = [JOINED, ended(9_000, 3, Cause(kind=CauseKind.UNKNOWN), known_from_ms=8_900), removed]
    found = only_rebalance(topic, [line])
    assert (found.started_at_ms, found.known_from_ms, found.slowest_member_id) == (7_000, None, "m")
    assert (found.cause.kind, found.cause.client_id, found.cause.client_host) == (
        *(CauseKind.SESSION_EXPIRED, "app-1"),
        "/10.0.0.7",
    )


def test_the_topic_s_name_of_a_culprit_is_that_of_its_time() -> None:
    later = effect(MemberJoined, 99_000, member_id="m", client_id="app-2", client_host="/10.0.0.8")
    by_topic = Cause(kind=CauseKind.MEMBER_JOINED, member_id="m", client_id="app-1")
    found = only_rebalance(
        [JOINED, ended(9_000, 3, by_topic), later], [ended(9_010, 3, cause(CauseKind.MEMBER_JOINED))]
    )
    assert found.cause.client_id == "app-1"


def test_the_culprit_of_a_rebalance_that_the_topic_lacks_has_the_topics_names() -> None:
    """So has that of a compacted dump, whose members' records are later than the rebalances that lines add."""
    line = ended(500, 3, cause(CauseKind.MEMBER_JOINED), started_at_ms=400)
    began = effect(RebalanceStarted, 400, from_generation_id=2, cause=line.cause)
    merging = MergingLines()
    merging.take(as_facts([began, line]), as_facts([JOINED]))
    (added,) = (one for _, (one, _) in merging.end(1_000).added if isinstance(one, RebalanceEnded))
    assert (added.cause.client_id, added.cause.client_host) == ("app-1", "/10.0.0.7")


def test_changes_of_several_generations_are_not_those_of_the_last() -> None:
    first = ended(8_000, 1, cause(CauseKind.MEMBER_JOINED), members_before=0, members_after=2, joined=["a", "b"])
    last = ended(
        9_010, 2, cause(CauseKind.SESSION_EXPIRED), members_before=2, members_after=2, joined=["c"], expired=["a"]
    )
    topic = ended(
        9_000,
        2,
        Cause(kind=CauseKind.UNKNOWN),
        from_generation_id=0,
        members_before=0,
        members_after=2,
        joined=["c", "b"],
    )
    added, found = (fact for fact in beside([topic], [first, last]) if isinstance(fact, RebalanceEnded))
    assert added == first
    assert (found.from_generation_id, found.members_before, found.members_after) == (1, 2, 2)
    assert (found.joined, found.expired) == (["c"], ["a"])


def test_one_of_another_time_is_another_one() -> None:
    topic = ended(9_000, 3, Cause(kind=CauseKind.UNKNOWN), known_from_ms=8_900)
    line = ended(900_000, 3, cause(CauseKind.SESSION_EXPIRED), started_at_ms=899_000)
    found = enriched(Before(), [topic], [line])
    assert (found.changed, found.in_both) == ({}, 0)


def begun_twice(at_ms: int = 8_000) -> list[Effect]:
    """A rebalance that a coordinator begins, and one that the next coordinator begins at this time."""
    return [
        ended(at_ms, 3, cause(CauseKind.MEMBER_JOINED), started_at_ms=7_000, outcome="unknown"),
        ended(9_000, 3, cause(CauseKind.SESSION_EXPIRED), started_at_ms=at_ms),
    ]


def test_of_two_rebalances_to_one_generation_each_is_the_nearest() -> None:
    first, second = begun_twice()
    unknown = Cause(kind=CauseKind.UNKNOWN)
    in_requests: list[Effect] = [
        effect(RebalanceStarted, 7_003, from_generation_id=2, cause=unknown),
        ended(8_003, 2, unknown, from_generation_id=2, started_at_ms=7_003, outcome="superseded"),
        effect(RebalanceStarted, 7_997, from_generation_id=2, cause=unknown),
        ended(9_003, 3, unknown, started_at_ms=7_997),
    ]
    found = in_log(in_requests, [first, second])
    assert [found.printed[place] for place in range(4)] == [(first,), (first,), (second,), (second,)]
    in_topic = ended(9_100, 3, unknown, known_from_ms=8_900)
    assert enriched(Before(), [in_topic], [first, second]).printed == {0: (second,)}


def test_of_rebalances_that_are_as_near_each_is_evidence_and_none_is_the_cause() -> None:
    """Printed times may have whole seconds."""
    lines = begun_twice(at_ms=7_000)
    began = effect(RebalanceStarted, 7_300, from_generation_id=2, cause=Cause(kind=CauseKind.UNKNOWN))
    found = in_log([began], lines)
    assert (found.printed, found.changed) == ({0: (*lines,)}, {})


def test_the_lines_of_what_a_request_log_knows_as_well_are_evidence_too() -> None:
    why, fields = cause(CauseKind.SESSION_EXPIRED), {"member_id": "m", "end_cause": EndCause.SESSION_EXPIRED}

    def facts(late_ms: int) -> list[Effect]:
        return [
            effect(MemberRemoved, 7_000 + late_ms, **fields),
            effect(RebalanceStarted, 7_000 + late_ms, from_generation_id=2, cause=why),
            ended(9_000 + late_ms, 3, why, started_at_ms=7_000 + late_ms),
        ]

    in_requests, lines = facts(0), facts(1)
    found = in_log(in_requests, lines)
    assert [found.changed[place] for place in range(3)] == in_requests
    assert [found.by[place] for place in range(3)] == lines


def test_a_rebalance_that_a_coordinator_gave_up_does_not_run() -> None:
    why = cause(CauseKind.MEMBER_JOINED)
    began = effect(RebalanceStarted, 7_000, from_generation_id=2, cause=why)
    given_up = ended(8_000, 2, why, from_generation_id=2, started_at_ms=7_000, outcome="superseded")
    merging = MergingLines(topic_from_seq=9)
    merging.take([], as_facts([began, given_up]))
    merging.end(8_000)
    assert merging.group.running == []


def test_what_the_topic_proves_is_not_given_up_for_what_lines_leave_open() -> None:
    open_cause = cause(CauseKind.UNKNOWN, CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT)
    for by_topic in (cause(CauseKind.MEMBER_JOINED), cause(CauseKind.POLL_TIMEOUT, is_inferred=True)):
        line = ended(9_000, 3, open_cause, started_at_ms=8_000)
        assert only_rebalance([ended(9_000, 3, by_topic, known_from_ms=9_000)], [line]).cause == by_topic


def test_a_member_went_when_and_how_the_lines_say() -> None:
    topic: list[Effect] = [
        JOINED,
        effect(MemberRemoved, 8_900, member_id="m", client_id="app-1", end_cause=EndCause.UNKNOWN, is_inferred=True),
        ended(9_000, 3, Cause(kind=CauseKind.UNKNOWN), known_from_ms=8_900, gone=("app-1",)),
        CauseFound(
            at_ms=9_500,
            to_generation_id=3,
            gone_at_ms=8_900,
            member_id="m",
            client_id="app-1",
            cause=cause(CauseKind.MEMBER_LEFT, is_inferred=True),
        ),
    ]
    line = effect(MemberRemoved, 7_000, member_id="m", end_cause=EndCause.SESSION_EXPIRED)
    _, removed, found = beside(topic, [line])
    assert isinstance(removed, MemberRemoved)
    assert isinstance(found, RebalanceEnded)
    assert (removed.at_ms, removed.end_cause, removed.is_inferred) == (7_000, EndCause.SESSION_EXPIRED, False)
    assert (found.expired, found.gone) == (["app-1"], ())


def test_a_member_was_one_from_its_line_on() -> None:
    (joined,) = beside([JOINED], [effect(MemberJoined, 400, member_id="m")])
    assert (joined.at_ms, isinstance(joined, MemberJoined) and joined.is_inferred) == (400, False)


def test_generations_that_the_topic_has_no_record_of_come_from_the_lines() -> None:
    lines: list[Effect] = [ended(at_ms, number, cause(CauseKind.MEMBER_REJOINED)) for at_ms, number in ((5, 3), (7, 4))]
    topic = ended(7, 4, Cause(kind=CauseKind.UNKNOWN), from_generation_id=2, known_from_ms=7)
    found = [fact for fact in beside([topic], lines) if isinstance(fact, RebalanceEnded)]
    assert [(one.from_generation_id, one.to_generation_id) for one in found] == [(2, 3), (3, 4)]


def test_an_epochs_beginning_has_the_same_cause_as_its_end() -> None:
    line = ended(8_000, 3, cause(CauseKind.SUBSCRIPTION_CHANGED), started_at_ms=8_000, outcome="unknown")
    begun = effect(RebalanceStarted, 8_001, from_generation_id=2, cause=Cause(kind=CauseKind.UNKNOWN))
    topic: list[Effect] = [begun, ended(9_000, 3, begun.cause, started_at_ms=8_001)]
    kinds = [fact.cause.kind for fact in beside(topic, [line]) if isinstance(fact, RebalanceStarted | RebalanceEnded)]
    assert kinds == [CauseKind.SUBSCRIPTION_CHANGED, CauseKind.SUBSCRIPTION_CHANGED]


def test_lines_by_which_a_member_went_are_not_believed_where_the_topic_still_has_it() -> None:
    line = ended(29_010, 3, cause(CauseKind.SESSION_EXPIRED), started_at_ms=28_000)
    topic = ended(29_000, 3, Cause(kind=CauseKind.UNKNOWN), known_from_ms=27_000)
    removed = effect(MemberRemoved, 29_000, member_id="m", client_id="app-1", end_cause=EndCause.UNKNOWN)
    later = replace(removed, at_ms=90_000)
    static = replace(JOINED, group_instance_id="i")
    unknown, expired = CauseKind.UNKNOWN, CauseKind.SESSION_EXPIRED
    for joined, gone, kind in ((JOINED, removed, expired), (JOINED, later, unknown), (static, later, expired)):
        assert only_rebalance([joined, topic, gone], [line]).cause.kind is kind


def test_a_rebalance_that_runs_as_a_log_ends_has_the_lines_end() -> None:
    began = effect(RebalanceStarted, 7_000, from_generation_id=2, cause=cause(CauseKind.MEMBER_LEFT), members_before=3)
    line = ended(9_000, 3, cause(CauseKind.UNKNOWN, CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT), started_at_ms=7_001)
    assert in_log([began], [line]).changed.get(0, began) == began
    assert completed(began, [line]) == replace(line, started_at_ms=7_000, cause=began.cause, members_before=3)
    later = ended(20_000, 4, cause(CauseKind.MEMBER_JOINED), started_at_ms=19_000)
    without_end = completed(began, [later])
    assert without_end is not None
    assert (without_end.to_generation_id, without_end.is_end_known) == (3, False)
    assert completed(began, []) is None


def test_lines_count_where_a_log_only_infers() -> None:
    line = ended(9_010, 3, cause(CauseKind.SESSION_EXPIRED), started_at_ms=7_000, slowest_member_id="m")
    stated = ended(9_000, 3, cause(CauseKind.MEMBER_LEFT), started_at_ms=6_999)
    inferred = replace(stated, cause=cause(CauseKind.MEMBER_LEFT, is_inferred=True))
    assert in_log([stated], [line]).changed.get(0, stated) == stated
    found = in_log([inferred], [line]).changed[0]
    assert isinstance(found, RebalanceEnded)
    assert (found.cause.kind, found.started_at_ms, found.slowest_member_id) == (CauseKind.SESSION_EXPIRED, 6_999, None)


def test_lines_are_kept_until_the_topic_has_the_group() -> None:
    merging, line = MergingLines(), ended(9_010, 3, cause(CauseKind.SESSION_EXPIRED), started_at_ms=7_000)
    merging.take([Fact(9_010, 1, EffectName.REBALANCE_ENDED, content=line)], [])
    merging.decide(10_000)
    assert (merging.group.lines, merging.group.until_ms) == ([(line, "")], 10_000)
    merging.decide(9_011 + LINES_KEPT_MS)
    assert not merging.group.lines


def test_beginnings_without_an_end_do_not_gather() -> None:
    merging = MergingLines()
    for number in range(1, 20):
        at_ms = number * LINES_KEPT_MS
        began = effect(RebalanceStarted, at_ms, from_generation_id=number, cause=cause(CauseKind.MEMBER_JOINED))
        merging.take([], as_facts([began]))
        merging.decide(at_ms + 1)
    assert [one.from_generation_id for one in merging.group.running] == [19]


def test_every_beginning_that_the_topic_has_without_an_end_has_the_lines_end_and_a_late_end_is_left_out() -> None:
    lines: list[Effect] = [
        ended(9_000, 3, cause(CauseKind.MEMBER_JOINED), started_at_ms=7_000),
        ended(29_000, 4, cause(CauseKind.MEMBER_LEFT), started_at_ms=27_000),
    ]
    topic: list[Effect] = [
        effect(RebalanceStarted, at_ms, from_generation_id=number, cause=Cause(kind=CauseKind.UNKNOWN))
        for at_ms, number in ((7_000, 2), (27_000, 3), (47_000, 4))
    ]
    merging = MergingLines()
    merging.take(as_facts(lines), as_facts(topic))
    found = [one.effect for _, one in merging.decide(60_000).added]
    assert [(one.at_ms, one.to_generation_id) for one in found if isinstance(one, RebalanceEnded)] == [
        (9_000, 3),
        (29_000, 4),
    ]
    late = as_facts([ended(61_000, 4, cause(CauseKind.MEMBER_LEFT), started_at_ms=27_000)])
    merging.take([], late)
    assert merging.decide(70_000).topic_left_out == late


def test_a_generation_of_lines_waits_until_the_topic_has_the_group_in_it_or_later() -> None:
    merging = MergingLines()
    merging.take(
        as_facts([ended(9_000, 3, cause(CauseKind.MEMBER_LEFT), started_at_ms=7_000)]),
        as_facts([ended(1_000, 2, Cause(kind=CauseKind.UNKNOWN), known_from_ms=900)]),
    )
    assert merging.decide(60_000).added == []
    merging.take([], as_facts([ended(61_000, 5, Cause(kind=CauseKind.UNKNOWN), known_from_ms=60_900)]))
    assert [seq for seq, _ in merging.decide(60_000).added] == [1]


def test_lines_that_the_topic_contradicts_add_nothing() -> None:
    merging = MergingLines()
    by_topic = [
        ended(at_ms, at_ms // 30_000, Cause(kind=CauseKind.UNKNOWN), known_from_ms=at_ms) for at_ms in (30_000, 60_000)
    ]
    forged = ended(45_000, 7, cause(CauseKind.SESSION_EXPIRED), started_at_ms=44_000)
    merging.take(as_facts([forged]), as_facts([*by_topic]))
    assert merging.decide(90_000).added == []
