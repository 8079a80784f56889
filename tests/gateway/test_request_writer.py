"""How often the gateway appends to the request table."""

from __future__ import annotations

from rollcall.serve.gateway.tables.request_sink import AT_ONCE_MAX, Pace


def begun(pace: Pace, from_s: float, count: int) -> list[float]:
    """When appends begin that have something to append all the time."""
    times = list[float]()
    for _ in range(count):
        times.append(from_s)
        from_s = max(from_s, pace.next_after(from_s))
    return times


def test_a_few_appends_begin_at_once_and_later_ones_once_an_interval() -> None:
    later = [float(number) for number in range(100, 100 + AT_ONCE_MAX)]
    assert begun(Pace(1.0), 99.0, 2 * AT_ONCE_MAX) == [99.0] * AT_ONCE_MAX + later


def test_a_pause_earns_appends_at_once_but_no_more_than_a_few() -> None:
    pace = Pace(1.0)
    begun(pace, 0.0, 2 * AT_ONCE_MAX)
    assert begun(pace, AT_ONCE_MAX + 3.0, 4) == [AT_ONCE_MAX + 3.0] * 3 + [AT_ONCE_MAX + 4.0]
    assert begun(pace, 1000.0, AT_ONCE_MAX + 1) == [1000.0] * AT_ONCE_MAX + [1001.0]
