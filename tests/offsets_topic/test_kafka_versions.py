"""What Kafka 4.4 writes that 4.3 does not: the assignment epoch of an Empty group, epochs that votes raise."""

from __future__ import annotations

from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import TargetAssigned
from tests.offsets_topic.by_hand import G, T, epoch, forming, gone, last_cause, member, target_epoch
from tests.offsets_topic.folded import fold


def test_an_empty_group_is_assigned_nothing() -> None:
    folded = fold([*forming(0, "one"), *gone(60_000, "one"), epoch(60_000, 3), target_epoch(60_000, 3)])
    assert [assigned.generation_id for assigned in folded.of(G, TargetAssigned)] == [2]


def test_a_member_that_asks_for_another_assignor_raises_the_epoch() -> None:
    folded = fold([*forming(0, "one"), member(60_000, "one", T, vote="range"), epoch(60_000, 3)])
    cause = last_cause(folded)
    assert (cause.kind, cause.client_id, cause.is_inferred) == (CauseKind.SUBSCRIPTION_CHANGED, "one", False)


def test_a_vote_beside_changed_topics_is_not_the_cause() -> None:
    folded = fold([*forming(0, "one"), member(60_000, "one", T, vote="range"), epoch(60_000, 3, hash_=8)])
    assert last_cause(folded).kind == CauseKind.METADATA_CHANGED
