"""Random lives of a group at a broker in virtual time, whose log lacks something, beside the topic it would have."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.history.facts import Fact
from rollcall.programs.settings import from_texts
from rollcall.schemas.causes import Cause
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, RebalanceEnded
from tests.offsets_topic.beside import facts_of
from tests.offsets_topic.folded import fold
from tests.offsets_topic.written import Writer
from tests.request_log.broker import START_MS, Broker
from tests.request_log.core_replay import Replay
from tests.request_log.fleet import live
from tests.whole_log import WholeLog

LENGTH_MS = 60_000
LIVES = (*range(60), 110, 116, 141, 150, 260, 270)
Step = tuple[int, int, Cause]
"""A rebalance: from which generation to which, and why."""
ACTIONS = ("start", "start", "close", "kill", "stall", "commit", "commit")


def lived(chance: random.Random, seed: int) -> Broker:
    """Clients of one group that come and go."""
    size = chance.choice([2, 4, 100, 100, 100])
    plan = [("start", who, 50 * who + chance.randint(0, 3000)) for who in range(chance.randint(1, 4))]
    for _ in range(chance.randint(3, 14)):
        plan.append((chance.choice(ACTIONS), chance.randint(0, 6), chance.randint(0, LENGTH_MS)))
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


class BothInputs(NamedTuple):
    """A group's facts by each input, and what really happened."""

    log: list[Fact]
    log_until_ms: int
    topic: list[Fact]
    truth: list[Effect]


def reported_of(seed: int, folder: Path) -> BothInputs:
    """A log that lacks something, and the records that stand for the truth."""
    chance = random.Random(seed)
    broker = lived(chance, seed)
    truth = [effect for group, effect in broker.effects if group == "g"]
    path = broker.write(folder / "requests.log")
    keep_some(path, chance)
    log = WholeLog(path, ZoneInfo("UTC"))
    log.config = from_texts(GroupConfig, log.look_over().seen.shown())
    logged = [effect for group, effect in Replay(log.config).run(list(log), log.tally.last_at_ms) if group == "g"]
    topic = fold(list(Writer("g").write(truth)), {}).reported.get("g", [])
    return BothInputs(facts_of(logged), log.tally.last_at_ms or 0, facts_of(topic), truth)


def generations_of(truth: Iterable[Effect]) -> list[int]:
    ends = [effect for effect in truth if isinstance(effect, RebalanceEnded)]
    return [effect.to_generation_id for effect in ends if effect.outcome != "superseded"]


def generations_reported(reported: Iterable[Fact]) -> list[int | None]:
    ends = [fact for fact in reported if fact.effect == EffectName.REBALANCE_ENDED]
    return [
        fact.generation_id
        for fact in ends
        if isinstance(fact.content, RebalanceEnded) and fact.content.outcome != "superseded"
    ]


def members_reported(reported: Iterable[Fact]) -> set[str]:
    """Nobody comes twice, and nobody goes who was not there."""
    members: set[str] = set()
    for fact in reported:
        member_id = fact.member_id or ""
        if fact.effect == EffectName.MEMBER_JOINED:
            assert member_id not in members
            members.add(member_id)
        elif fact.effect == EffectName.MEMBER_REMOVED:
            members.remove(member_id)
    return members


def settled(effects: list[Effect]) -> list[Step]:
    """The rebalances of a log, those that were superseded put together with the one that followed."""
    found: list[Step] = []
    first: RebalanceEnded | None = None
    for effect in effects:
        if isinstance(effect, RebalanceEnded):
            first = first or effect
            if effect.outcome != "superseded":
                found.append((first.from_generation_id, effect.to_generation_id, first.cause))
                first = None
    return found
