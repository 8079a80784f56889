"""Logs of a broker in virtual time that begin late, end early and lose lines, beside the topic that it would have.

Whatever is missing in a log, the history of both is the broker's: every generation once, every member, every commit.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.effects import (
    Effect,
    MemberJoined,
    MemberRemoved,
    OffsetsCommitted,
    RebalanceEnded,
)
from offsets_topic.beside_log.facts import Fact
from programs.settings import from_texts
from request_log.core_replay import Replay
from request_log.importer import LogImport
from schemas.effect_names import EffectName
from tests.offsets_topic.beside import facts_of, merged
from tests.offsets_topic.folded import fold
from tests.offsets_topic.written import Writer
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import live

LENGTH_MS = 60_000
DEEDS = ("start", "start", "close", "kill", "stall", "commit", "commit")
LIVES = (*range(60), 110, 116, 141, 150, 260, 270)


def lived(chance: random.Random, seed: int) -> Broker:
    """Clients of one group that come and go."""
    size = chance.choice([2, 4, 100, 100, 100])
    plan = [("start", who, 50 * who + chance.randint(0, 3000)) for who in range(chance.randint(1, 4))]
    for _ in range(chance.randint(3, 14)):
        plan.append((chance.choice(DEEDS), chance.randint(0, 6), chance.randint(0, LENGTH_MS)))
    broker = Broker(seed=seed, late_ms=0.5, config=GroupConfig(group_max_size=size))
    live(broker, plan, has_static=chance.random() < 0.4)
    broker.run(START_MS + LENGTH_MS)
    return broker


def keep_some(path: Path, chance: random.Random) -> None:
    """Cuts a log's beginning and end off, and loses a line here and there."""
    lines = path.read_bytes().splitlines(keepends=True)
    start = chance.choice([0, 0, chance.random()])
    end = chance.choice([1, 1, start + (1 - start) * chance.random()])
    lost = chance.choice([0, 0, 0.01, 0.05])
    some = lines[int(len(lines) * start) : int(len(lines) * end)]
    path.write_bytes(b"".join(line for line in some if chance.random() >= lost))


def history(truth: list[Effect], path: Path) -> list[Fact]:
    """What both tell: the log, and the records that stand for the truth."""
    log = LogImport(path, ZoneInfo("UTC"))
    log.config = from_texts(GroupConfig, log.look_over().settings)
    logged = [effect for group, effect in Replay(log.config).run(list(log), log.tally.last_at_ms) if group == "g"]
    topic = fold(list(Writer("g").write(truth)), {}).told.get("g", [])
    until_ms = log.tally.last_at_ms or 0
    both = merged({"g": facts_of(logged)}, {"g": facts_of(topic)}, until_ms, START_MS + LENGTH_MS)
    return both.history("g")


@pytest.mark.parametrize("seed", LIVES)
def test_the_history_of_both_is_the_brokers_whatever_the_log_lacks(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    broker = lived(chance, seed)
    truth = [effect for group, effect in broker.effects if group == "g"]
    path = broker.write(tmp_path / "requests.log")
    keep_some(path, chance)
    told = history(truth, path)

    assert generations_told(told) == generations_of(truth)
    # Those who came after the last generation's record, the log alone can tell.
    assert members_told(told) in (members_at_the_end(truth), members_at_the_end(until_the_last_end(truth)))
    assert sorted(offsets_told(told)) == sorted(offsets_of(truth))


def generations_of(truth: Iterable[Effect]) -> list[int]:
    ends = [effect for effect in truth if isinstance(effect, RebalanceEnded)]
    return [effect.to_generation_id for effect in ends if effect.outcome != "superseded"]


def generations_told(told: Iterable[Fact]) -> list[int | None]:
    ends = [fact for fact in told if fact.effect == EffectName.REBALANCE_ENDED]
    return [fact.generation_id for fact in ends if fact.told["outcome"] != "superseded"]


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


def members_told(told: Iterable[Fact]) -> set[str]:
    """Nobody comes twice, and nobody goes who was not there."""
    members: set[str] = set()
    for fact in told:
        member_id = fact.member_id or ""
        if fact.effect == EffectName.MEMBER_JOINED:
            assert member_id not in members
            members.add(member_id)
        elif fact.effect == EffectName.MEMBER_REMOVED:
            members.remove(member_id)
    return members


def offsets_of(truth: Iterable[Effect]) -> list[tuple[str, int, int]]:
    commits = [effect for effect in truth if isinstance(effect, OffsetsCommitted)]
    return [(one.topic, one.partition, one.committed_offset) for commit in commits for one in commit.offsets]


def offsets_told(told: Iterable[Fact]) -> list[tuple[str, int, int]]:
    commits = [fact for fact in told if fact.effect == EffectName.OFFSETS_COMMITTED]
    return [
        (one["topic"], one["partition"], one["committed_offset"])
        for commit in commits
        for one in commit.told["offsets"]
    ]
