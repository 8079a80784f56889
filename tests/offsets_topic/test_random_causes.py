"""Random lives and recorded incidents, by the topic alone: what is told of a cause is true, or leaves it open; and of a
group that changes its protocol and its coordinator, so is each conversion, each epoch, and who owned what in the end.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.schemas.causes import Cause
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import (
    Assigned,
    Effect,
    MemberRemoved,
    OffsetsCommitted,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
)
from tests.nightly import nightly_but
from tests.offsets_topic.folded import CAPTURES, fold
from tests.offsets_topic.half_logs import lived, settled
from tests.offsets_topic.written import Writer
from tests.request_log.imported import imported
from tests.request_log.truth import NAMES
from tests.views.random_lives import GROUP, of_both_protocols

LIVES = (*range(40), 42, 52, 75, 101, 167, 244)
EXACT_AT_LEAST = 0.65
"""Members of these lives seldom commit, so that less can be inferred than from a client's usual commits."""
MIXED = (*range(30), 43, 53, 66, 90, 93, 156, 347)
SILENT = (244, 518)
"""Members that took no step for longer than members do and then left: their coordinator was away, or they were stopped.
The records are those of an expiry."""
MANY = tuple(seed for seed in range(600) if seed not in SILENT)

mixed_lives = pytest.mark.parametrize("seed", nightly_but(MIXED, MANY))


@cache
def causes(life: int | str) -> list[tuple[Cause, Cause]]:
    """As the topic has them, and as they were: of a random life by its seed, or of an incident's groups by its name."""
    groups: dict[str, list[Effect]] = defaultdict(list)
    if isinstance(life, str):
        for group, effect in imported(CAPTURES / life / "requests.log.gz").effects:
            groups[group].append(effect)
    else:
        effects = lived(random.Random(life), life).effects
        groups[GROUP] += without_strangers_commits(effect for group, effect in effects if group == GROUP)
    found = []
    for group, truth in groups.items():
        ours, theirs = fold(list(Writer(group).write(truth)), {}).of(group, RebalanceEnded), settled(truth)
        assert [(one.from_generation_id, one.to_generation_id) for one in ours] == [step[:2] for step in theirs], group
        found += [(one.cause, cause) for one, (_, _, cause) in zip(ours, theirs, strict=True)]
    assert found
    return found


@cache
def mixed_life(seed: int) -> tuple[list[Effect], list[Effect]]:
    """A life of both protocols, as its topic has it, and as it was."""
    broker, _ = of_both_protocols(seed)
    truth = list(without_strangers_commits(effect for group, effect in broker.effects if group == GROUP))
    return fold(Writer(GROUP).write(truth)).reported.get(GROUP, []), truth


def without_strangers_commits(effects: Iterable[Effect]) -> Iterator[Effect]:
    """A client commits what it owns; the members of these lives may commit what another one has."""
    owned = Owned()
    for effect in effects:
        owned.take(effect)
        if not isinstance(effect, OffsetsCommitted) or {
            (one.topic, one.partition) for one in effect.offsets
        } <= owned.by_member.get(effect.member_id, set()):
            yield effect


class Owned:
    """What each member owns by the facts so far."""

    def __init__(self) -> None:
        self.by_member: dict[str, set[tuple[str, int]]] = {}
        self.is_certain = True
        """Not while a classic group rebalances: by its topic the generation before goes on."""

    def take(self, effect: Effect) -> None:
        match effect:
            case Assigned():
                owned = {(one.topic, number) for one in effect.partitions or () for number in one.partitions}
                self.by_member[effect.member_id] = owned
            case MemberRemoved():
                self.by_member.pop(effect.member_id, None)
            case StateChanged():
                self.is_certain = effect.to_state not in ("PreparingRebalance", "CompletingRebalance")
            case _:
                pass


def owned_by(effects: Iterable[Effect]) -> Owned:
    owned = Owned()
    for effect in effects:
        owned.take(effect)
    owned.by_member = {member_id: partitions for member_id, partitions in owned.by_member.items() if partitions}
    return owned


def epochs_of(effects: Iterable[Effect]) -> list[RebalanceEnded]:
    """The rebalances of a consumer group that are over, also those that a downgrade ended."""
    is_consumer, is_of_epoch, found = False, False, list[RebalanceEnded]()
    for effect in effects:
        match effect:
            case GroupTypeChanged():
                is_consumer = effect.to_type == GroupType.CONSUMER
            case RebalanceStarted():
                is_of_epoch = is_consumer
            case RebalanceEnded() if is_of_epoch:
                is_of_epoch = False
                found.append(effect)
            case _:
                pass
    return found


def assert_true_or_open(ours: Cause, theirs: Cause) -> None:
    assert theirs.kind in ({ours.kind} if ours.kind != "unknown" else {one.kind for one in ours.candidates})
    assert ours.is_inferred or ours.kind == theirs.kind
    if ours.member_id and not ours.is_inferred:
        assert ours.member_id == theirs.member_id


@pytest.mark.parametrize("life", [*LIVES, *NAMES])
def test_a_named_cause_is_true_and_an_open_one_has_the_true_one_as_candidate(life: int | str) -> None:
    for ours, theirs in causes(life):
        assert_true_or_open(ours, theirs)


@pytest.mark.parametrize(("lives", "least"), [(LIVES, EXACT_AT_LEAST), (NAMES, 0.8)], ids=["random", "recorded"])
def test_most_causes_are_exact(lives: Iterable[int | str], least: float) -> None:
    found = Counter(ours.kind == theirs.kind for life in lives for ours, theirs in causes(life))
    assert found[True] / found.total() >= least


@mixed_lives
def test_each_conversion_is_reported_as_it_was(seed: int) -> None:
    ours, theirs = (
        [(one.why, one.at_ms, one.generation_id) for one in effects if isinstance(one, GroupTypeChanged)]
        for effects in mixed_life(seed)
    )
    assert ours == theirs


@mixed_lives
def test_each_epoch_is_reported_as_it_was(seed: int) -> None:
    ours, theirs = (
        [
            (
                *(one.from_generation_id, one.to_generation_id, one.started_at_ms, one.at_ms, one.outcome),
                *(one.members_before, one.members_after, sorted(one.joined)),
            )
            for one in epochs_of(effects)
        ]
        for effects in mixed_life(seed)
    )
    assert ours == theirs


@mixed_lives
def test_a_named_cause_of_an_epoch_is_true_and_an_open_one_has_the_true_one_as_candidate(seed: int) -> None:
    topic, truth = mixed_life(seed)
    for ours, theirs in zip(epochs_of(topic), epochs_of(truth), strict=True):
        assert_true_or_open(ours.cause, theirs.cause)


@mixed_lives
def test_who_owns_what_in_the_end_is_reported_as_it_is(seed: int) -> None:
    topic, truth = mixed_life(seed)
    theirs = owned_by(truth)
    if theirs.is_certain:
        assert owned_by(topic).by_member == theirs.by_member


def test_these_lives_have_all_kinds_of_conversions_and_most_of_their_causes_are_exact() -> None:
    lives = [mixed_life(seed) for seed in MIXED]
    changes = {one.why for _, truth in lives for one in truth if isinstance(one, GroupTypeChanged)}
    assert changes == {"created", "replaced", "upgraded", "downgraded"}
    epochs = [pair for topic, truth in lives for pair in zip(epochs_of(topic), epochs_of(truth), strict=True)]
    exact = [ours.cause.kind == theirs.cause.kind for ours, theirs in epochs]
    assert sum(exact) / len(exact) >= EXACT_AT_LEAST
