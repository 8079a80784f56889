"""`--effects`: the story of a group, line by line, between the answers."""

from __future__ import annotations

from tests.trace.lines import Line, ask, by_id, join, sync, tick, traced


def story(lines: list[Line]) -> list[str]:
    """Each line in one word: an answer by its request, everything else by its kind."""
    return [line.get("effect") or f"answer {line['request_id']}" for line in lines]


def test_without_the_option_there_are_answers_only_and_with_it_the_same_ones_in_the_same_order() -> None:
    lines = join(0, "a", bind="a"), sync(1, "s", "$a"), join(2, "b"), tick(100_000)
    plain, reported = traced(*lines), traced(*lines, effects=True)
    assert plain == [line for line in reported if "effect" not in line]
    assert len(reported) > len(plain)


def test_the_first_member_of_a_group_makes_this_story() -> None:
    reported = traced(join(0, "a", bind="a"), sync(20, "s", "$a"), effects=True)
    assert [word for word in story(reported) if word != "timer_armed"] == [
        "group_created",
        "member_joined",
        "request_parked",
        "rebalance_started",
        "state_changed",
        "join_received",
        "state_changed",
        "join_phase_ended",
        "answer a",
        "sync_received",
        "request_parked",
        "answer s",
        "state_changed",
        "assigned",
        "rebalance_ended",
    ]
    assert {line["group_id"] for line in reported if "effect" in line} == {"g"}


def test_every_line_of_the_story_says_when_and_of_which_group() -> None:
    reported = traced(join(0, "a"), join(0, "b", group_id="other"), tick(100_000), effects=True)
    assert all(list(line)[:3] == ["at_ms", "group_id", "effect"] for line in reported if "effect" in line)
    assert [line["at_ms"] for line in reported] == sorted(line["at_ms"] for line in reported)


def test_a_rebalance_names_who_set_it_off_who_came_who_went_and_who_was_waited_for() -> None:
    reported = traced(
        join(0, "a", bind="a", session_timeout_ms=30_000, api_version=3),
        sync(0, "sa", "$a"),
        join(1000, "b", bind="b", session_timeout_ms=30_000),
        join(4000, "a2", member_id="$a", client_id="client-a", session_timeout_ms=30_000),
        sync(4000, "sb", "$b", generation_id=2),
        sync(4500, "sa2", "$a", generation_id=2),
        effects=True,
    )
    ended = [line for line in reported if line.get("effect") == "rebalance_ended"][-1]
    ids = by_id(reported)
    assert ended["cause"]["kind"] == "member_joined"
    assert ended["cause"]["client_id"] == "client-b"
    assert (ended["from_generation_id"], ended["to_generation_id"], ended["outcome"]) == (1, 2, "completed")
    assert (ended["started_at_ms"], ended["at_ms"]) == (1000, 4500)
    assert (ended["members_before"], ended["members_after"]) == (1, 2)
    assert (ended["joined"], ended["left"], ended["expired"]) == (["client-b"], [], [])
    assert ended["slowest_member_id"] == ids["a2"]["member_id"]
    assert (ended["slowest_client_id"], ended["slowest_wait_ms"]) == ("client-a", 3500)


def test_what_is_never_answered_is_reported_with_its_reason() -> None:
    reported = traced(
        join(0, "a", bind="a"),
        sync(0, "s", "$a"),
        join(1, "b", bind="b", api_version=4),
        join(2, "b2", member_id="$b", api_version=4),
        join(3, "b3", member_id="$b", api_version=4),
        effects=True,
    )
    (dropped,) = [line for line in reported if line.get("effect") == "request_dropped"]
    assert (dropped["request_id"], dropped["at_ms"], dropped["api"]) == ("b2", 3, "JoinGroup")
    assert "replaced" in dropped["why"]


def test_a_group_with_several_in_one_message_shows_each_before_the_one_answer() -> None:
    lines = [join(n, f"j{n}", group_id=f"g{n}", api_version=4) for n in range(2)]
    reported = traced(*lines, ask(5, "d", "DeleteGroups", 2, groups_names=["g1", "g0"]), effects=True)
    assert [(line.get("effect"), line.get("group_id")) for line in reported[-3:]] == [
        ("group_removed", "g1"),
        ("group_removed", "g0"),
        (None, None),
    ]
