"""A request log and the topic of one cluster, read bit by bit: the history is that of both read at once."""

from __future__ import annotations

import random
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path

import msgspec
import pytest

from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.beside_log.merging import Decided, GroupMerged, Merging
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, MemberJoined, MemberRemoved, OffsetsCommitted, RebalanceEnded
from tests.nightly import nightly_but
from tests.offsets_topic.beside import both_of, merge, merged
from tests.offsets_topic.folded import NAMES
from tests.offsets_topic.half_logs import (
    LENGTH_MS,
    LIVES,
    generations_of,
    generations_reported,
    members_reported,
    reported_of,
)
from tests.request_log.broker import START_MS

Coming = list[tuple[int, int, Fact]]
"""Facts by when they are read, and 1 if the topic has them, 0 if the log."""
HOLD_MS, LATE_MS = 60_000, 30_000
AN_HOUR_MS = 3_600_000
FOREVER_MS = 1 << 60


def bit_by_bit(coming: Coming, chance: random.Random, hold_ms: int) -> Decided:
    """What is decided of facts as they come. The merging is written down and read again all the time."""
    merging, decided = Merging(), Decided()
    coming = sorted(coming, key=itemgetter(0, 1))
    now_ms = coming[0][0] if coming else 0
    while coming:
        now_ms = max(coming[0][0], now_ms + chance.choice([50, 500, 5_000]))
        come = [one for one in coming if one[0] <= now_ms]
        del coming[: len(come)]
        merging.take(*([fact for _, is_topic, fact in come if is_topic == which] for which in (0, 1)))
        merging.group = msgspec.msgpack.decode(msgspec.msgpack.encode(merging.group), type=GroupMerged)
        add(decided, merging.decide(now_ms - hold_ms))
    add(decided, merging.decide(now_ms + HOLD_MS))
    add(decided, merging.end(FOREVER_MS, FOREVER_MS))
    return decided


def late(log: list[Fact], topic: list[Fact], chance: random.Random) -> Coming:
    """Each fact some time after it can be known, those of one input in any order too."""
    coming = [(fact.at_ms + chance.randint(0, LATE_MS), 0, fact) for fact in log]
    return coming + [(known_ms(topic, n) + chance.randint(0, LATE_MS), 1, fact) for n, fact in enumerate(topic)]


def known_ms(topic: list[Fact], place: int) -> int:
    """When a fact's record is written: a generation's record comes with the assignment."""
    fact = topic[place]
    if fact.effect not in (EffectName.MEMBER_JOINED, EffectName.MEMBER_REMOVED, EffectName.JOIN_PHASE_ENDED):
        return fact.at_ms
    ends = (one.at_ms for one in topic[place:] if one.effect == EffectName.REBALANCE_ENDED)
    return min(next(ends, fact.at_ms), fact.at_ms + HOLD_MS - LATE_MS)


def add(decided: Decided, more: Decided) -> None:
    for name in Decided.__dataclass_fields__:
        setattr(decided, name, getattr(decided, name) + getattr(more, name))


def merged_at_once(log: list[Fact], topic: list[Fact]) -> Decided:
    return merge(log, topic, FOREVER_MS, FOREVER_MS)


def expect_the_same(live: Decided, whole: Decided) -> None:
    for name in ("log_kept", "log_left_out", "topic_kept", "topic_left_out"):
        assert sorted(getattr(live, name), key=str) == sorted(getattr(whole, name), key=str)
    assert (live.compared, live.differences) == (whole.compared, whole.differences)


@pytest.mark.parametrize("seed", nightly_but(LIVES[::3], LIVES))
def test_facts_that_come_in_any_order_make_the_history_of_all_at_once(seed: int, tmp_path: Path) -> None:
    log, _, topic, _ = reported_of(seed, tmp_path)
    chance = random.Random(seed)
    expect_the_same(bit_by_bit(late(log, topic, chance), chance, HOLD_MS), merged_at_once(log, topic))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("from_share", "to_share"), [(0.0, 1.0), (0.4, 0.8)])
def test_so_do_those_of_a_recorded_cluster(name: str, from_share: float, to_share: float, tmp_path: Path) -> None:
    both, chance = both_of(name, tmp_path, from_share, to_share), random.Random(name)
    for group in both.merged:
        log, topic = both.log.get(group, []), both.topic.get(group, [])
        expect_the_same(bit_by_bit(late(log, topic, chance), chance, HOLD_MS), merged_at_once(log, topic))


@pytest.mark.parametrize("hold_ms", [2_000, -AN_HOUR_MS], ids=["a-short-hold", "a-clock-an-hour-ahead"])
@pytest.mark.parametrize("seed", nightly_but(LIVES[::3], LIVES))
def test_a_log_that_comes_later_than_it_is_waited_for_repeats_nothing(seed: int, hold_ms: int, tmp_path: Path) -> None:
    log, _, topic, truth = reported_of(seed, tmp_path)
    chance = random.Random(seed)
    delays = sorted((START_MS + chance.randint(0, LENGTH_MS), chance.choice([0, 500, 20_000])) for _ in range(4))
    coming: Coming = [(known_ms(topic, n) + 300, 1, fact) for n, fact in enumerate(topic)]
    read_ms = 0
    for fact in log:
        delay_ms = next((delay for since, delay in reversed(delays) if since <= fact.at_ms), 0)
        read_ms = max(read_ms, fact.at_ms + delay_ms)
        coming.append((read_ms, 0, fact))
    decided = bit_by_bit(coming, chance, hold_ms)
    facts = [(fact.at_ms, 0, fact.seq, fact) for fact in decided.log_kept]
    facts += [(fact.at_ms, 1, fact.seq, fact) for fact in decided.topic_kept]
    history = [fact for *_, fact in sorted(facts, key=itemgetter(0, 1, 2))]
    assert generations_reported(history) == generations_of(truth)
    members_reported(history)


# ---------------------------------------------------------------- random logs
# They begin late, end early and lose lines. Whatever is missing, the history of both is the broker's.


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
