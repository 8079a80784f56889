"""The messages: fields by version, several groups in one, every script, and bytes of any size."""

from __future__ import annotations

from tests.trace.lines import Line, ask, b64, by_id, heartbeat, join, sync, tick, traced


def test_a_reply_begins_with_time_id_and_api_and_names_its_errors() -> None:
    (reply,) = traced(heartbeat(5, "h", "nobody"))
    expected = {
        "at_ms": 5,
        "request_id": "h",
        "api": "Heartbeat",
        "throttle_time_ms": 0,
        "error_code": "UNKNOWN_MEMBER_ID",
    }
    assert reply == expected
    assert list(reply)[:3] == ["at_ms", "request_id", "api"]


def test_a_reply_carries_the_fields_of_its_version_and_no_other() -> None:
    replies = by_id(traced(*(_join_of_version(n) for n in range(10))))
    common = {
        "at_ms",
        "request_id",
        "api",
        "error_code",
        "generation_id",
        "protocol_name",
        "leader",
        "member_id",
        "members",
    }
    assert replies["j0"].keys() == common
    assert replies["j2"].keys() == common | {"throttle_time_ms"}
    assert replies["j7"].keys() == common | {"throttle_time_ms", "protocol_type"}
    assert replies["j9"].keys() == common | {"throttle_time_ms", "protocol_type", "skip_assignment"}


def _join_of_version(version: int) -> Line:
    """Static from v5, so that every version is answered with a generation."""
    instance = {"group_instance_id": "i"} if version >= 5 else {}
    line = join(version, f"j{version}", group_id=f"g{version}", api_version=version, **instance)
    if version == 0:
        del line["rebalance_timeout_ms"]
    return line


def test_describe_groups_answers_group_by_group_in_the_order_asked() -> None:
    describe = ask(2, "d", "DescribeGroups", 6, groups=["none", "g", "none", "h"])
    (reply,) = traced(join(0, "j"), join(1, "k", group_id="h"), describe)[2:]
    assert reply["request_id"] == "d"
    assert [(g["group_id"], g["group_state"], g["error_code"]) for g in reply["groups"]] == [
        ("none", "Dead", "GROUP_ID_NOT_FOUND"),
        ("g", "CompletingRebalance", "NONE"),
        ("none", "Dead", "GROUP_ID_NOT_FOUND"),
        ("h", "CompletingRebalance", "NONE"),
    ]


def test_delete_groups_answers_a_group_listed_twice_once() -> None:
    delete = ask(1, "d", "DeleteGroups", 2, groups_names=["a", "b", "a"])
    reply = by_id(traced(join(0, "j", api_version=4, group_id="a"), delete))["d"]
    assert [(r["group_id"], r["error_code"]) for r in reply["results"]] == [("a", "NONE"), ("b", "GROUP_ID_NOT_FOUND")]


def test_a_message_that_names_no_group_is_answered_with_none() -> None:
    for api, version, field, answer in (
        ("DescribeGroups", 5, "groups", "groups"),
        ("DeleteGroups", 2, "groups_names", "results"),
        ("OffsetFetch", 8, "groups", "groups"),
    ):
        (reply,) = traced(ask(0, "r", api, version, **{field: []}))
        assert reply[answer] == []


def test_offsets_of_several_groups_are_fetched_with_one_message() -> None:
    offsets = [{"partition_index": 1, "committed_offset": 17, "committed_metadata": "Ω≈ç√"}]
    commits = [
        ask(n, f"c{n}", "OffsetCommit", 8, group_id=group_id, topics=[{"name": "t", "partitions": offsets}])
        for n, group_id in enumerate(("a", "b"))
    ]
    groups = [
        {"group_id": "b", "topics": None},
        {"group_id": "a", "topics": [{"name": "t", "partition_indexes": [0, 1]}]},
    ]
    reply = by_id(traced(*commits, ask(5, "f", "OffsetFetch", 8, groups=groups)))["f"]
    asked_b, asked_a = reply["groups"]
    assert [p["committed_offset"] for t in asked_b["topics"] for p in t["partitions"]] == [17]
    assert [p["committed_offset"] for t in asked_a["topics"] for p in t["partitions"]] == [-1, 17]
    assert asked_a["topics"][0]["partitions"][1]["metadata"] == "Ω≈ç√"


def test_topics_that_do_not_exist_are_reported_where_the_setting_names_those_that_do() -> None:
    partitions = [{"partition_index": n, "committed_offset": 1} for n in (0, 3, 4)]
    topics = [{"name": "t1", "partitions": partitions}, {"name": "t2", "partitions": partitions[:1]}]
    commit = ask(0, "c", "OffsetCommit", 8, group_id="g", topics=topics)
    (reply,) = traced(commit, config=["topics=t1:4"])
    codes = [[p["error_code"] for p in t["partitions"]] for t in reply["topics"]]
    assert codes == [["NONE", "NONE", "UNKNOWN_TOPIC_OR_PARTITION"], ["UNKNOWN_TOPIC_OR_PARTITION"]]
    (reply,) = traced(commit)
    assert {p["error_code"] for t in reply["topics"] for p in t["partitions"]} == {"NONE"}


def test_list_groups_knows_every_group_there_is_and_filters() -> None:
    lines = join(0, "j"), join(1, "k", group_id="empty", api_version=4), heartbeat(2, "h", "m", group_id="unknown")
    everything = traced(*lines, ask(3, "l", "ListGroups", 5))[-1]
    assert sorted((g["group_id"], g["group_state"], g["protocol_type"]) for g in everything["groups"]) == [
        ("empty", "Empty", ""),
        ("g", "CompletingRebalance", "connect"),
    ]
    empty = traced(*lines, ask(3, "l", "ListGroups", 4, states_filter=["EMPTY"]))[-1]
    assert [g["group_id"] for g in empty["groups"]] == ["empty"]


def test_the_coordinator_is_node_0_on_localhost_port_9092() -> None:
    (old,) = traced(ask(0, "f", "FindCoordinator", 1, key="g", key_type=0))
    assert (old["node_id"], old["host"], old["port"], old["error_code"]) == (0, "localhost", 9092, "NONE")
    (new,) = traced(ask(0, "f", "FindCoordinator", 4, coordinator_keys=["a", "b"], key_type=0))
    assert [(c["key"], c["node_id"], c["host"], c["port"]) for c in new["coordinators"]] == [
        ("a", 0, "localhost", 9092),
        ("b", 0, "localhost", 9092),
    ]


def test_names_in_any_script_come_back_as_they_were_given() -> None:
    name = "グループ-ü-𝄞-\u0000-\u202e"
    answers = by_id(
        traced(
            join(0, "j", group_id=name, client_id=name, protocols=[{"name": name, "metadata": ""}]),
            ask(1, name, "DescribeGroups", 5, groups=[name]),
        )
    )
    assert answers["j"]["member_id"].startswith(f"{name}-")
    assert answers["j"]["protocol_name"] == name
    (described,) = answers[name]["groups"]
    assert (described["group_id"], described["members"][0]["client_id"]) == (name, name)


def test_ten_megabytes_of_metadata_and_of_assignment_pass_unchanged() -> None:
    big = b64(bytes(range(256)) * 40_960)
    answers = by_id(
        traced(
            join(0, "j", bind="m", protocols=[{"name": "p", "metadata": big}]),
            sync(1, "s", "$m", assignments=[{"member_id": "$m", "assignment": big}]),
        )
    )
    assert answers["j"]["members"][0]["metadata"] == big
    assert answers["s"]["assignment"] == big


def test_an_empty_group_id_is_answered_not_refused_as_a_line() -> None:
    (reply,) = traced(join(0, "j", group_id=""))
    assert reply["error_code"] == "INVALID_GROUP_ID"
    assert traced(join(0, "j", group_id=""), tick(1), ask(2, "l", "ListGroups", 0))[-1]["groups"] == []
