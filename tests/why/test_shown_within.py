"""What is shown of a rebalance lies within it: each moment, duration and bar, of every recorded incident."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import period_of
from rollcall.answers.pictures.scene import Lanes
from rollcall.answers.pictures.slack import heartbeat_slack
from rollcall.answers.pictures.timeline import rebalance as picture_of
from rollcall.answers.pictures.timeline import timeline
from rollcall.answers.why.explanation import AFTERWARDS_MS, Explanation, explain
from rollcall.answers.why.past import Read, past_of
from rollcall.answers.why.sections import lines_of
from rollcall.answers.why.slack import last_request
from rollcall.history.facts import effects_in, facts_of
from rollcall.history.kinds import CLASSIC
from rollcall.history.members import Membership, Names
from rollcall.history.parts import culprit_among, parts_of
from rollcall.history.rebalances import Rebalance, Span, rebalances_of
from rollcall.schemas.causes import Cause, CauseKind
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import SyncReceived
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.pictures.small import period
from tests.views.histories import one_expires
from tests.views.random_lives import by_log
from tests.why.reading import CAPTURES, as_columns, reader_of, recorded

LOGS = sorted(path.parent.name for path in CAPTURES.glob("*/requests.log.gz"))
INCIDENTS = [*(("log", name) for name in LOGS), *(("topic", name) for name in DUMPS)]
AFTER_ITS_END = ("synced", "back")
"""What a member may do after a classic rebalance is over."""


def explained(source: str, name: str) -> Iterator[tuple[Explanation, Read]]:
    for group_id, rows in recorded(source, name).items():
        read = reader_of(rows)
        for one in rebalances_of(effects_in(facts_of(map(as_columns, rows)))):
            yield explain(group_id, read, at=Span(one.started_at_ms, one.started_at_ms, "then")), read


def outside(e: Explanation, read: Read) -> Iterator[object]:
    """What is shown of a rebalance and lies outside of it, or of its members' memberships."""
    began_ms, known_ms = e.rebalance.started_at_ms, e.known_until_ms
    end_ms = known_ms if e.rebalance.ended_at_ms is None else e.rebalance.ended_at_ms
    if not e.round_from_ms <= began_ms <= end_ms <= known_ms:
        yield "the rebalance"
    yield from _parts_outside(e, past_of(read).memberships, end_ms)
    yield from (one for one, ms in e.unheld_ms.items() if not 0 <= ms <= known_ms - e.round_from_ms)
    yield from (move for move in e.moves if not end_ms <= (move.back_at_ms or end_ms) <= end_ms + AFTERWARDS_MS)
    if e.join_phase_ended_ms is not None and not began_ms <= e.join_phase_ended_ms <= end_ms:
        yield "the join phase"
    if e.standstill is not None:
        from_ms, to_ms = e.standstill
        is_whole = to_ms is None or from_ms <= to_ms <= known_ms
        if not (is_whole and from_ms <= end_ms and (to_ms is None or to_ms >= e.round_from_ms)):
            yield e.standstill
    if e.silent_since_ms is not None:
        is_members = e.culprit is not None and e.culprit.joined_at_ms <= e.silent_since_ms
        if not is_members or e.silent_since_ms > began_ms:
            yield "the silence"
    yield from _lines_outside(e, end_ms)


def _parts_outside(e: Explanation, memberships: list[Membership], end_ms: int) -> Iterator[object]:
    began_ms, after = e.rebalance.started_at_ms, e.followed_by
    next_ms = e.known_until_ms if after is None else after.started_at_ms
    for part in e.parts:
        own = [one for one in memberships if one.member_id == part.member_id]
        for key, at_ms in part.moments.items():
            is_of_member = not part.is_member or any(one.is_member_in(at_ms, at_ms) for one in own)
            if not (began_ms <= at_ms <= (next_ms if key in AFTER_ITS_END else end_ms) and is_of_member):
                yield part
        done = [part.moments[key] for key in ("rejoined", "synced", "back") if key in part.moments]
        if done != sorted(done) or not 0 <= (part.held_others_ms or 0) <= end_ms - began_ms:
            yield part
    for slack in e.slack:
        to_ms = slack.silent_from_ms + slack.silent_ms
        own = [one for one in memberships if e.names.of(one.member_id) == slack.name]
        if not any(one.is_member_in(slack.silent_from_ms, slack.silent_from_ms) for one in own) or to_ms > end_ms:
            yield slack
        if slack.left_ms < 0 and not any("expired" in (one.end_cause or "") for one in own):
            yield slack


def _lines_outside(e: Explanation, end_ms: int) -> Iterator[object]:
    first_ms = e.round_from_ms if e.silent_since_ms is None else min(e.silent_since_ms, e.round_from_ms)
    last_ms = max([end_ms, *(part.moments.get(e.kind.back, 0) for part in e.parts)])
    for line in lines_of(e):
        from_ms = {"timeline": first_ms, "member": e.rebalance.started_at_ms}.get(line.part)
        if line.at_ms is not None and from_ms is not None and not from_ms <= line.at_ms <= last_ms:
            yield line
        if (line.duration_ms or 0) < 0 and line.part != "slack":
            yield line


def outside_frame(scene: Lanes) -> Iterator[object]:
    """What of a picture lies outside of its frame, and bars and bands upon each other."""
    spans = [(bar.from_ms, bar.to_ms) for bar in scene.bars] + [(band.from_ms, band.to_ms) for band in scene.bands]
    spans += [(mark.at_ms, mark.at_ms) for mark in scene.marks] + [(line_ms, line_ms) for line_ms in scene.lines]
    yield from (span for span in spans if not scene.from_ms <= span[0] <= span[1] <= scene.to_ms)
    yield from (pair for pair in pairwise(scene.bands) if pair[0].to_ms > pair[1].from_ms)
    in_order = sorted(scene.bars, key=lambda bar: (bar.lane, bar.from_ms, bar.to_ms))
    for _, bars in groupby(in_order, key=lambda bar: bar.lane):
        yield from (pair for pair in pairwise(bars) if pair[0].to_ms > pair[1].from_ms)


@pytest.mark.parametrize(("source", "name"), INCIDENTS)
def test_what_is_shown_of_a_rebalance_lies_within_it(source: str, name: str) -> None:
    count = 0
    for e, read in explained(source, name):
        assert [*outside(e, read)] == [], (e.group_id, e.rebalance)
        count += 1
    assert count > 2


def check_members(e: Explanation, read: Read) -> None:
    """Those listed are as many as were counted. One whose end superseded the rebalance is counted after it too."""
    one, members = e.rebalance, [part for part in e.parts if part.is_member]
    lives = past_of(read).memberships
    went = {each.member_id for each in lives if each.ended_at_ms == one.ended_at_ms and one.outcome == "superseded"}
    before = [part.name for part in members if not part.is_new]
    after = [part.name for part in members if part.end_cause is None or part.member_id in went]
    if one.members_before is not None and one.is_start_known:
        assert len(before) == one.members_before, (e.group_id, one, before)
    if one.members_after is not None and one.ended_at_ms is not None:
        assert len(after) == one.members_after, (e.group_id, one, after)


@pytest.mark.parametrize(("source", "name"), INCIDENTS)
def test_those_listed_as_members_are_as_many_as_were_counted_before_and_after(source: str, name: str) -> None:
    count = 0
    for e, read in explained(source, name):
        check_members(e, read)
        count += e.rebalance.members_after is not None
    assert count > 2


@pytest.mark.parametrize("seed", [3, 5, 19])
def test_whose_end_set_off_an_earlier_rebalance_of_the_same_millisecond_is_not_listed(
    seed: int, tmp_path: Path
) -> None:
    """Two sessions end at once in these lives, each with a rebalance of its own."""
    for name, rows in by_log(seed, tmp_path).items():
        read = reader_of(rows)
        found = past_of(read).rebalances
        again = [one for before, one in pairwise(found) if before.started_at_ms == one.started_at_ms]
        for one in again:
            check_members(explain(name, read, one.to_generation_id), read)
        assert again or name.startswith("half")


@pytest.mark.parametrize(("source", "name"), INCIDENTS)
def test_pictures_of_a_rebalance_stay_within_their_frame_and_no_bar_is_upon_another(source: str, name: str) -> None:
    for e, read in explained(source, name):
        scene = picture_of(e, read)
        seen = period_of(e.group_id, read, scene.from_ms, scene.to_ms)
        for one in (scene, timeline(seen), ownership(seen)):
            assert [*outside_frame(one)] == [], (e.group_id, e.rebalance, one.title)
        points = [point for curve in heartbeat_slack(seen).curves for point in curve.points]
        assert [x for x, _ in points if not seen.from_ms <= x <= seen.to_ms] == [], (e.group_id, e.rebalance)
        assert [y for _, y in points if y < 0 or y > 100] == []


# ---------------------------------------------------------------- what random lives showed


def test_a_silence_from_before_the_picture_is_drawn_from_its_beginning_on() -> None:
    curves = {curve.name: curve.points for curve in heartbeat_slack(period(one_expires(), 8_100)).curves}
    assert curves["b"][-3:-1] == [(8_100, 50.0), (13_100, 0.0)]


EXPIRED = Cause(kind=CauseKind.SESSION_EXPIRED, member_id="m")


def joined(at_ms: int) -> Membership:
    return Membership("m", "m", "/h", None, at_ms, session_timeout_ms=6000, rebalance_timeout_ms=60_000)


def test_the_culprit_that_came_back_under_its_id_is_the_one_that_expired() -> None:
    earlier, again = replace(joined(1000), ended_at_ms=9000, end_cause="session_expired"), joined(9000)
    assert culprit_among([earlier, again], EXPIRED, 9000, 9500) == earlier
    came = Cause(kind=CauseKind.MEMBER_JOINED, member_id="m")
    assert culprit_among([earlier, again], came, 9000, 9500) == again


def test_nobody_known_has_no_silence() -> None:
    """A session was over, and the recording does not show whose: requests without a member id are not its own."""
    sync = SyncReceived(at_ms=5000, member_id="", client_id="m", generation_id=13, is_leader=True)
    assert last_request(facts_of([as_columns(row_of(sync, 0))]), "", 9000) is None


def test_what_comes_after_a_superseded_rebalance_is_of_the_next_one_to_the_same_generation() -> None:
    """A group was thought to be at 13 already, and was seen to be at 12 still."""
    fact = SyncReceived(at_ms=5000, member_id="m", client_id="m", generation_id=13, is_leader=True)
    facts, around = facts_of([as_columns(row_of(fact, 0))]), [joined(500)]
    shown = {}
    for outcome, end_ms in (("superseded", 1000), ("completed", 5000)):
        one = Rebalance(12, 1000, EXPIRED, 3, to_generation_id=13, ended_at_ms=end_ms, outcome=outcome)
        shown[outcome] = parts_of(facts, one, around, end_ms, Names(around), CLASSIC)[0].moments
    assert shown == {"superseded": {}, "completed": {"synced": 5000}}
