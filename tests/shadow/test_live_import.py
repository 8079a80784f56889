"""A log imported while it is written gives the history that the finished log gives, soon after it happened."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.following.group_sessions import SESSION_OVER
from rollcall.inputs.request_log.lines.files import files_in_order, lines_in_order
from rollcall.inputs.request_log.lines.reading import REPEATED
from rollcall.inputs.request_log.live import LOOK_AHEAD_MS
from rollcall.inputs.request_log.snapshot import SnapshotError, Snapshots, restored
from rollcall.inputs.tolerances import BROKER_SILENT_MS, LINE_LATE_MS, RETURN_WITHIN_MS
from rollcall.schemas.effects import Effect, MemberRemoved, RebalanceEnded, Reply
from rollcall.schemas.errors import Error
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import Imported, imported
from tests.request_log.truth import FOLDER
from tests.shadow.fed import CAPTURES, INCIDENTS, UTC, Feed, effects_of, lines_of, reported

COMPLETE_WITHIN_MS = 9_200
STOOD_STILL_MS = 4_000
"""After a rebalance has ended; what is left of ten seconds is for the stream."""

EXPIRED = ("CauseKind.SESSION_EXPIRED", "EndCause.SESSION_EXPIRED")
SMALL = [path for path in CAPTURES if path.name != "j-busy-1"]
every_log = pytest.mark.parametrize("path", [*CAPTURES, *INCIDENTS], ids=lambda path: path.name.partition(".")[0])
known_in_time = pytest.mark.parametrize(
    "path",
    # In `libraries` a member comes back 8 s after it left: by then who follows the log has reported that it left.
    [path for path in (*CAPTURES, *INCIDENTS) if not path.name.startswith("libraries")],
    ids=lambda path: path.name.partition(".")[0],
)


@cache
def whole(path: Path) -> Imported:
    return imported(path)


def config_of(path: Path) -> GroupConfig:
    """What is known of the broker: `full-group` was played against one that had other settings."""
    if path.name.startswith("full-group"):
        return GroupConfig(group_max_size=3, group_initial_rebalance_delay_ms=1000)
    return GroupConfig()


@cache
def followed(path: Path) -> Feed:
    return Feed(config_of(path)).feed(lines_of(path)).end()


def by_group(effects: list[tuple[str, Effect]]) -> dict[str, list[str]]:
    groups = {group_id for group_id, _ in effects}
    return {group_id: reported(effect for of, effect in effects if of == group_id) for group_id in groups}


def soon(effects: list[str]) -> list[str]:
    """Facts without what only a later answer proves: who follows a log does not wait for it, and infers expiries."""
    left = [one for one in effects if SESSION_OVER not in one]
    return sorted(_as_if_proven(one) if any(end in one for end in EXPIRED) else one for one in left)


def _as_if_proven(effect: str) -> str:
    return effect.replace("is_inferred=True", "is_inferred=False")


@known_in_time
def test_the_history_is_that_of_the_finished_log(path: Path) -> None:
    live = followed(path).live
    ours = effects_of(followed(path).rows, live.config, live.tally.last_at_ms)
    finished = by_group(whole(path).effects)
    mine = {group_id: reported(effects) for group_id, effects in ours.items()}
    assert {of: soon(each) for of, each in mine.items()} == {of: soon(each) for of, each in finished.items()}
    assert live.tally.used == whole(path).tally.used
    # Of lines that two files have, `lines_of` gives one.
    if REPEATED not in whole(path).tally.skipped:
        assert live.tally.skipped == whole(path).tally.skipped
    assert {**live.tally.inferred, SESSION_OVER: 0} == {**whole(path).tally.inferred, SESSION_OVER: 0}


@known_in_time
@pytest.mark.parametrize("look_every_ms", [1, 2000])
def test_how_often_one_looks_changes_nothing(path: Path, look_every_ms: int) -> None:
    lines = lines_of(path)
    if len(lines) > 5000:
        lines = lines[:5000]
        theirs = Feed(config_of(path)).feed(lines).end()
    else:
        theirs = followed(path)
    ours = Feed(config_of(path), look_every_ms).feed(lines).end()
    end_ms = ours.live.tally.last_at_ms
    mine, known = (effects_of(feed.rows, config_of(path), end_ms) for feed in (ours, theirs))
    assert {of: reported(effects) for of, effects in mine.items()} == {
        of: reported(effects) for of, effects in known.items()
    }


@every_log
def test_history_is_complete_within_seconds_after_each_rebalance(path: Path) -> None:
    feed = followed(path)
    end_ms = feed.live.tally.last_at_ms or 0
    last_reported: dict[str, list[tuple[int, int]]] = {}
    for reported_ms, row in feed.released:
        last_reported.setdefault(row.group_id, []).append((row.request.received_at_ms, reported_ms))
    for group_id, effect in whole(path).effects:
        if not isinstance(effect, RebalanceEnded) or effect.outcome == "superseded":
            continue
        by_ms = goes_on_ms(path, effect.at_ms) + COMPLETE_WITHIN_MS
        if by_ms < end_ms:
            assert (
                max(reported_ms for at_ms, reported_ms in last_reported[group_id] if at_ms <= effect.at_ms) <= by_ms
            ), effect


def goes_on_ms(path: Path, at_ms: int) -> int:
    """The time, or when the log went on after that if it stood still then or soon after: only lines let time pass."""
    times = [line.at_ms or 0 for line in lines_of(path)]
    stills = [
        (a, b)
        for a, b in pairwise(times)
        if b - a > STOOD_STILL_MS and a - COMPLETE_WITHIN_MS < at_ms < b + BROKER_SILENT_MS
    ]
    return max([at_ms, *(b + RETURN_WITHIN_MS - COMPLETE_WITHIN_MS + 1000 for _, b in stills)])


@every_log
def test_a_request_goes_through_the_core_once_and_its_effects_are_those_of_the_core(path: Path) -> None:
    """Applied again in their order, the requests lead to the same effects; more of them only of a later time."""
    feed = followed(path)
    again = effects_of(feed.rows, feed.live.config, feed.live.tally.last_at_ms)
    assert feed.effects.keys() <= again.keys()
    for group_id, effects in again.items():
        mine, theirs = without_beats(feed.effects[group_id]), without_beats(effects)
        assert list(map(repr, mine)) == list(map(repr, theirs[: len(mine)])), group_id
        held = feed.live.groups.get(group_id)
        assert held is None or all(one.at_ms >= held.follower.model.clock_ms for one in theirs[len(mine) :]), group_id


def without_beats(effects: list[Effect]) -> list[Effect]:
    """Without the answers to accepted heartbeats."""
    return [
        one
        for one in effects
        if not (isinstance(one, Reply) and one.api == "Heartbeat" and one.error_code is Error.NONE)
    ]


@every_log
def test_rows_of_a_group_rise_and_none_comes_twice(path: Path) -> None:
    rows = followed(path).rows
    for group_id in {row.group_id for row in rows}:
        keys = [(r.request.received_at_ms, r.request.request_seq) for r in rows if r.group_id == group_id]
        assert all(a < b for a, b in pairwise(keys))
    assert len({(row.group_id, row.request.request_id) for row in rows}) == len(rows)


@pytest.mark.parametrize(
    "path",
    [*CAPTURES[:6], CAPTURES[-1], FOLDER / "o-consumer-protocol", *INCIDENTS],
    ids=lambda path: path.name.partition(".")[0],
)
def test_who_goes_on_from_a_snapshot_gives_the_rows_that_are_to_come(path: Path) -> None:
    """The import is thrown away and made again from its snapshot at forty places of the log."""
    lines = lines_of(path)
    places = {round(n * len(lines) / 41) for n in range(1, 41)}
    feed = Feed(config_of(path))
    keeper = [Snapshots(feed.live)]

    def go_on(place: int) -> None:
        if place in places:
            feed.live = restored(keeper[0].take(), config_of(path), feed.listener_of)
            keeper[0] = Snapshots(feed.live)

    feed.feed(lines, go_on).end()
    assert [row.request for row in feed.rows] == [row.request for row in followed(path).rows]
    assert feed.live.tally == followed(path).live.tally


@pytest.mark.parametrize("share", [0.2, 0.35, 0.5, 0.65, 0.8])
@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_a_log_that_begins_with_groups_formed_gives_the_rebalances_of_the_finished_one(
    path: Path, share: float, tmp_path: Path
) -> None:
    lines = [line.text for line in lines_of(path)]
    cut = tmp_path / "requests.log"
    cut.write_bytes(b"".join(text + b"\n" for text in lines[int(len(lines) * share) :]))
    known = imported(cut)
    feed = Feed(GroupConfig()).feed(lines_in_order(files_in_order(cut, UTC), UTC)).end()
    ours = effects_of(feed.rows, GroupConfig(), feed.live.tally.last_at_ms)
    assert sorted(ended(group_id, effects) for group_id, effects in ours.items()) == sorted(
        ended(group_id, [effect for of, effect in known.effects if of == group_id]) for group_id in ours
    )


def ended(group_id: str, effects: list[Effect]) -> tuple[str, list[tuple[int, int, int, str, str, str, int | None]]]:
    """What is reported of each rebalance of a group, except its members' waits."""
    return group_id, [
        (
            e.at_ms,
            e.from_generation_id,
            e.to_generation_id,
            str(e.cause.kind),
            e.cause.member_id,
            e.outcome,
            e.members_after,
        )
        for e in effects
        if isinstance(e, RebalanceEnded)
    ]


def test_a_snapshot_that_is_none_is_refused() -> None:
    with pytest.raises(SnapshotError):
        restored(b"nonsense", GroupConfig(), Feed(GroupConfig()).listener_of)
    with pytest.raises(SnapshotError, match="version 1 is not known, 2 is"):
        restored(msgspec.msgpack.encode({"version": 1, "moments": {}}), GroupConfig(), Feed(GroupConfig()).listener_of)


# ------------------------------------------------------------ what a group of a simulated broker shows


def play(tmp_path: Path, until_ms: int, stage: Broker) -> Feed:
    stage.run(START_MS + until_ms)
    path = stage.write(tmp_path / "requests.log")
    return Feed(GroupConfig()).feed(lines_in_order(files_in_order(path, UTC), UTC))


def test_a_group_at_rest_is_reported_within_two_seconds(tmp_path: Path) -> None:
    stage = Broker(seed=1)
    for i in range(3):
        MemberOf(stage, "g", f"m{i}").start()
    feed = play(tmp_path, 60_000, stage)
    late = [reported_ms - row.request.received_at_ms for reported_ms, row in feed.released]
    at_rest = [
        ms for ms, (_, row) in zip(late, feed.released, strict=True) if row.request.received_at_ms > START_MS + 12_000
    ]
    assert len(at_rest) > 100
    assert max(at_rest) <= LINE_LATE_MS + 1000


def test_nothing_is_reported_from_the_first_sign_of_a_rebalance_until_it_is_over(tmp_path: Path) -> None:
    stage = Broker(seed=1)
    members = [MemberOf(stage, "g", f"m{i}") for i in range(3)]
    for member in members:
        member.start()
    stage.at(START_MS + 20_000, lambda: members[0].stall(5000))
    newcomer = MemberOf(stage, "g", "new", join_version=3)
    stage.at(START_MS + 20_500, lambda: start(newcomer))
    feed = play(tmp_path, 23_900, stage)
    assert max(row.request.received_at_ms for row in feed.rows) < START_MS + 20_500
    stage.run(START_MS + 40_000)
    feed = play(tmp_path, 40_000, stage)
    ours = effects_of(feed.end().rows, GroupConfig(), None)
    ended = [effect for effect in ours["g"] if isinstance(effect, RebalanceEnded)]
    assert [(e.cause.client_id, e.members_after) for e in ended[1:]] == [("new", 4)]


def test_the_death_of_a_whole_group_is_reported_while_others_live_and_not_of_a_log_that_stands_still(
    tmp_path: Path,
) -> None:
    stage = Broker(seed=1)
    dying, living = MemberOf(stage, "dying", "a").start(), MemberOf(stage, "living", "b").start()
    stage.run(START_MS + 20_000)
    dying.kill()
    feed = play(tmp_path, 25_000, stage)
    feed.look(60_000)
    assert gone(feed) == []
    feed = play(tmp_path, 60_000, stage)
    [(of, expired)] = gone(feed)
    assert (of, expired.client_id) == ("dying", "a")
    reported_ms = max(at_ms for at_ms, row in feed.released if row.group_id == "dying")
    assert reported_ms <= expired.at_ms + LOOK_AHEAD_MS + 2000
    assert living.is_alive


def test_a_rebalance_whose_end_has_no_line_is_awaited_no_longer_than_its_timeout(tmp_path: Path) -> None:
    """All members die after the first sign of it; another group goes on."""
    stage = Broker(seed=1)
    MemberOf(stage, "living", "b").start()
    members = [MemberOf(stage, "g", f"m{i}") for i in range(3)]
    for member in members[:2]:
        member.start()
    stage.run(START_MS + 20_000)
    members[1].stall(100_000)
    members[2].start()
    stage.run(START_MS + 22_000)
    for member in members:
        member.kill()
    sign_ms = START_MS + 22_000
    feed = play(tmp_path, 110_000, stage)
    reported_ms = [at_ms for at_ms, row in feed.released if row.group_id == "g" and row.recorded is not None]
    assert sign_ms + members[0].rebalance_ms - 2000 < max(reported_ms) < sign_ms + members[0].rebalance_ms + 8000
    assert {of for of, _ in gone(feed)} == {"g"}
    assert not feed.live.groups["g"].entries


def start(member: MemberOf) -> None:
    member.start()


def gone(feed: Feed) -> list[tuple[str, MemberRemoved]]:
    ours = effects_of(feed.rows, GroupConfig(), None)
    return [(of, effect) for of, effects in ours.items() for effect in effects if isinstance(effect, MemberRemoved)]


def test_lines_that_are_broken_are_counted_and_stop_nothing() -> None:
    lines = lines_of(CAPTURES[0])
    broken = []
    for place, line in enumerate(lines):
        broken.append(line)
        if place % 20 == 0:
            broken += [
                line._replace(text=line.text[:70]),
                line._replace(text=b"\xff\x00 noise"),
                line._replace(text=b""),
            ]
        if place % 50 == 0:
            broken.append(line._replace(at_ms=(line.at_ms or 0) - 3_600_000, text=b"[] another time"))
    feed = Feed(GroupConfig()).feed(broken).end()
    assert rebalances(feed) == rebalances(followed(CAPTURES[0]))
    assert len(feed.rows) == len(followed(CAPTURES[0]).rows)
    tally = feed.live.tally
    assert tally.used + tally.skipped.total() + tally.quarantined.total() == tally.read == len(broken)


def rebalances(feed: Feed) -> set[tuple[str, int, str, str]]:
    ours = effects_of(feed.rows, GroupConfig(), None)
    ended = [(of, e) for of, effects in ours.items() for e in effects if isinstance(e, RebalanceEnded)]
    return {(of, e.to_generation_id, str(e.cause.kind), e.cause.member_id) for of, e in ended}
