"""Random lives of groups of both protocols, each a group of a home: from the core, from the log of a broker in virtual
time, from the records of its topic, and from both.

A life is its seed's, the same every time. Knows how lives become rows; must not know what is asked of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.programs.settings import from_texts
from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.schemas.effects import Effect
from rollcall.schemas.tables import AFTER_THE_LOGS
from tests.offsets_topic.beside import facts_of, merged
from tests.offsets_topic.folded import fold
from tests.offsets_topic.half_logs import LENGTH_MS, keep_some, lived
from tests.offsets_topic.written import Writer
from tests.protocol.consumer_moves import configs, consumer_play, plays
from tests.protocol.play import Move
from tests.request_log.broker import START_MS, Broker
from tests.request_log.core_replay import Replay
from tests.request_log.fleet import START_NEWER, live
from tests.views.random_homes import numbered
from tests.whole_log import WholeLog

Rows = dict[str, list[EffectRow]]
"""By the name of the group in the home."""
GROUP = "g"
CORE_LIVES_A_SEED = 10
ACTIONS = ("start", "start", START_NEWER, START_NEWER, "close", "close", "kill", "stall", "commit", "commit")


def mixed(chance: random.Random, seed: int) -> Broker:
    """Clients of both protocols come to one group and go."""
    consumer = ConsumerConfig(session_timeout_ms=9000, heartbeat_interval_ms=1000, min_session_timeout_ms=6000)
    config = GroupConfig(group_max_size=chance.choice([3, 100, 100]), topics={"t": 6}, consumer=consumer)
    broker = Broker(seed=seed, late_ms=chance.choice([0.5, 0.5, 5.0]), config=config)
    starts = ("start", START_NEWER)
    plan = [(chance.choice(starts), who, 50 * who + chance.randint(0, 3000)) for who in range(chance.randint(1, 3))]
    for _ in range(chance.randint(3, 16)):
        plan.append((chance.choice(ACTIONS), chance.randint(0, 6), chance.randint(0, LENGTH_MS)))
    live(broker, plan, has_static=chance.random() < 0.3)
    return broker


def with_outages(broker: Broker, chance: random.Random) -> Broker:
    """Some brokers go down or are taken over while they live."""
    for _ in range(chance.choice([0, 0, 1, 2])):
        away_ms, outage = chance.choice([5, 800, 9000]), chance.choice([broker.crash, broker.move])
        broker.at(START_MS + chance.randint(0, LENGTH_MS), partial(outage, away_ms))
    broker.run(START_MS + LENGTH_MS)
    return broker


def of_both_protocols(seed: int) -> tuple[Broker, random.Random]:
    """A life of both protocols whose coordinator goes down or moves, and the chance that goes on from it."""
    chance = random.Random(seed)
    return with_outages(mixed(chance, seed), chance), chance


def of_the_group(broker: Broker) -> list[Effect]:
    return [effect for group, effect in broker.effects if group == GROUP]


def logged(path: Path) -> tuple[list[Effect], int]:
    """The group's history by a log, and the time up to which the log has it."""
    log = WholeLog(path, ZoneInfo("UTC"))
    log.config = from_texts(GroupConfig, log.look_over().seen.shown())
    ended_ms = log.tally.last_at_ms or 0
    return [effect for group, effect in Replay(log.config).run(list(log), ended_ms) if group == GROUP], ended_ms


def by_log(seed: int, folder: Path) -> Rows:
    """A life of both protocols as the broker has it, as its log has it, and as a log that lacks something has it."""
    broker, chance = of_both_protocols(seed)
    path = broker.write(folder / f"{seed}.log")
    found = {f"broker {seed}": list(numbered(of_the_group(broker)))}
    found[f"whole log {seed}"] = list(numbered(logged(path)[0]))
    keep_some(path, chance)
    found[f"half log {seed}"] = list(numbered(logged(path)[0]))
    return found


def by_topic(seed: int, folder: Path) -> Rows:
    """A classic life as its topic has it, and as the topic and a log that lacks something have it together."""
    chance = random.Random(seed)
    return _by_topic_and_both(f"{seed}", lived(chance, seed), folder, chance)


def by_topic_of_both_protocols(seed: int, folder: Path) -> Rows:
    """Likewise a life of both protocols, whose coordinator goes down or moves."""
    broker, chance = of_both_protocols(seed)
    return _by_topic_and_both(f"mixed {seed}", broker, folder, chance)


def topic_of_both_protocols(seed: int) -> list[Record]:
    """The records of such a life."""
    return list(Writer(GROUP).write(of_the_group(of_both_protocols(seed)[0])))


def _by_topic_and_both(name: str, broker: Broker, folder: Path, chance: random.Random) -> Rows:
    path = broker.write(folder / f"{name}.log")
    keep_some(path, chance)
    topic = fold(Writer(GROUP).write(of_the_group(broker))).reported.get(GROUP, [])
    log, log_until_ms = logged(path)
    both = merged({GROUP: facts_of(log)}, {GROUP: facts_of(topic)}, log_until_ms, START_MS + LENGTH_MS).merged[GROUP]
    rows = [*_left(log, both.log_left_out, 0), *_left(topic, both.topic_left_out, AFTER_THE_LOGS)]
    return {
        f"topic {name}": list(numbered(topic)),
        f"both {name}": sorted(rows, key=lambda row: (row.at_ms, row.seq)),
    }


def _left(effects: list[Effect], left_out: Iterable[Fact], first_seq: int) -> Iterator[EffectRow]:
    """The rows of an input without the facts that the other one has."""
    out = {fact.seq for fact in left_out}
    return (row_of(effect, first_seq + seq) for seq, effect in enumerate(effects) if seq not in out)


def by_core(seed: int, folder: Path) -> Rows:
    """A life of both protocols whose clients stop at nothing; its coordinator may load it anew in between."""
    found: Rows = {}

    @hypothesis_seed(seed)
    @settings(max_examples=CORE_LIVES_A_SEED, database=None, derandomize=False, phases=[Phase.generate])
    @given(config=configs, before=plays, away_ms=st.sampled_from((-1, 0, 1000, 60_000)), after=plays)
    def play_and_keep(config: GroupConfig, before: list[Move], away_ms: int, after: list[Move]) -> None:
        play = consumer_play(config).make(before)
        if away_ms >= 0:
            play.now_ms += away_ms
            play.load()
        found[f"core {seed}.{len(found)}"] = list(numbered(play.make(after).effects))

    play_and_keep()
    return found


KINDS: Mapping[str, Callable[[int, Path], Rows]] = {
    "core": by_core,
    "log": by_log,
    "topic": by_topic,
    "mixed topic": by_topic_of_both_protocols,
}
"""The lives of a seed, by what reports them."""
