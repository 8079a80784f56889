"""A line that cannot be used: its number, the field and the value, whatever is wrong with it."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.trace import TraceError
from tests.trace.lines import Line, ask, heartbeat, join, sync, tick, traced

WITHOUT_ID = {name: value for name, value in heartbeat(1, "h", "m").items() if name != "request_id"}
WITHOUT_MEMBER = {name: value for name, value in heartbeat(1, "h", "m").items() if name != "member_id"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "truncated"),
        (b"{'at_ms': 1}", "malformed"),
        (b"\xff\xfe", "invalid character"),
        (b'{"at_ms": 1, "api": "Tick"} {}', "trailing"),
        (b'{"at_ms": 1, "api": "Tick", "group_id": "\\ud800 "}', "malformed|truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"17", "Expected `object`, got `int`"),
        (b"null", "Expected `object`, got `null`"),
        ({"api": "Tick"}, "at_ms: None is not a whole number"),
        ({"at_ms": "1", "api": "Tick"}, "at_ms: '1' is not a whole number"),
        ({"at_ms": 1.5, "api": "Tick"}, "at_ms: 1.5 is not a whole number"),
        ({"at_ms": True, "api": "Tick"}, "at_ms: True is not a whole number"),
        (heartbeat(2**63, "h", "m"), "at_ms: 9223372036854775808 is not a whole number"),
        (tick(10**30), "at_ms: 1000000000000000000000000000000 is not a whole number"),
        ({"at_ms": 1}, "api: None is not one of AlterConfigs, ConsumerGroupDescribe, "),
        (ask(1, "a", "heartbeat", 1), "api: 'heartbeat' is not one of "),
        (ask(1, "a", ["Heartbeat"], 1), r"api: \['Heartbeat'\] is not one of "),  # type: ignore[arg-type]
        (heartbeat(1, "h", "m", api_version=5), "api_version: 5 of Heartbeat: 0 to 4 are answered"),
        (heartbeat(1, "h", "m", api_version=-1), "api_version: -1 of Heartbeat"),
        (heartbeat(1, "h", "m", api_version="3"), "api_version: '3' of Heartbeat"),
        (heartbeat(1, "h", "m", api_version=None), "api_version: None of Heartbeat"),
        (ask(1, "c", "OffsetCommit", 1, group_id="g", topics=[]), "api_version: 1 of OffsetCommit: 2 to 10"),
        (heartbeat(1, "h", "m", generation_id="1"), "Heartbeat v3: Expected `int`, got `str` - at `\\$.generation_id`"),
        (heartbeat(1, "h", "m", generation_id=1.0), "Expected `int`, got `float` - at `\\$.generation_id`"),
        (heartbeat(1, "h", "m", generation_id=2**31), "`int` <= 2147483647 - at `\\$.generation_id`"),
        (heartbeat(1, "h", None), "Expected `str`, got `null` - at `\\$.member_id`"),  # type: ignore[arg-type]
        (heartbeat(1, "h", "m", topic="t"), "unknown field `topic`"),
        (heartbeat(1, "h", "m" * 32_768), "member_id: has 32768 bytes, 32767 at most"),
        (join(1, "j", client_id="c" * 32_731), "client_id: has 32731 bytes, 32730 at most where a new member's id"),
        (
            heartbeat(1, "h", "m", api_version=2, group_instance_id="i"),
            "group_instance_id: Heartbeat v2 does not carry",
        ),
        (WITHOUT_ID, "missing required field `request_id`"),
        (WITHOUT_MEMBER, "missing required field `member_id`"),
        (
            join(1, "j", protocols=[{"name": "p", "metadata": "not base64"}]),
            r"Invalid base64 encoded string - at `\$.protocols\[0\].metadata`",
        ),
        (join(1, "j", protocols={"p": ""}), r"Expected `array`, got `object` - at `\$.protocols`"),
        (join(1, "j", protocols=[{"name": "p"}]), "missing required field `metadata`"),
        (join(1, "j", bind=5), "bind: 5 is not a name"),
        (join(1, "j", bind=["m"]), r"bind: \['m'\] is not a name"),
        (join(1, "j", bind=""), "bind: '' is not a name"),
        (heartbeat(1, "h", "m", bind="m1"), "bind: 'm1': only the answer to a JoinGroup gives an id, not Heartbeat"),
        (heartbeat(1, "h", "$m1"), r"member_id: \$m1 is not bound to an id yet"),
        (heartbeat(1, "h", "$"), r"member_id: \$ is not bound to an id yet"),
        (join(1, "j", inferred_cause="sunshine"), "Invalid enum value 'sunshine' - at `\\$.inferred_cause`"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_by_number_field_and_value(line: Line | bytes, says: str) -> None:
    with pytest.raises(TraceError, match=rf"^line 2: .*({says})"):
        traced(tick(0), line)


def test_an_unbound_name_is_found_inside_lists_and_as_an_assignments_member_too() -> None:
    leave = ask(1, "l", "LeaveGroup", 3, group_id="g", members=[{"member_id": "a"}, {"member_id": "$b"}])
    with pytest.raises(TraceError, match=r"line 1: member_id: \$b is not bound"):
        traced(leave)
    assignments = [{"member_id": "$c", "assignment": ""}]
    with pytest.raises(TraceError, match=r"line 1: member_id: \$c is not bound"):
        traced(sync(1, "s", "a", assignments=assignments))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            ask(1, "l", "LeaveGroup", 3, group_id="g", members=[{"member_id": "a"}, {"member_id": "b", "reason": "r"}]),
            r"members\[1\].reason: LeaveGroup v3 does not carry this field",
        ),
        (
            ask(1, "l", "LeaveGroup", 5, group_id="g", members=[{"member_id": "a", "raeson": "r"}]),
            r"members\[0\].raeson: LeaveGroup v5 does not carry this field",
        ),
        (
            ask(
                1,
                "f",
                "OffsetFetch",
                8,
                groups=[{"group_id": "g", "topics": [{"topic_id": "t", "partition_indexes": []}]}],
            ),
            r"groups\[0\].topics\[0\].topic_id: OffsetFetch v8 does not carry this field",
        ),
    ],
)
def test_a_field_inside_a_list_is_held_to_its_version_too(line: Line, says: str) -> None:
    with pytest.raises(TraceError, match=rf"^line 1: {says}"):
        traced(line)


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_line_that_is_nested_too_deeply_is_named(depth: int) -> None:
    line = b'{"at_ms": 1, "api": "DescribeGroups", "groups": ' + b"[" * depth + b"]" * depth + b"}"
    with pytest.raises(TraceError, match=r"^line 1: is nested too deeply$"):
        traced(line)


def test_a_name_is_unbound_until_its_join_is_answered() -> None:
    with pytest.raises(TraceError, match=r"line 2: member_id: \$m is not bound"):
        traced(join(0, "j", bind="m"), heartbeat(2999, "h", "$m"), config=["group.initial.rebalance.delay.ms=3000"])


def test_time_may_stand_still_but_never_runs_backwards() -> None:
    assert len(traced(heartbeat(5, "a", "m"), heartbeat(5, "b", "m"))) == 2
    with pytest.raises(TraceError, match=r"line 2: at_ms: 4 is before the line above it, 5"):
        traced(tick(5), heartbeat(4, "h", "m"))


def test_lines_are_counted_as_they_stand_in_the_file_blank_ones_too() -> None:
    with pytest.raises(TraceError, match=r"^line 4: "):
        traced(b"", tick(0), b"  ", b"{")
