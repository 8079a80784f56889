"""Logs of a broker in virtual time with consumer groups (KIP-848) alone: what the importer says of them is what was.

Members of several topics, of which no line shows which id is which; members that join before they know their topics, as
those that subscribe by a pattern; sessions that no line shows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import RebalanceStarted
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import rebalances_in
from tests.request_log.newer_member import NewerMember
from tests.request_log.played import Played, later, read, with_consumer_groups

ONE, TWO, ONE_IS_NOT_THERE = ("t",), ("t", "u"), ("t", "u", "v")


def lived(
    topics: tuple[str, ...],
    knows_topics_ms: int,
    session_timeout_ms: int,
    folder: Path,
    *,
    asks_topics: bool = False,
) -> Played:
    """What is read of members that come, die and go."""
    stage = with_consumer_groups(1, session_timeout_ms, 5_000 if session_timeout_ms > 6_000 else 1_000)
    members = [
        NewerMember(
            stage,
            "g",
            f"m{i}",
            topics=topics,
            knows_topics_ms=knows_topics_ms if i % 2 else 0,
            asks_topics=asks_topics,
        )
        for i in range(5)
    ]
    acts = (
        *((0, members[0].start), (6_000, members[1].start), (12_000, members[2].start), (15_000, members[0].kill)),
        *(
            (25_000, members[3].start),
            (32_000, members[4].start),
            (40_000, members[3].kill),
            (52_000, members[1].close),
        ),
    )
    return read(stage, folder, acts)


@pytest.mark.parametrize("session_timeout_ms", [45_000, 6_000])
@pytest.mark.parametrize("knows_topics_ms", [0, 150])
@pytest.mark.parametrize("topics", [ONE, TWO])
def test_causes_and_answers_are_the_brokers(
    topics: tuple[str, ...], knows_topics_ms: int, session_timeout_ms: int, tmp_path: Path
) -> None:
    lived(topics, knows_topics_ms, session_timeout_ms, tmp_path).compare("g")


@pytest.mark.parametrize("session_timeout_ms", [45_000, 6_000])
@pytest.mark.parametrize("knows_topics_ms", [0, 150])
def test_where_answers_are_not_the_brokers_causes_are_still(
    knows_topics_ms: int, session_timeout_ms: int, tmp_path: Path
) -> None:
    """A topic that is not there leaves open which name each id has, so no assignment is ours."""
    played = lived(ONE_IS_NOT_THERE, knows_topics_ms, session_timeout_ms, tmp_path)
    assert played.found.parity.share < 1
    assert played.found.rebalances("g") == rebalances_in(played.broker.effects, "g")
    causes = [e.cause for e in played.found.of_group("g", RebalanceStarted) if e.cause.kind == "session_expired"]
    assert causes
    assert all(cause.is_inferred for cause in causes)


@pytest.mark.parametrize("session_timeout_ms", [45_000, 6_000])
@pytest.mark.parametrize("knows_topics_ms", [0, 150])
@pytest.mark.parametrize("topics", [TWO, ONE_IS_NOT_THERE])
def test_metadata_lines_tell_which_topic_each_id_is(
    topics: tuple[str, ...], knows_topics_ms: int, session_timeout_ms: int, tmp_path: Path
) -> None:
    """So each assignment is the broker's, which takes `u` before `t` by their ids."""
    played = lived(topics, knows_topics_ms, session_timeout_ms, tmp_path, asks_topics=True)
    played.compare("g")
    owned = {topic for row in played.found.rows for topic in getattr(row.request, "cluster_topics", None) or ()}
    assert owned == {"t", "u"}


@pytest.mark.parametrize("seed", range(6))
def test_newcomers_that_come_soon_after_each_other_bring_their_epochs(seed: int, tmp_path: Path) -> None:
    """Their assignment comes an interval later, and their answers name the epoch before."""
    stage = with_consumer_groups(seed)
    for i in range(3):
        later(stage, 500 * i, NewerMember(stage, "g", f"m{i}").start)
    played = read(stage, tmp_path)
    assert played.found.rebalances("g") == rebalances_in(stage.effects, "g")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stalls", [True, False])
def test_of_silent_members_of_both_protocols_none_is_certain_where_another_may_have_ended_first(
    seed: int, stalls: bool, tmp_path: Path
) -> None:
    """No line says how long sessions of the newer protocol are. An answer between both ends shows the order, and if the
    one who watches stalls, there is none.
    """
    stage = with_consumer_groups(seed, session_timeout_ms=6_000)
    classic = MemberOf(stage, "g", "classic", partitions=8)
    watches, dies = (NewerMember(stage, "g", name) for name in ("watches", "dies"))
    acts = [
        (0, classic.start),
        (4_000, watches.start),
        (8_000, dies.start),
        (19_000, dies.kill),
        (20_500, classic.kill),
    ]
    played = read(stage, tmp_path, [*acts, (23_000, lambda: watches.stall(5_000))][: None if stalls else -1])
    assert played.found.parity.first == []
    true = [each for each in rebalances_in(stage.effects, "g") if each[1] == CauseKind.SESSION_EXPIRED]
    ends = [each.cause for each in played.found.of_group("g", RebalanceStarted)][-2:]
    assert [each[2] for each in true] == [dies.member_id, classic.member_id]
    if stalls:
        assert [(each.kind, each.is_inferred) for each in ends] == [(CauseKind.SESSION_EXPIRED, True)] * 2
    else:
        assert [each.member_id for each in ends] == [dies.member_id, classic.member_id]
        assert not ends[1].is_inferred
