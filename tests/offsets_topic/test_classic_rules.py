"""The rules for classic groups, held against every recorded incident: its topic as a broker would have written it."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

import pytest

from rollcall.schemas.effects import Effect, RebalanceEnded
from tests.offsets_topic.folded import CAPTURES, fold
from tests.offsets_topic.half_logs import Step, settled
from tests.offsets_topic.written import Writer
from tests.request_log.imported import imported
from tests.request_log.truth import NAMES

EXACT_AT_LEAST = 0.8


@cache
def beside_the_log(name: str) -> list[tuple[str, Step, Step]]:
    """(group, as the topic has it, as the log has it) of each rebalance that is in the topic."""
    groups: dict[str, list[Effect]] = defaultdict(list)
    for group, effect in imported(CAPTURES / name / "requests.log.gz").effects:
        groups[group].append(effect)
    found = []
    for group, effects in groups.items():
        folded = fold(list(Writer(group).write(effects)), {})
        ours = [(e.from_generation_id, e.to_generation_id, e.cause) for e in folded.of(group, RebalanceEnded)]
        theirs = settled(effects)
        assert [step[:2] for step in ours] == [step[:2] for step in theirs], group
        found += [(group, *steps) for steps in zip(ours, theirs, strict=True)]
    assert found
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_named_cause_is_true_and_an_open_one_has_the_true_one_as_candidate(name: str) -> None:
    for group, (start, end, ours), (_, _, theirs) in beside_the_log(name):
        fits = {ours.kind} if ours.kind != "unknown" else {one.kind for one in ours.candidates}
        assert theirs.kind in fits, f"{group} {start} -> {end}"
        assert ours.is_inferred or ours.kind == theirs.kind


@pytest.mark.parametrize("name", NAMES)
def test_a_culprit_that_is_named_as_certain_is_the_true_one(name: str) -> None:
    for group, (start, end, ours), (_, _, theirs) in beside_the_log(name):
        if ours.member_id and not ours.is_inferred:
            assert ours.member_id == theirs.member_id, f"{group} {start} -> {end}"


def test_most_causes_are_exact() -> None:
    found = Counter(
        "exact" if ours.kind == theirs.kind else "open"
        for name in NAMES
        for _, (_, _, ours), (_, _, theirs) in beside_the_log(name)
    )
    assert found["exact"] / found.total() >= EXACT_AT_LEAST
