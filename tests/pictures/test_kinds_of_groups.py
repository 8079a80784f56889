"""Timelines and owners of every kind of group, from either input: members are at work when they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import Period, period_of
from rollcall.answers.pictures.scene import Lanes
from rollcall.answers.pictures.slack import heartbeat_slack
from rollcall.answers.pictures.timeline import KINDS, rebalance, timeline
from rollcall.answers.why.explanation import explain
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.history.facts import effects_in, facts_of
from rollcall.history.holdings import holdings_of
from rollcall.history.kinds import AT_WORK, AWAITING, GIVING_UP, SYNCING, WAITING
from rollcall.history.rebalances import Span
from rollcall.schemas.effect_rows import EffectRow
from tests.offsets_topic.folded import CLASSIC, CONSUMER
from tests.requests import consumer_beat
from tests.views.histories import one_expires, one_leaves, two_members
from tests.views.story import Story
from tests.why.reading import capture, reader_of, topic
from tests.why.reading import recorded as rows_of

Q = "q-consumer-slow"
WITH_BOTH = ((CLASSIC, "parcels-track"), (CLASSIC, "rates-feed"), (Q, "csv-make"), (Q, "tiles-cache"), (Q, "pdf-make"))


def whole(group_id: str, rows: list[EffectRow]) -> Period:
    times = [row.at_ms or 0 for row in rows]
    return period_of(group_id, reader_of(rows), min(times) - 1, max(times) + 1)


def lasted(scene: Lanes) -> Counter[str]:
    found: Counter[str] = Counter()
    for bar in scene.bars:
        found[bar.kind] += bar.to_ms - bar.from_ms
    return found


def recorded() -> Iterator[tuple[str, str, list[EffectRow]]]:
    """Every group of the captures that have a topic, from either input."""
    for name in (CLASSIC, *CONSUMER):
        yield from ((f"{name} topic", group_id, rows) for group_id, rows in topic(name).items())
        yield from ((f"{name} log", group_id, rows) for group_id, rows in capture(name).items())


def kind_at(scene: Lanes, lane: str, at_ms: int) -> set[str]:
    place = scene.lanes.index(lane)
    return {bar.kind for bar in scene.bars if bar.lane == place and bar.from_ms <= at_ms < bar.to_ms}


def test_members_known_from_the_topic_alone_are_at_work_and_not_always_waiting() -> None:
    for group_id in topic(CLASSIC):
        found = lasted(timeline(whole(group_id, topic(CLASSIC)[group_id])))
        assert found[WAITING] == 0, group_id
        assert 0 < found[SYNCING] < 500, group_id
        assert found[AT_WORK] > 0.85 * found.total(), group_id


@pytest.mark.parametrize(("name", "group_id"), WITH_BOTH)
def test_both_inputs_say_the_same_of_who_was_at_work(name: str, group_id: str) -> None:
    log, dump = (lasted(timeline(whole(group_id, rows))) for rows in (capture(name)[group_id], topic(name)[group_id]))
    working_ms = [found[AT_WORK] + found["silent"] + found[GIVING_UP] for found in (log, dump)]
    assert min(working_ms) > 50_000
    assert abs(working_ms[0] - working_ms[1]) < 0.1 * max(working_ms)


@pytest.mark.parametrize("name", CONSUMER)
@pytest.mark.parametrize("source", ["log", "topic"])
def test_a_member_of_a_consumer_group_never_waits_for_joins_or_assignments(name: str, source: str) -> None:
    for group_id, rows in rows_of(source, name).items():
        scene = timeline(whole(group_id, rows))
        found = lasted(scene)
        assert found[WAITING] == found[SYNCING] == 0, group_id
        assert found[AT_WORK] > 0.5 * found.total(), group_id
        assert scene.bands
        assert all(band.label.startswith("epoch ") for band in scene.bands)


def test_who_holds_a_partition_outside_a_rebalance_is_at_work_in_every_recording() -> None:
    looked = 0
    for source, group_id, rows in recorded():
        if not rows:
            continue
        period = whole(group_id, rows)
        scene, facts = timeline(period), facts_of(reader_of(rows)(sorted({row.effect for row in rows}), 0, 2**53))
        over = [one for one in period.rebalances if one.outcome == "completed" and one.ended_at_ms is not None]
        for one in over:
            at_ms = (one.ended_at_ms or 0) + 1_000
            is_quiet = all(
                other.started_at_ms > at_ms or (other.ended_at_ms or 2**53) <= at_ms for other in period.rebalances
            )
            holders = {held.member_id for held in holdings_of(effects_in(facts)) if held.is_held_at(at_ms)}
            for member_id in holders if is_quiet else ():
                looked += 1
                kinds = kind_at(scene, period.names.of(member_id), at_ms)
                assert kinds & {AT_WORK, "silent"}, (source, group_id, at_ms, kinds)
    assert looked > 150


def test_a_fenced_member_gives_up_until_it_is_removed_and_the_other_waits_for_it() -> None:
    for rows in (capture(Q)["tiles-cache"], topic(Q)["tiles-cache"]):
        scene = timeline(whole("tiles-cache", rows))
        (held,) = [bar for bar in scene.bars if bar.kind == GIVING_UP and bar.to_ms - bar.from_ms > 9_000]
        assert scene.lanes[held.lane] == "tiles-cache-0"
        (expired,) = [mark for mark in scene.marks if mark.kind == "expired"]
        assert (expired.lane, expired.at_ms) == (held.lane, held.to_ms)
        assert "gave up too late" in expired.text
        assert any(bar.kind == AWAITING and bar.lane != held.lane for bar in scene.bars)


def test_a_member_that_came_back_under_its_id_has_a_bar_for_each_membership() -> None:
    scene = timeline(whole("csv-make", capture(Q)["csv-make"]))
    place = scene.lanes.index("csv-make-1")
    bars = sorted((bar.from_ms, bar.to_ms) for bar in scene.bars if bar.lane == place)
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(bars))
    assert len([mark for mark in scene.marks if mark.lane == place and mark.kind == "joined"]) == 3


def test_a_conversion_is_drawn_by_the_kind_that_the_group_was_of_at_the_time() -> None:
    story = Story("moving", config=GroupConfig(topics={"t1": 2}, group_initial_rebalance_delay_ms=0))
    story.join(1_000, "a")
    story.sync(5_000, "a", {"a": ["t1-0", "t1-1"]})
    story.send(6_000, consumer_beat("m1", 0, 6_000, "moving"))
    story.heartbeat(7_000, "a")
    scene = timeline(whole("moving", story.rows))
    assert kind_at(scene, "a", 4_000) == {SYNCING}
    assert kind_at(scene, "a", 5_500) == {AT_WORK}
    assert kind_at(scene, "m1", 6_000) == {AWAITING}
    assert scene.bands[-1].label.startswith("epoch ")


def test_a_member_found_by_a_recording_is_at_work_from_its_first_heartbeat_on() -> None:
    for story in (two_members(), one_expires(), one_leaves()):
        assert lasted(timeline(whole(story.group_id, story.rows)))[AT_WORK] > 0
    rows = [row for row in one_expires().rows if row.effect not in ("join_received", "sync_received")]
    rows = [row for row in rows if (row.effect, row.api) not in (("reply", "JoinGroup"), ("reply", "SyncGroup"))]
    scene = timeline(whole("expired", [row for row in rows if row.effect not in ("join_phase_ended", "assigned")]))
    assert kind_at(scene, "a", 1_500) == {WAITING}
    assert kind_at(scene, "a", 2_500) == {AT_WORK}


def test_every_rebalance_of_both_inputs_can_be_drawn_with_the_same_owners() -> None:
    drawn = 0
    for _, group_id, rows in recorded():
        ended = [row for row in rows if row.effect == "rebalance_ended"]
        for row in ended:
            at_ms = row.at_ms or 0
            scene = rebalance(explain(group_id, reader_of(rows), at=Span(at_ms, at_ms, "then")), reader_of(rows))
            assert {bar.kind for bar in scene.bars} <= KINDS.keys()
            drawn += 1
        if ended:
            period = whole(group_id, rows)
            assert ownership(period).bars
            assert heartbeat_slack(period) is not None
    assert drawn > 80
