"""The time of day that never goes back: beside a clock on the wall that is set, and a machine that sleeps."""

from __future__ import annotations

from tests.programs.set_clocks import Machine, T

HOUR_MS, SECOND_MS, TEN_MINUTES_MS = 3_600_000, 1000, 600_000


def test_it_is_the_clock_on_the_wall_while_nobody_sets_that() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.run(SECOND_MS)
    assert clock.now_ms() == T + SECOND_MS == machine.wall_ms


def test_set_back_an_hour_it_goes_on_from_where_it_was_until_the_wall_has_caught_up() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall_ms -= HOUR_MS
    machine.run(SECOND_MS)
    assert clock.now_ms() == T + SECOND_MS
    machine.run(SECOND_MS)
    assert clock.now_ms() == T + 2 * SECOND_MS
    machine.wall_ms += HOUR_MS + SECOND_MS
    assert clock.now_ms() == machine.wall_ms


def test_set_forward_an_hour_it_follows() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall_ms += HOUR_MS
    assert clock.now_ms() == T + HOUR_MS


def test_after_ten_minutes_of_sleep_it_is_as_late_as_the_wall() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall_ms += TEN_MINUTES_MS
    assert clock.now_ms() == T + TEN_MINUTES_MS
