"""Logs of a broker in virtual time that begin late, end early and lose lines, beside the topic that it would have.

Whatever is missing in a log, the history of both is the broker's: every generation once, every member, every commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from rollcall.history.facts import Fact
from rollcall.schemas.effects import Effect, MemberJoined, MemberRemoved, OffsetsCommitted, RebalanceEnded
from tests.nightly import nightly_but
from tests.offsets_topic.beside import merged
from tests.offsets_topic.half_logs import (
    LENGTH_MS,
    LIVES,
    generations_of,
    generations_reported,
    members_reported,
    reported_of,
)
from tests.request_log.broker import START_MS


@pytest.mark.parametrize("seed", nightly_but(LIVES[::3], LIVES))
def test_the_history_of_both_is_the_brokers_whatever_the_log_lacks(seed: int, tmp_path: Path) -> None:
    log, log_until_ms, topic, truth = reported_of(seed, tmp_path)
    reported = merged({"g": log}, {"g": topic}, log_until_ms, START_MS + LENGTH_MS).history("g")

    assert generations_reported(reported) == generations_of(truth)
    # The log alone has those who came after the last generation's record.
    assert members_reported(reported) in (members_at_the_end(truth), members_at_the_end(until_the_last_end(truth)))
    assert sorted(offsets_reported(reported)) == sorted(offsets_of(truth))


def until_the_last_end(truth: list[Effect]) -> list[Effect]:
    ends = [place for place, effect in enumerate(truth) if isinstance(effect, RebalanceEnded)]
    return truth[: ends[-1] + 1] if ends else []


def members_at_the_end(truth: Iterable[Effect]) -> set[str]:
    members: set[str] = set()
    for effect in truth:
        if isinstance(effect, MemberJoined):
            members.add(effect.member_id)
        elif isinstance(effect, MemberRemoved):
            members.discard(effect.member_id)
    return members


def offsets_of(truth: Iterable[Effect]) -> list[tuple[str, int, int]]:
    commits = [effect for effect in truth if isinstance(effect, OffsetsCommitted)]
    return [(one.topic, one.partition, one.committed_offset) for commit in commits for one in commit.offsets]


def offsets_reported(reported: Iterable[Fact]) -> list[tuple[str, int, int]]:
    return offsets_of([fact.content for fact in reported if fact.content is not None])
