"""Who floods stands in line, who asks for little does not, in virtual time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.turns import TURN_S, Account, Turns


class Loop:
    """Calls one round after another what was asked for in the round before."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def call_soon(self, call: Callable[[], None]) -> None:
        self.due.append(call)

    def round(self) -> None:
        due, self.due = self.due, []
        for call in due:
            call()


def test_one_of_the_line_has_a_turn_a_round_in_the_order_they_came() -> None:
    loop, served = Loop(), []
    turns = Turns(loop.call_soon)
    for name in "abc":
        turns.stand_in_line(lambda name=name: served.append(name))  # type: ignore[misc]
    for done in range(1, 4):
        loop.round()
        assert served == list("abc")[:done]
    assert loop.due == []


def test_who_wants_another_turn_stands_behind_the_others() -> None:
    loop, served = Loop(), []
    turns = Turns(loop.call_soon)

    def flood() -> None:
        served.append("flood")
        turns.stand_in_line(flood)

    turns.stand_in_line(flood)
    loop.round()
    turns.stand_in_line(lambda: served.append("other"))
    for _ in range(3):
        loop.round()
    assert served == ["flood", "flood", "other", "flood"]


def test_a_turn_that_fails_does_not_stop_the_line() -> None:
    loop, served = Loop(), []
    turns = Turns(loop.call_soon)

    def fail() -> None:
        raise ZeroDivisionError

    turns.stand_in_line(fail)
    turns.stand_in_line(lambda: served.append("other"))
    with pytest.raises(ZeroDivisionError):
        loop.round()
    loop.round()
    assert served == ["other"]


def test_a_share_lets_a_heartbeat_a_second_pass_for_ever_and_a_flood_for_a_moment() -> None:
    quiet, flood, now = Account(0.0), Account(0.0), 0.0
    for _ in range(1000):
        now += 1.0
        assert not quiet.is_overdrawn(now)
        quiet.spend(TURN_S)
    turns = 0
    while not flood.is_overdrawn(now):
        flood.spend(TURN_S)
        turns += 1
    assert turns <= 20


def test_a_debt_is_forgotten_after_seconds_however_much_was_used() -> None:
    account = Account(0.0)
    account.spend(1000.0)
    assert account.is_overdrawn(1.0)
    assert not account.is_overdrawn(10.0)
