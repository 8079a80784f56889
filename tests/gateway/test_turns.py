"""Who floods stands in line, who asks for little does not, in virtual time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rollcall.serve.gateway.client_connection import TURN_S, Account, Turns


class Loop:
    """Calls one round after another what was asked for in the round before; each turn takes as long as it says."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []
        self.now = 0.0
        self.served: list[str] = []
        self.turns = Turns(self.due_next, lambda: self.now)

    def due_next(self, call: Callable[[], None]) -> None:
        self.due.append(call)

    def round(self) -> str:
        """Who was served."""
        self.served = []
        due, self.due = self.due, []
        for call in due:
            call()
        return "".join(self.served)

    def enqueue(self, name: str, takes_s: float = 0.01, again: bool = False) -> None:
        def turn() -> None:
            self.served.append(name)
            self.now += takes_s
            if again:
                self.enqueue(name, takes_s, again)

        self.turns.enqueue(turn)


def test_long_turns_are_had_one_a_round_in_the_order_they_came() -> None:
    loop = Loop()
    for name in "abc":
        loop.enqueue(name)
    assert [loop.round() for _ in range(4)] == ["a", "b", "c", ""]
    assert loop.due == []


def test_short_turns_are_had_together_up_to_the_length_of_a_round() -> None:
    loop = Loop()
    for name in "abcdefgh":
        loop.enqueue(name, takes_s=0.002)
    assert [loop.round() for _ in range(4)] == ["abc", "def", "gh", ""]


def test_who_wants_another_turn_stands_behind_the_others() -> None:
    loop = Loop()
    loop.enqueue("flood", again=True)
    assert loop.round() == "flood"
    loop.enqueue("other")
    assert [loop.round() for _ in range(3)] == ["flood", "other", "flood"]


def test_a_turn_that_fails_does_not_stop_the_others() -> None:
    loop = Loop()

    def fail() -> None:
        raise ZeroDivisionError

    loop.turns.enqueue(fail)
    loop.enqueue("other")
    with pytest.raises(ZeroDivisionError):
        loop.round()
    assert loop.round() == "other"


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
    assert account.is_overdrawn(0.1)
    assert not account.is_overdrawn(10.0)
