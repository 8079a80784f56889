"""Every rebalance of random histories, of clients that stop at nothing and of fleets that behave, can be explained."""

from __future__ import annotations

from rollcall.answers.why.explanation import Explanation, explain
from rollcall.answers.why.sections import lines_of
from rollcall.history.facts import effects_in, facts_of
from rollcall.history.rebalances import Span, rebalances_of
from tests.views.random_homes import random_histories
from tests.why.reading import as_columns, reader_of

PLAYS, FLEETS = 60, 10


def check(found: Explanation) -> None:
    rebalance = found.rebalance
    lines = lines_of(found)
    assert not [line for line in lines if "None" in line.text or not line.text.strip()]
    assert found.round_from_ms <= rebalance.started_at_ms
    assert all(move.before != move.after for move in found.moves)
    assert all(unheld_ms >= 0 for unheld_ms in found.unheld_ms.values())
    if found.standstill is not None and found.standstill[1] is not None:
        assert found.standstill[0] <= found.standstill[1]
    for part in found.parts:
        came_ms, back_ms = part.moments.get("rejoined", 0), part.moments.get("back", 2**53)
        assert came_ms <= back_ms
    assert rebalance.cause.member_id not in {slack.name for slack in found.slack}
    if rebalance.members_after is not None and rebalance.outcome == "completed":
        still = [part for part in found.parts if part.is_member and part.end_cause is None]
        assert len(still) >= rebalance.members_after


def test_every_rebalance_is_explained_and_nothing_contradicts_itself() -> None:
    count = 0
    for name, history in random_histories(PLAYS, FLEETS).items():
        for one in rebalances_of(effects_in(facts_of(map(as_columns, history.rows)))):
            at = Span(one.started_at_ms, one.started_at_ms, "then")
            check(explain(name, reader_of(history.rows), at=at))
            count += 1
    assert count > 200
