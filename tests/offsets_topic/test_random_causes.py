"""Random lives of a classic group, by its topic alone: what is told of a cause is true, or leaves it open."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from schemas.causes import Cause
from schemas.effects import Assigned, Effect, OffsetsCommitted, RebalanceEnded
from tests.offsets_topic.folded import fold
from tests.offsets_topic.half_logs import lived, settled
from tests.offsets_topic.written import Writer

LIVES = (*range(40), 42, 52, 75, 101, 167, 244)
EXACT_AT_LEAST = 0.65
"""Members of these lives seldom commit, so that less can be told than of a client's usual commits."""


@cache
def causes(seed: int) -> list[tuple[Cause, Cause]]:
    """As the topic tells them, and as they were."""
    broker = lived(random.Random(seed), seed)
    truth = list(without_strangers_commits(effect for group, effect in broker.effects if group == "g"))
    ours = fold(list(Writer("g").write(truth)), {}).of("g", RebalanceEnded)
    theirs = settled(truth)
    assert [(one.from_generation_id, one.to_generation_id) for one in ours] == [step[:2] for step in theirs]
    return [(one.cause, cause) for one, (_, _, cause) in zip(ours, theirs, strict=True)]


def without_strangers_commits(effects: Iterable[Effect]) -> Iterator[Effect]:
    """A client commits what it owns; the members of these lives commit the first partition, whoever has it."""
    owner = ""
    for effect in effects:
        if isinstance(effect, Assigned) and any(0 in one.partitions for one in effect.partitions or ()):
            owner = effect.member_id
        if not isinstance(effect, OffsetsCommitted) or effect.member_id == owner:
            yield effect


@pytest.mark.parametrize("seed", LIVES)
def test_no_cause_is_told_that_was_not_or_left_out_that_was(seed: int) -> None:
    for ours, theirs in causes(seed):
        assert theirs.kind in ({ours.kind} if ours.kind != "unknown" else {one.kind for one in ours.candidates})
        if ours.member_id and not ours.is_inferred:
            assert ours.member_id == theirs.member_id


def test_most_causes_are_exact() -> None:
    found = Counter(ours.kind == theirs.kind for seed in LIVES for ours, theirs in causes(seed))
    assert found[True] / found.total() >= EXACT_AT_LEAST
