"""What stands around a line: exports, containers and shells. The line is read as if nothing stood there."""

from __future__ import annotations

import json

import pytest

from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.lines.stamps import stamp_at
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.reading import BROKEN, read_lines
from rollcall.inputs.printed.story import groups_in

AT = "2026-03-01 03:12:00,417"
AT_MS = 1_772_334_720_417
LINE = (
    f"[{AT}] INFO [GroupCoordinator 1]: Stabilized group orders generation 12 (__consumer_offsets-7) with 4 members "
    "(kafka.coordinator.group.GroupCoordinator)"
)
JAVA = "[Consumer clientId=a, groupId=g] (Re-)joining group"
DOCKER = json.dumps({"log": LINE + "\n", "stream": "stdout", "time": "2026-03-01T03:12:00.417345678Z"})
WRAPPED = {
    "nothing": [LINE],
    "docker compose": [f"kafka-1  | {LINE}"],
    "kubectl --prefix": [f"[pod/broker-0/kafka] {LINE}"],
    "docker logs -t": [f"2026-03-01T03:12:00.417345678Z {LINE}"],
    "a container's file": [f"2026-03-01T03:12:00.417345678Z stdout F {LINE}"],
    "docker's json-file": [DOCKER],
    "json-file broken at column 100": [DOCKER[:100], DOCKER[100:200], DOCKER[200:]],
    "a JSON array": [f"[{DOCKER}]"],
    "a JSON array over lines": [f"[{DOCKER},", "{}]"],
    "syslog": [f"Mar  1 04:12:03 host-1 kafka[812]: {LINE}"],
    "a host and JSON": ["Mar  1 04:12:03 host-1: " + json.dumps({"message": LINE})],
    "grep's file name": [f"logs/server.log.2026-03-01-03:{LINE}"],
    "grep's file name and number": [f"server.log:812:{LINE}"],
    "Serilog's JSON": [json.dumps({"@t": "2026-03-01T03:12:09Z", "@m": f'"{LINE}"', "Message": LINE})],
    "CSV": [f'"2026-03-01T03:12:03.000Z","host-1","{LINE}"'],
    "CSV, its time bare": [f'2026-03-01T03:12:03.000Z,host-1,"{LINE}"'],
    "JSON within CSV": ['"host-1","' + DOCKER.replace('"', '""') + '"'],
    "JSON within JSON": [json.dumps({"@timestamp": "2026-03-01T03:12:09Z", "message": DOCKER})],
    "an indented paste": [f"    {LINE}"],
    "Kibana's table of JSON": ["Mar 1, 2026 @ 03:12:03.000\t" + json.dumps({"message": LINE})],
    "Kibana's table": [f"Mar 1, 2026 @ 03:12:03.000 {LINE}"],
}


@pytest.mark.parametrize("lines", WRAPPED.values(), ids=WRAPPED.keys())
def test_a_line_is_read_as_if_nothing_stood_around_it(lines: list[str]) -> None:
    (fact,) = read_lines("server.log", lines).facts
    assert (fact.kind, fact.group_id, fact.generation_id) == (FactKind.JOIN_PHASE_ENDED, "orders", 12)
    assert (fact.at_ms, fact.line_number) == (AT_MS, 1)


@pytest.mark.parametrize("export", [[{"@message": LINE}] * 2, {"events": [{"message": LINE}] * 2, "more": []}])
def test_the_records_of_an_indented_export_are_lines(export: object) -> None:
    lines = json.dumps(export, indent=4).split("\n")
    lines = [line.replace("12 (", f"{number} (") for number, line in enumerate(lines)]
    facts = read_lines("server.log", lines).facts
    assert [(fact.kind, fact.at_ms) for fact in facts] == [(FactKind.JOIN_PHASE_ENDED, AT_MS)] * 2
    assert all(f"generation {fact.generation_id} " in lines[fact.generation_id or 0] for fact in facts)


@pytest.mark.parametrize(
    "line",
    [
        "  ||  [Worker clientId=connect-1, groupId=orders] (Re-)joining group   [org.apache.kafka.W]",
        " [Consumer clientId=orders-1, groupId=orders] (Re-)joining group [ConsumerCoordinator]",
    ],
    ids=["Debezium's images", "any layout"],
)
def test_what_a_layout_puts_behind_a_java_client_s_message_is_no_part_of_it(line: str) -> None:
    (fact,) = read_lines("app.log", [f"{AT} INFO {line}"]).facts
    assert (fact.kind, fact.group_id) == (FactKind.JOIN_SENT, "orders")


def test_each_line_of_a_paste_that_is_indented_as_a_whole_is_a_line() -> None:
    for indent in ("    ", "\t", "\tMar 1, 2026 @ 03:12:03.000\t"):
        facts = read_lines("server.log", [indent + LINE, indent + LINE.replace("12 (", "13 (")]).facts
        assert [(fact.generation_id, fact.at_ms) for fact in facts] == [(12, AT_MS), (13, AT_MS)]


def test_a_paste_that_is_broken_at_a_width_is_said_to_be() -> None:
    lines = [LINE.replace("generation 12", f"generation {number}") for number in (12, 13, 14)]
    broken = [part for line in lines for part in (line[:123], line[123:])]
    assert BROKEN in read_lines("server.log", broken).notes
    assert BROKEN not in read_lines("server.log", [*broken[:2], *lines[1:]]).notes


def test_what_looks_like_json_and_never_ends_is_read_line_by_line() -> None:
    (fact,) = read_lines("server.log", ["{ config = ", LINE]).facts
    assert fact.line_number == 2


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("Mar 1, 2026 @ 03:12:00.417 x", AT_MS),
        ("Mar 1st 2026, 03:12:00.417 x", AT_MS),
        ("2026-03-01T08:12:00.417+05:00 x", AT_MS),
        ("26/03/01 03:12:00.417 INFO AbstractCoordinator: x", AT_MS),
        ("26/03/01 03:12:00.417 x", None),
        ("Foo 1, 2026 @ 03:12:00.417 x", None),
        ("Feb 30, 2026 @ 03:12:00.417 x", None),
    ],
)
def test_a_time_is_read_as_it_is_printed(text: str, at_ms: int | None) -> None:
    stamp = stamp_at(text)
    assert (stamp and stamp.at_ms) == at_ms


def test_syslog_s_own_time_counts_where_the_line_has_none() -> None:
    (fact,) = read_lines("messages", ["Mar  1 03:12:00 host-1 app[9]: Joining group `orders`"]).facts
    assert (fact.at_ms, fact.clock, fact.source) == (11_520_000, Clock.TIME_OF_DAY, "host-1/app")


def test_a_line_whose_mark_stands_in_its_wrapping_alone_says_nothing() -> None:
    assert read_lines("server.log", [f"[{AT}] INFO Rolled new log segment (kafka.x) [group-1]"]).facts == []


def test_half_a_character_in_json_is_replaced() -> None:
    (fact,) = read_lines("server.log", [json.dumps({"log": LINE.replace("orders", "ord\ud800ers")})]).facts
    assert fact.group_id == "ord?ers"


@pytest.mark.parametrize(
    "message",
    [
        "[GroupCoordinator 1]: Stabilized group orders generation 12 (__consumer_offsets-7) with 4 members",
        "[Consumer clientId=orders-1, groupId=orders] (Re-)joining group",
    ],
    ids=("broker", "Java client"),
)
def test_fields_beside_a_json_message_are_no_part_of_it(message: str) -> None:
    line = json.dumps({"@timestamp": "2026-03-01T03:12:00.417Z", "@version": "1", "message": message, "host": "web-3"})
    (fact,) = read_lines("app.log", [line]).facts
    assert (fact.group_id, fact.at_ms) == ("orders", AT_MS)


def test_a_time_without_a_year_is_a_time_of_day() -> None:
    stamp = stamp_at("Jan 18 00:47:06.807  WARN librdkafka: librdkafka: MAXPOLL")
    assert stamp is not None
    assert (stamp.at_ms, stamp.clock, stamp.is_whole_seconds) == (2_826_807, Clock.TIME_OF_DAY, False)


@pytest.mark.parametrize(
    "labels",
    [
        '{app="orders", pod="orders-7d9-x2k"} ',
        '{"pod":"orders-7d9-x2k","app":"orders"}\t',
        '{instance="orders-7d9-x2k"}  ',
    ],
)
@pytest.mark.parametrize("inner", ["", "03:12:00.416 [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - "])
def test_loki_s_labels_name_the_pod_that_printed_a_line(labels: str, inner: str) -> None:
    line = f"2026-03-01T03:12:00.417Z {labels}{inner}[Consumer clientId=orders-1, groupId=orders] (Re-)joining group"
    (fact,) = read_lines("loki.txt", [line]).facts
    assert (fact.source, fact.at_ms, fact.clock) == ("orders-7d9-x2k", 1_772_334_720_417, Clock.UTC)


TOO_LATE = "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer"
OF_PODS = {
    "syslog": "Mar  1 03:{time:.5} node-{pod} app[9]: {text}",
    "journalctl -o short-iso": "2026-03-01T03:{time:.5}+0000 node-{pod} app[9]: {text}",
    "RFC 5424": "<14>1 2026-03-01T03:{time}Z node-{pod} app 9 - - {text}",
    "docker compose": "app-{pod}  | 2026-03-01 03:{time} INFO {text}",
    "kubectl logs --prefix": "[pod/app-{pod}/app] 2026-03-01 03:{time} INFO {text}",
    "aws logs tail": "2026-03-01T03:{time}000+00:00 app/{pod} {text}",
    "stern": "billing-{pod} app 2026-03-01 03:{time} INFO {text}",
    "Elasticsearch": '{{"_source":{{"@timestamp":"2026-03-01T03:{time}Z","kubernetes":{{"pod_name":"{pod}"}},'
    '"message":"{text}"}}}}',
    "Google": '{{"textPayload":"{text}","resource":{{"labels":{{"pod_name":"{pod}"}}}},'
    '"timestamp":"2026-03-01T03:{time}Z"}}',
    "Datadog": '"2026-03-01T03:{time}Z","{pod}","billing","{text}"',
    "a host's field": '{{"@timestamp":"2026-03-01T03:{time}Z","message":"{text}","service":"billing","host":"{pod}"}}',
    "a pod's field": '{{"@timestamp":"2026-03-01T03:{time}Z","message":"{text}","service":"a","pod_name":"{pod}"}}',
    "a pod's name beside a container": '{{"@timestamp":"2026-03-01T03:{time}Z","message":"{text}","container":"app",'
    '"kubernetes":{{"pod_name":"{pod}"}}}}',
    "a pod with a name": '{{"@timestamp":"2026-03-01T03:{time}Z","message":"{text}","container":{{"name":"app"}},'
    '"kubernetes":{{"pod":{{"name":"{pod}"}},"namespace":"a"}}}}',
    "a host with a name": '{{"@timestamp":"2026-03-01T03:{time}Z","message":"{text}","service":{{"name":"billing"}},'
    '"host":{{"name":"{pod}","os":{{"type":"linux"}}}}}}',
}


@pytest.mark.parametrize("form", OF_PODS.values(), ids=OF_PODS)
def test_what_an_export_has_beside_a_line_tells_pods_with_one_client_id_apart(form: str) -> None:
    asks = "(Re-)joining group"
    lines = [
        form.format(time=time, pod=pod, text=f"[Consumer clientId=consumer-billing-1, groupId=billing] {text}")
        for pod, time, text in (("a", "12:00.000", TOO_LATE), ("b", "12:03.000", asks), ("a", "13:00.000", asks))
    ]
    (group,) = groups_in(read_lines("export", ["Date,Host,Service,Message", *lines]).facts)
    (again,) = [one for one in group.findings if one.finding == "polled_again"]
    assert "1 min later" in again.sentence


@pytest.mark.parametrize(
    "form",
    ["{level} app 2026-03-01 03:{time} {text}", "2026-03-01 03:{time},000 pool/{level} {text}"],
    ids=["a level", "a thread"],
)
def test_what_changes_from_line_to_line_names_no_program(form: str) -> None:
    printed = (("warn", "12:00", TOO_LATE), ("info", "13:00", "(Re-)joining group"))
    lines = [
        form.format(level=level, time=time, text=f"[Consumer clientId=consumer-billing-1, groupId=billing] {text}")
        for level, time, text in printed
    ]
    (group,) = groups_in(read_lines("app.log", lines).facts)
    assert [one.finding for one in group.findings] == ["polled_again"]


@pytest.mark.parametrize("indent", [None, 4])
def test_the_fields_of_a_row_of_cloudwatch_insights_are_one_line(indent: int | None) -> None:
    rows = [
        [
            {"field": "@timestamp", "value": f"2026-03-01 03:12:0{second}.417"},
            {"field": "@message", "value": f"[Consumer clientId=c-1, groupId=orders] {text}"},
            {"field": "@logStream", "value": "app/1"},
        ]
        for second, text in ((0, "(Re-)joining group"), (3, "Successfully joined group with generation 9"))
    ]
    lines = (
        json.dumps({"results": rows, "status": "Complete"}, indent=4).split("\n") if indent else map(json.dumps, rows)
    )
    facts = read_lines("insights.json", lines).facts
    assert [(fact.kind, fact.at_ms, fact.source) for fact in facts] == [
        (FactKind.JOIN_SENT, AT_MS, "app/1"),
        (FactKind.JOINED, AT_MS + 3_000, "app/1"),
    ]


@pytest.mark.parametrize("value", [r'"\q"', '"\t"', '"', r'"\ud800"', "1"])
def test_what_only_looks_like_such_a_field_is_a_line_of_its_own(value: str) -> None:
    (fact,) = read_lines("insights.json", ['{"field": "@message", "value": ' + value + "}", LINE]).facts
    assert fact.line_number == 2


@pytest.mark.parametrize("message", ['""joined""', "joined", '""joined"" {', "joined {"])
@pytest.mark.parametrize(
    "fields",
    [
        ["group: orders", "member_id: m-1", 'generation: 4"'],
        ["", "  group=orders,", "  member_id=m-1,", "  generation=4", '"'],
        ["{", "  group: orders,", "  member_id: m-1,", "  generation: 4", '}"'],
        ["{", '  ""group"": ""orders"",', '  ""member_id"": ""m-1"",', '  ""generation"": 4', '}"'],
        ['group: ""orders""', 'member_id: ""m-1""', 'generation: ""4"""'],
    ],
)
def test_fields_below_a_message_in_a_row_of_csv_are_its_own(message: str, fields: list[str]) -> None:
    row = [f'"2026-03-01T03:12:00.417Z","host-1","{message}', *fields]
    later = [row[0].replace(".417", ".418"), *fields]
    (fact, next_one) = read_lines("export.csv", ['"Date","Host","Message"', *row, *later]).facts
    assert (fact.kind, fact.at_ms, fact.group_id, fact.generation_id) == (FactKind.JOINED, AT_MS, "orders", 4)
    assert next_one.line_number == 2 + len(row)


@pytest.mark.parametrize("below", [["at a.b.C", f"{LINE}", '"'], ["x: y"], ["x: y"] * 300, [f'"{AT}","b: c']])
def test_what_else_stands_below_a_row_is_read_line_by_line(below: list[str]) -> None:
    first = f'"{AT}","[Consumer clientId=a, groupId=g] (Re-)joining group'
    facts = read_lines("export.csv", [first, *below, "[Consumer clientId=a, groupId=g] Leaving group"]).facts
    assert [fact.kind for fact in facts if fact.dialect == "java"][:1] == [FactKind.JOIN_SENT]
    assert len(facts) == 1 + (LINE in below)


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        (["info: Confluent.Kafka[0]", f"      {JAVA}"], [FactKind.JOIN_SENT]),
        ([f"info: Confluent.Kafka[0] {JAVA}", f"fail: Confluent.Kafka[7] {JAVA} g"], [FactKind.JOIN_SENT] * 2),
        ([f"INFO:root:{JAVA}", f"WARNING:a.b:{AT}:{JAVA}"], [FactKind.JOIN_SENT] * 2),
    ],
)
def test_consoles_of_net_and_python_stand_before_a_message(lines: list[str], kinds: list[FactKind]) -> None:
    assert [fact.kind for fact in read_lines("app.log", lines).facts] == kinds


@pytest.mark.parametrize(
    "line",
    [
        "**{time}** INFO {text}",
        "> **{time}** INFO {text}",
        "**{time} INFO** {text}",
        "**{time} INFO {text}**",
        "{time} INFO {text}",
    ],
)
@pytest.mark.parametrize("ids", ["{}", "**{}**", "[{}](https://{}/)", "**[{}](https://{}/)**"])
def test_what_is_in_bold_or_a_link_is_read_as_it_is_without(line: str, ids: str) -> None:
    member_id = f"consumer-{'spark-' * 20}1-{'0' * 32}"
    text = (
        "[Consumer clientId=orders-1, groupId=orders] Finished assignment for group at generation 18: "
        f"{{{ids.replace('{}', member_id)}=Assignment(partitions=[orders-0])}}"
    )
    (fact,) = read_lines("issue.md", [line.format(time="2026-03-01 03:12:00,417", text=text)]).facts
    assert (fact.kind, fact.generation_id) == (FactKind.ASSIGNED_ALL, 18)
    assert fact.at_ms == 1_772_334_720_417
    assert fact.partitions == f"{{{member_id}=Assignment(partitions=[orders-0])}}"


@pytest.mark.parametrize(
    "behind",
    [
        {"thrown": {"localizedMessage": "Seek; nested exception is {}", "name": "KafkaException"}},
        {"stack_trace": "com.acme.Failure: x\nCaused by: {}\n\tat com.acme.A"},
        {"error": {"stack": ["Caused by: {}"]}},
    ],
)
def test_a_commit_that_failed_may_stand_in_a_field_of_an_exception(behind: dict[str, object]) -> None:
    error = "the group has already rebalanced and assigned the partitions to another member"
    thrown = f"org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since {error}."
    line = json.dumps({"time": "2026-03-01T03:12:00.417Z", "message": "It failed", **behind}).replace("{}", thrown)
    (fact,) = read_lines("app.json", [line]).facts
    assert (fact.kind, fact.error) == (FactKind.COMMIT_REFUSED, f"Commit cannot be completed since {error}")


# ---------------------------------------------------------------- what Go's loggers print around a name

FOUND = "client/coordinator coordinator for consumergroup "


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            f"[sarama] 2026/03/01 03:12:00 {FOUND}[orders %!s(int32=43) kaas:9092] is #%!d(MISSING) (%!s(MISSING))",
            FactKind.COORDINATOR_FOUND,
        ),
        (f"{FOUND}[orders %!s(int32=43)] is #%!d(MISSING)", FactKind.COORDINATOR_FOUND),
        (
            "2026/03/01 03:12:00 joined group [orders m-1 %!s(int32=43)] as member %!s(MISSING) in generation "
            "%!d(MISSING)",
            FactKind.JOINED,
        ),
    ],
)
def test_values_that_go_misprints_are_put_where_they_belong(line: str, kind: FactKind) -> None:
    (fact,) = read_lines("app.log", [line]).facts
    assert (fact.kind, fact.group_id) == (kind, "orders")
    assert "43" in (fact.broker_id, str(fact.generation_id))


@pytest.mark.parametrize(
    "said",
    [
        "[orders %!s(int32=43) kaas:9092] is #%!d(MISSING)",
        "%!s(MISSING) is #%!d(MISSING)",
        "%!s(int32=43) is #43 (kaas:9092)",
        "[a] is #%!d(MISSING) (]%!s(MISSING)",
    ],
)
def test_a_misprint_that_cannot_be_undone_names_nobody(said: str) -> None:
    assert read_lines("app.log", [f"{FOUND}{said}"]).facts == []
