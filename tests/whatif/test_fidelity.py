"""How like two stories of a group are called."""

from __future__ import annotations

import pytest

from rollcall.answers.whatif.answer import share_of
from rollcall.answers.whatif.fidelity import fidelity_of
from rollcall.answers.whatif.outcome import Begun, Outcome


def outcome(causes: str, stopped_member_ms: int = 0, culprits: str | None = None) -> Outcome:
    """A story of causes and culprits, a letter each."""
    begun = [Begun(i, cause, who) for i, (cause, who) in enumerate(zip(causes, culprits or causes, strict=True))]
    rebalances = len(begun)
    return Outcome(rebalances=rebalances, generations=rebalances, stopped_member_ms=stopped_member_ms, begun=begun)


@pytest.mark.parametrize(
    ("recorded", "played", "matched", "share"),
    [
        ("jjl", "jjl", 3, 1.0),
        ("jjl", "jl", 2, 2 / 3),
        ("jl", "jjl", 2, 2 / 3),
        ("jle", "jel", 2, 2 / 3),
        ("jj", "ll", 0, 0.0),
        ("", "", 0, 1.0),
        ("", "j", 0, 0.0),
    ],
)
def test_rebalances_are_the_same_that_both_tell_in_order(
    recorded: str, played: str, matched: int, share: float
) -> None:
    found = fidelity_of(outcome(recorded), outcome(played))
    assert (found.matched, found.share) == (matched, share)
    assert found.has_same_rebalances == (recorded == played)


def test_the_same_cause_by_another_is_matched_and_distinguished() -> None:
    found = fidelity_of(outcome("jjl", culprits="abc"), outcome("jjl", culprits="axc"))
    assert (found.matched, found.same_culprit) == (3, 2)


@pytest.mark.parametrize(
    ("recorded_ms", "played_ms", "alike"), [(20_000, 25_000, True), (20_000, 28_000, False), (100, 3000, True)]
)
def test_stopped_times_are_alike_within_a_quarter_or_a_heartbeat_a_rebalance(
    recorded_ms: int, played_ms: int, alike: bool
) -> None:
    assert fidelity_of(outcome("j", recorded_ms), outcome("j", played_ms)).is_stopped_alike is alike


def test_the_share_of_many_groups_weighs_each_by_its_rebalances() -> None:
    pairs = [("jjjj", "jjjj"), ("j", "")]
    assert share_of(fidelity_of(outcome(a), outcome(b)) for a, b in pairs) == pytest.approx(4 / 5)
    assert share_of([]) == 1.0
