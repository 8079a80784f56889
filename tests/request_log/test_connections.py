"""When connections show that a broker's process began anew."""

from __future__ import annotations

from rollcall.inputs.request_log.lines.connections import NOT_YET_MS, Connections, Open, Restart


def connections(*requests: tuple[str, int, int]) -> Connections:
    """Requests of clients: `port-thread-number`, when they arrived and when they were answered."""
    made = Connections()
    for name, arrived_ms, answered_ms in requests:
        made.note(f"10.0.0.1:9092-10.0.1.7:{name}", Open(arrived_ms, answered_ms))
    return made


def test_a_number_that_is_given_again_shows_a_restart() -> None:
    made = connections(("1-0-0", 0, 1), ("2-0-1", 500, 1_000), ("3-0-0", 3_000, 3_001), ("4-1-0", 3_500, 4_000))
    assert made.restarts() == [Restart(1_000, 3_000, NOT_YET_MS)]
    assert made.restarts()[0].until_ms == 3_000


def test_it_lasts_until_a_group_is_loaded() -> None:
    made = connections(("1-0-0", 0, 1), ("3-0-0", 3_000, 3_001))
    made.note("10.0.0.1:9092-10.0.1.7:3-0-0", Open(3_900, 3_901, 3_900))
    assert made.restarts()[0].until_ms == 3_900


def test_a_connection_that_was_open_meanwhile_disproves_it() -> None:
    made = connections(("1-0-0", 0, 1), ("2-0-1", 0, 5_000), ("3-0-0", 3_000, 3_001))
    assert made.restarts() == []


def test_of_several_times_none_is_shown() -> None:
    made = connections(("1-0-0", 0, 1), ("2-0-1", 1_000, 1_001), ("3-0-0", 3_000, 3_001))
    assert made.restarts() == []


def test_a_number_without_a_thread_is_given_by_several() -> None:
    """Before Kafka 1.0 a line names no thread, and each counts by itself."""
    made = connections(("1-0", 0, 1), ("2-0", 3_000, 3_001))
    assert made.restarts() == []


def test_parts_of_a_log_together_show_what_the_whole_shows() -> None:
    requests = [("1-0-0", 0, 1), ("2-0-1", 500, 1_000), ("3-0-0", 3_000, 3_001), ("2-0-1", 999, 1_200)]
    for cut in range(len(requests) + 1):
        made = connections(*requests[:cut])
        made.add(connections(*requests[cut:]))
        assert made.restarts() == [Restart(1_200, 3_000, NOT_YET_MS)]
