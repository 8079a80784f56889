"""The check of what a job writes: what it may cost, whom it looks at, what it reports, and that it stops nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from jobs.stream import rule_check
from jobs.stream.rule_check import RuleCheck, broken_rules
from schemas.effect_rows import row_of
from schemas.effects import StateChanged
from schemas.tables import EFFECTS
from tests.written_effects import effect
from views.rules_at_work import Broken, Row, WatchedGroup

T = 1_700_000_000_000


def batch(*facts: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(facts), EFFECTS.arrow)


def fact(group_id: str, at_ms: int, kind: str) -> dict[str, Any]:
    return {"group_id": group_id, "seq": 0, "effect": kind, "at_ms": T + at_ms}


def made(group_id: str) -> dict[str, Any]:
    return fact(group_id, 0, "group_created")


def broken(group_id: str) -> dict[str, Any]:
    moved = effect(StateChanged, T + 1, from_state="Stable", to_state="PreparingRebalance")
    return fact(group_id, 1, "state_changed") | {"detail": row_of(moved, 0).detail}


def test_a_broken_rule_is_found_over_batches_and_reported_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    check = RuleCheck(clock=lambda: 0.0)
    assert check.look(batch(made("orders"), made("bills")), 1.0) == ()
    (found,) = check.look(batch(fact("orders", 1, "timer_armed"), broken("orders")), 1.0)
    assert (found.rule, found.group_id, found.at_ms) == ("states_follow_kafka", "orders", T + 1)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "rollcall: states_follow_kafka: A group goes from the state that it was in to one that Kafka's table"
    )
    assert "Group 'orders' breaks it" in line
    assert "Empty, then Stable -> PreparingRebalance" in line


def test_of_a_batch_only_the_first_are_reported_and_all_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    facts = [each for name in "abcdef" for each in (made(name), broken(name))]
    found = RuleCheck(clock=lambda: 0.0).look(batch(*facts), 1.0)
    assert (len(found), len(capsys.readouterr().err.splitlines())) == (6, rule_check.SHOWN)
    (counted,) = broken_rules(found)
    assert (counted.rule, counted.times) == ("states_follow_kafka", 6)
    assert "Group 'f' breaks it" in counted.last


def test_it_costs_a_hundredth_of_what_batches_cost_and_looks_at_as_many_groups_as_that_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group costs 10 us here, and a batch with facts of 3,000 of them 0.1 s."""
    now_s = 0.0
    looked: list[str] = []

    class Costly(WatchedGroup):
        def take(self, rows: Sequence[Row]) -> Iterator[Broken]:
            nonlocal now_s
            now_s += 10e-6
            looked.append(self.group_id)
            return super().take(rows)

    monkeypatch.setattr(rule_check, "WatchedGroup", Costly)
    check = RuleCheck(clock=lambda: now_s)
    facts = batch(*(made(f"group-{number}") for number in range(3_000)))
    for _ in range(200):
        check.look(facts, 0.1)
    assert check.spent_s <= 0.01 * check.batches_s + 0.003
    last = len(looked)
    check.look(facts, 0.1)
    once = looked[last:]
    assert 20 < len(once) <= 100
    check.look(facts, 0.1)
    assert looked[last + len(once) :] == once
    for _ in range(20):
        check.look(facts, 10.0)
    assert len(set(looked)) == 3_000


def test_a_group_that_was_not_looked_at_is_begun_anew() -> None:
    check = RuleCheck(clock=lambda: 0.0)
    check.look(batch(made("orders")), 1.0)
    assert check.look(batch(broken("orders")), 0.0) == ()
    assert check.look(batch(broken("orders")), 1.0) == ()


def test_an_error_of_the_check_is_reported_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    check = RuleCheck(clock=lambda: 0.0)
    unreadable = fact("orders", 1, "state_changed") | {"detail": "{"}
    for _ in range(3):
        assert check.look(batch(unreadable), 1.0) == ()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert len(check.look(batch(made("orders"), broken("orders")), 1.0)) == 1


def test_no_more_groups_are_remembered_than_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_check, "MOST_GROUPS", 2)
    check = RuleCheck(clock=lambda: 0.0)
    check.look(batch(made("a"), made("b"), made("c")), 1.0)
    assert check.look(batch(broken("a")), 1.0) == ()
    assert len(check.look(batch(broken("c")), 1.0)) == 1
