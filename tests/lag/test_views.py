"""The views of lag against small histories with literal moments and offsets: each rule on either side."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rollcall.answers.views.lag_history import BUCKET_MS
from rollcall.tables.lag.kept import MOVING_WITHIN_MS
from rollcall.tables.lag.rows import Fetched, LagRows, LogEnd
from rollcall.tables.lag_rows import append_lag
from tests.lag.homes import ends, group, write_home
from tests.views.story import Story
from tests.views.view_rows import Row, Views, rows_of


def taken_over() -> Story:
    """`a` owns the partition, then leaves, and `b` has it."""
    story = group("taken over", "plain", (2000, 5))
    story.leave(3000, "a")
    story.join(3100, "b", topics=("plain",))
    story.let_time_pass(3100)
    story.sync(3100, "b", {"b": ["plain-0"]})
    return story


def stopped() -> Story:
    """`a` commits once and leaves; nobody follows."""
    story = group("stopped", "plain", (2000, 10))
    story.leave(2500, "a")
    return story


def removed_at_once() -> Story:
    """The offset of a topic that nobody subscribes to is committed and deleted in one millisecond."""
    story = group("removed at once", "plain", (2000, 10))
    story.commit(4000, "a", {"short-0": 15})
    story.delete_offsets(4000, "short-0")
    return story


def fetch(topic: str, offset: int, level: str, client: str = "a") -> Fetched:
    return Fetched(client, "/10.0.0.1", topic, 0, 1500, offset, level)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lag")
    stories = [
        group("plain", "plain", (2000, 10), (4000, 25)),
        group("below the start", "short", (2000, 10)),
        group("ahead", "plain", (2000, 50)),
        group("at the end", "plain", (2000, 40)),
        group("nothing committed", "plain"),
        group("former topic", "again", (2000, 90)),
        group("topic again", "again", (2000, 90), (12_000, 3)),
        group("decided only", "money", (2000, 10), client="c"),
        group("all of it", "money", (2000, 10)),
        group("only a mark left", "marks", (2000, 29)),
        group("decided but for the end", "asked", (2000, 10), client="c"),
        group("all but decided", "asked", (2000, 10)),
        group("at the open transaction", "open", (2000, 15), client="c"),
        group("in the open transaction", "open", (2000, 29)),
        group("no end", "silent", (2000, 10)),
        removed_at_once(),
        taken_over(),
        stopped(),
    ]
    reported = [
        *ends((1000, 0), (3000, 20), (5000, 40), topic="plain"),
        *ends((1000, 20), (3000, 30), topic="short"),
        LogEnd("short", 0, 3500, 14, None, None, "delete_records"),
        *ends((1000, 90), (3000, 100), (11_000, 5), topic="again"),
        LogEnd("money", 0, 1000, 0, 10, 10, "fetch"),
        LogEnd("money", 0, 3000, 0, 30, 16, "fetch"),
        LogEnd("marks", 0, 1000, 0, 30, 20, "fetch"),
        LogEnd("marks", 0, 3000, 0, 30, 30, "fetch"),
        LogEnd("asked", 0, 1000, 0, 10, 10, "fetch"),
        LogEnd("asked", 0, 3000, 0, 30, 16, "fetch"),
        LogEnd("asked", 0, 4000, None, 40, None, "list_offsets"),
        LogEnd("open", 0, 1000, 0, 10, 10, "fetch"),
        LogEnd("open", 0, 3000, 0, 30, 16, "fetch"),
    ]
    fetches = [fetch("plain", 30, "read_uncommitted"), fetch("money", 16, "read_committed", "c")]
    fetches.append(fetch("money", 30, "read_uncommitted"))
    fetches += [fetch(topic, 16, "read_committed", "c") for topic in ("asked", "open")]
    write_home(home, stories, reported, fetches)
    return home


@pytest.fixture(scope="module")
def ask(home: Path) -> Views:
    return Views(home)


def lag_of(ask: Views, group_id: str) -> Row:
    (row,) = ask.about("lag", group_id)
    return row


def test_the_lag_is_the_end_less_the_commit_and_both_are_dated(ask: Views) -> None:
    row = lag_of(ask, "plain")
    assert (row.committed_offset, row.committed_at, row.end_offset, row.end_known_at) == (25, 4000, 40, 5000)
    assert (row.lag_records, row.records_lost, row.fetched_offset) == (15, 0, 30)


def test_the_lag_in_time_is_the_age_of_the_moment_at_which_the_log_ended_where_the_commit_is(ask: Views) -> None:
    """Between 20 at 3000 and 40 at 5000 the log ended at 25 at 3500."""
    assert (lag_of(ask, "plain").lag_ms, lag_of(ask, "plain").caught_up_at) == (1500, 3500)
    assert (lag_of(ask, "at the end").lag_ms, lag_of(ask, "at the end").is_moving) == (0, True)


def test_a_commit_below_the_start_counts_from_there_and_the_rest_is_lost(ask: Views) -> None:
    row = lag_of(ask, "below the start")
    assert (row.committed_offset, row.log_start_offset, row.lag_records, row.records_lost) == (10, 14, 16, 4)


def test_a_commit_ahead_of_the_last_known_end_is_not_negative(ask: Views) -> None:
    assert (lag_of(ask, "ahead").lag_records, lag_of(ask, "ahead").lag_ms) == (0, 0)


def test_what_cannot_be_known_is_null(ask: Views) -> None:
    nothing, silent = lag_of(ask, "nothing committed"), lag_of(ask, "no end")
    assert (nothing.client_id, nothing.committed_offset, nothing.lag_records, nothing.lag_ms) == ("a", None, None, None)
    assert (nothing.records_lost, nothing.is_moving, nothing.end_offset) == (None, None, 40)
    assert (silent.lag_records, silent.lag_ms, silent.end_known_at, silent.is_moving) == (None, None, None, None)
    before_history = lag_of(ask, "decided only")
    assert before_history.lag_records == 6


def test_what_is_removed_in_the_millisecond_of_its_commit_is_no_commit(ask: Views) -> None:
    assert {row.topic for row in ask.about("lag", "removed at once")} == {"plain"}


def test_a_topic_made_again_begins_anew(ask: Views) -> None:
    assert (lag_of(ask, "former topic").lag_records, lag_of(ask, "former topic").records_lost) == (None, None)
    assert lag_of(ask, "topic again").lag_records == 2
    moments = [(row.at, row.lag_records) for row in ask.about("partition_lag", "topic again")]
    assert (11_000, None) in moments
    assert (12_000, 2) in moments


def test_read_committed_is_behind_the_last_stable_offset(ask: Views) -> None:
    assert lag_of(ask, "decided only").lag_records == 6
    assert lag_of(ask, "all of it").lag_records == 20


def test_an_end_without_the_last_stable_offset_is_no_news_to_read_committed(ask: Views) -> None:
    row = lag_of(ask, "decided but for the end")
    assert (row.lag_records, row.end_offset, row.last_stable_offset, row.end_known_at) == (6, 30, 16, 3000)
    assert (lag_of(ask, "all but decided").lag_records, lag_of(ask, "all but decided").end_known_at) == (30, 4000)
    moments = ask("partition_lag", "decided but for the end", "at", "is_told", "lag_records")
    assert moments[-2:] == [(3000, True, 6), (4000, False, 6)]
    assert ask("partition_lag", "all but decided", "at", "is_told", "lag_records")[-1] == (4000, True, 30)


@pytest.mark.parametrize("known_from", ["list_offsets", "sample"])
def test_an_end_without_the_last_stable_offset_is_news_where_none_was_ever_below_the_end(
    tmp_path: Path, known_from: str
) -> None:
    reported = [*ends((1000, 0), (3000, 20)), LogEnd("t", 0, 4000, 0, 40, None, known_from)]
    write_home(tmp_path, [group("g", "t", (2000, 10), client="c")], reported, [fetch("t", 20, "read_committed", "c")])
    ask = Views(tmp_path)
    row = lag_of(ask, "g")
    assert (row.lag_records, row.lag_ms, row.end_offset, row.end_known_at) == (30, 2000, 40, 4000)
    assert ask("partition_lag", "g", "at", "is_told", "lag_records")[-1] == (4000, True, 30)


def test_ends_of_one_millisecond_make_no_transaction(tmp_path: Path) -> None:
    """An end that is reported right after a fetch is above the fetch's last stable offset."""
    reported = [*ends((1000, 0), (3000, 20)), LogEnd("t", 0, 3000, 0, 21, None, "list_offsets")]
    write_home(tmp_path, [group("g", "t", (2000, 20), client="c")], reported, [fetch("t", 20, "read_committed", "c")])
    ask = Views(tmp_path)
    assert lag_of(ask, "g").lag_records == 1
    assert ask("partition_lag", "g", "at", "end_offset", "lag_records")[-1] == (3000, 21, 1)


def test_a_sample_of_all_ends_dates_no_earlier_last_stable_offset_anew(tmp_path: Path) -> None:
    stories = [group("decided", "asked", (2000, 10), client="c"), group("all", "asked", (2000, 10))]
    reported = [LogEnd("asked", 0, 3000, 0, 30, 16, "fetch"), LogEnd("asked", 0, 4000, 0, 40, None, "sample")]
    write_home(tmp_path, stories, reported, [fetch("asked", 16, "read_committed", "c")])
    append_lag(tmp_path, LagRows(asked_ms=5000))
    ask = Views(tmp_path)
    assert (lag_of(ask, "decided").end_known_at, lag_of(ask, "all").end_known_at) == (3000, 5000)


def test_before_an_open_transaction_is_the_mark_of_the_one_before(ask: Views) -> None:
    for view in ("lag", "partition_lag"):
        assert ask.about(view, "at the open transaction")[-1].lag_records == 0
        assert ask.about(view, "in the open transaction")[-1].lag_records == 1


def test_the_mark_of_a_transaction_is_no_record_to_read(ask: Views) -> None:
    assert (lag_of(ask, "only a mark left").lag_records, lag_of(ask, "only a mark left").lag_ms) == (0, 0)


def test_after_a_rebalance_the_new_owner_has_the_lag(ask: Views) -> None:
    """The old owner has no row."""
    row = lag_of(ask, "taken over")
    assert (row.client_id, row.committed_offset, row.lag_records) == ("b", 5, 35)


def test_the_lag_of_a_stopped_group_grows_though_nobody_commits(ask: Views) -> None:
    row = lag_of(ask, "stopped")
    assert (row.member_id, row.committed_offset, row.lag_records, row.lag_ms) == (None, 10, 30, 3000)
    assert ask("partition_lag", "stopped", "at", "lag_records") == [(1000, None), (2000, 0), (3000, 10), (5000, 30)]


def test_a_moment_before_is_answered_from_what_was_known_by_then(home: Path) -> None:
    (row,) = [row for row in rows_of(home, "lag", 4500) if row.group_id == "plain"]
    assert (row.committed_offset, row.end_offset, row.end_known_at, row.lag_records) == (25, 20, 3000, 0)


def test_a_commit_is_compared_with_the_end_of_its_own_moment(ask: Views) -> None:
    rows = ask("partition_lag", "plain", "at", "is_told", "end_offset", "lag_before_records", "lag_records")
    assert rows == [
        (1000, True, 0, None, None),
        (2000, False, 10, None, 0),
        (3000, True, 20, 10, 10),
        (4000, False, 30, 20, 5),
        (5000, True, 40, 15, 15),
    ]


def test_lag_over_time_has_the_peak_between_its_moments(ask: Views) -> None:
    rows = ask("lag_history", "plain", "from_at", "lag_records", "peak_lag_records", "peak_at")
    assert rows == [(0, 15, 20, 4000)]


def test_what_is_lost_is_found(ask: Views) -> None:
    assert ask("records_lost", "below the start", "from_at", "to_at", "records_lost") == [(3500, None, 4)]
    assert ask.groups_in("records_lost") == {"below the start"}


def test_a_partition_that_a_member_subscribes_to_and_nobody_owns(ask: Views) -> None:
    assert ask.groups_in("unconsumed") == set()


# ---------------------------------------------------------------- random histories


def random_group(name: str, seed: int) -> tuple[Story, list[LogEnd]]:
    """A group that owns three partitions of a topic of its own, with log ends and commits."""
    chance = random.Random(seed)
    story = Story(name)
    story.join(100, "a", topics=(name,), session_timeout_ms=1_000_000, rebalance_timeout_ms=3_000_000)
    story.let_time_pass(100)
    story.sync(100, "a", {"a": [f"{name}-{partition}" for partition in range(3)]})
    reported, moves = list[LogEnd](), list[tuple[int, int, int]]()
    for partition in range(3):
        at_ms, end, committed = chance.randrange(1000, 3000), chance.randrange(100), 0
        for _ in range(chance.randrange(2, 12)):
            reported += ends((at_ms, end), topic=name, partition=partition)
            if chance.random() < 0.7:
                committed = chance.randrange(committed, max(end, committed) + 1)
                moves.append((at_ms + chance.randrange(4000), partition, committed))
            at_ms, end = at_ms + chance.randrange(1, 9000), end + chance.choice([0, 1, 7, 400])
    for at_ms, partition, committed in sorted(moves):
        story.commit(at_ms, "a", {f"{name}-{partition}": committed})
    return story, reported


def test_the_sum_over_time_is_that_of_its_partitions_at_every_moment(tmp_path: Path) -> None:
    """Against the rule as it is said: every partition is interpolated at every moment of any, and added up."""
    groups = [random_group(f"random-{seed}", seed) for seed in range(25)]
    write_home(tmp_path, [story for story, _ in groups], [row for _, reported in groups for row in reported])
    ask = Views(tmp_path)
    compared = 0
    for story, _ in groups:
        partitions: dict[int, list[Row]] = {}
        for row in sorted(ask.about("partition_lag", story.group_id), key=lambda row: row.at):
            if row.lag_records is not None or row.lag_before_records is not None:
                partitions.setdefault(row.partition, []).append(row)
        for bucket in ask.about("lag_history", story.group_id):
            all_rows = [row for rows in partitions.values() for row in rows]
            moments = {row.at for row in all_rows if row.at // BUCKET_MS == bucket.from_at // BUCKET_MS}
            before, after = (
                {ms: sum(at(rows, ms, is_before) for rows in partitions.values()) for ms in moments}
                for is_before in (True, False)
            )
            assert abs(bucket.peak_lag_records - max(*before.values(), *after.values())) <= 1
            assert abs(bucket.lag_records - after[max(moments)]) <= 1
            compared += 1
    assert compared > 50


def test_a_partition_moves_that_rose_in_the_last_minute_whichever_others_were_committed_with_it(tmp_path: Path) -> None:
    """Against the rule as it is said, of all commits; those of the home name now these partitions, now those."""
    stories, reported, commits = list[Story](), list[LogEnd](), dict[tuple[str, int], list[tuple[int, int]]]()
    for seed in range(60):
        chance, name = random.Random(seed), f"moving-{seed}"
        story = group(name, name, session_timeout_ms=1_000_000)
        at_ms = 200
        ways: list[tuple[int, ...]] = chance.choice([[(0, 1, 2)], [(0, 1, 2), (0,), (1, 2)]])
        for _ in range(chance.randrange(1, 25)):
            at_ms += chance.choice([1, 500, 9000, 9000, 20_000, 59_999, 60_000, 60_001])
            latest = {one: commits.get((name, one), [(0, 800)])[-1][1] for one in chance.choice(ways)}
            now = {one: max(offset + chance.choice([-5, -1, 0, 0, 0, 3]), 0) for one, offset in latest.items()}
            story.commit(at_ms, "a", {f"{name}-{one}": offset for one, offset in now.items()})
            for one, offset in now.items():
                commits.setdefault((name, one), []).append((at_ms, offset))
        for one in range(3):
            latest_ms = at_ms + chance.choice([-30_000, 0, 1, 30_000, 59_999, 60_000])
            reported += ends((150, 900), (max(latest_ms, 151), 1000), topic=name, partition=one)
        stories.append(story)
    write_home(tmp_path, stories, reported)
    rows = {
        (row.group_id, row.partition): row for row in Views(tmp_path).rows("lag") if row.committed_offset is not None
    }
    assert rows.keys() == commits.keys()
    for key, of_partition in commits.items():
        row, (latest_ms, offset) = rows[key], of_partition[-1]
        before = [-1, *(each for _, each in of_partition)]
        rose_ms = max(ms for (ms, each), last in zip(of_partition, before, strict=False) if each > last)
        assert (row.committed_at, row.committed_offset) == (latest_ms, offset)
        assert row.is_moving == (max(row.end_known_at, latest_ms) - rose_ms < MOVING_WITHIN_MS)
    assert 30 < sum(row.is_moving for row in rows.values()) < len(rows) - 30


def at(rows: list[Row], ms: int, is_before: bool) -> float:
    """A partition's lag at a moment, just before or just after it."""
    if ms < rows[0].at or (is_before and ms == rows[0].at):
        return float(rows[0].lag_before_records or 0) if is_before and ms == rows[0].at else 0.0
    for row in rows:
        if row.at == ms:
            return float((row.lag_before_records if is_before else row.lag_records) or 0)
    earlier = [row for row in rows if row.at < ms][-1]
    later = next((row for row in rows if row.at > ms), None)
    if later is None:
        return float(earlier.lag_records or 0)
    first, last = earlier.lag_records or 0, later.lag_before_records or 0
    return float(first + (last - first) * (ms - earlier.at) / (later.at - earlier.at))
