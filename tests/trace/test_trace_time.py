"""Virtual time: what fires before a request, with it, and not at all; many groups in one order."""

from __future__ import annotations

from tests.trace.lines import Line, ask, by_id, heartbeat, join, sync, tick, traced

STABLE = [join(0, "j", bind="m"), sync(0, "s", "$m")]
"""A member whose session of 10,000 ms began at 0."""


def removed_at(lines: list[Line]) -> list[int]:
    return [line["at_ms"] for line in lines if line.get("effect") == "member_removed"]


def test_a_deadline_before_a_request_fires_at_its_own_time_and_a_tie_goes_to_the_request() -> None:
    in_time = traced(*STABLE, heartbeat(10_000, "h", "$m"), effects=True)
    assert by_id(in_time)["h"]["error_code"] == "NONE"
    late = traced(*STABLE, heartbeat(10_001, "h", "$m"), effects=True)
    assert by_id(late)["h"]["error_code"] == "UNKNOWN_MEMBER_ID"
    assert removed_at(late) == [10_000]


def test_a_request_of_another_group_lets_time_pass_as_well() -> None:
    assert removed_at(traced(*STABLE, heartbeat(10_001, "h", "x", group_id="other"), effects=True)) == [10_000]


def test_a_tick_fires_all_up_to_and_at_its_time_and_answers_nothing() -> None:
    assert removed_at(traced(*STABLE, tick(9_999), effects=True)) == []
    assert removed_at(traced(*STABLE, tick(10_000), effects=True)) == [10_000]
    assert traced(tick(10**15)) == []


def test_after_a_tick_a_request_of_the_same_moment_comes_too_late() -> None:
    lines = traced(*STABLE, tick(10_000), heartbeat(10_000, "h", "$m"))
    assert by_id(lines)["h"]["error_code"] == "UNKNOWN_MEMBER_ID"


def test_the_end_of_the_input_fires_nothing() -> None:
    lines = traced(join(0, "j"), config=["group.initial.rebalance.delay.ms=3000"], effects=True)
    assert "j" not in by_id(lines)
    assert {line["at_ms"] for line in lines} == {0}


def test_a_timer_of_length_zero_fires_at_once() -> None:
    lines = traced(join(7, "j", rebalance_timeout_ms=0), effects=True)
    assert (by_id(lines)["j"]["error_code"], by_id(lines)["j"]["at_ms"]) == ("NONE", 7)
    assert removed_at(lines) == [7]


def test_one_long_tick_fires_deadlines_that_deadlines_have_armed() -> None:
    lines = traced(
        join(0, "a", bind="a", session_timeout_ms=100_000),
        sync(0, "s", "$a"),
        join(10, "b", rebalance_timeout_ms=5000),
        tick(1_000_000),
        effects=True,
    )
    assert by_id(lines)["b"]["at_ms"] == 60_010
    assert removed_at(lines) == [60_010, 65_010]


def test_deadlines_of_many_groups_fire_in_one_order_of_time() -> None:
    joins = [join(n, f"j{n}", group_id=f"g{n}", session_timeout_ms=40_000 - 1000 * n) for n in range(30)]
    lines = traced(*joins, tick(200_000), config=["group.initial.rebalance.delay.ms=3000"], effects=True)
    times = [line["at_ms"] for line in lines]
    assert times == sorted(times)
    gone = [(line["at_ms"], line["group_id"]) for line in lines if line.get("effect") == "member_removed"]
    assert gone == [(43_000 - 999 * n, f"g{n}") for n in reversed(range(30))]


def test_a_group_that_is_gone_and_comes_back_begins_anew() -> None:
    delete = ask(2, "d", "DeleteGroups", 2, groups_names=["g"])
    lines = traced(join(0, "a", api_version=4), delete, join(3, "b"), tick(10_000), effects=True)
    assert [line["at_ms"] for line in lines if line.get("effect") == "group_created"] == [0, 3]
    assert by_id(lines)["b"]["generation_id"] == 1
    assert "pending_member_removed" not in [line.get("effect") for line in lines]


def test_the_same_lines_give_the_same_answers() -> None:
    lines = [*STABLE, join(5, "k"), tick(100_000)]
    assert traced(*lines, effects=True) == traced(*lines, effects=True)


def test_a_long_time_costs_by_what_is_due_in_it_and_not_by_its_length() -> None:
    """Each group is swept every ten minutes; in a hundred years only what expires is worth a sweep."""
    commit = {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]}
    commits = [ask(0, f"c{n}", "OffsetCommit", 8, group_id=f"g{n}", **commit) for n in range(20)]
    forever = ["offsets.retention.minutes=2147483647", "offsets.retention.check.interval.ms=1"]
    assert traced(*commits, tick(3 * 10**12), config=forever, effects=True)[-1]["at_ms"] == 0
    month = traced(*commits, tick(3 * 10**12), config=["offsets.retention.minutes=43200"], effects=True)
    removed = [line for line in month if line.get("effect") == "group_removed"]
    assert {line["at_ms"] for line in removed} == {43_200 * 60_000}
    assert len(removed) == 20


def test_a_join_phase_that_nobody_joins_is_reported_once_a_second_however_short_it_is() -> None:
    static = {"api_version": 5, "group_instance_id": "i", "rebalance_timeout_ms": 1, "session_timeout_ms": 1_800_000}
    lines = traced(
        join(0, "a", bind="a", **static),
        sync(0, "s", "$a"),
        join(10, "b", bind="b", rebalance_timeout_ms=1),
        tick(11),
        ask(11, "l", "LeaveGroup", 3, group_id="g", members=[{"member_id": "$b"}]),
        tick(2_000_000),
        effects=True,
    )
    assert removed_at(lines) == [11, 1_800_011]
    assert 1_795 <= sum(line.get("effect") == "timer_armed" for line in lines) <= 1_805
