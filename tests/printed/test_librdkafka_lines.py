"""What librdkafka prints: in each wrapper's form, its own story, and what it adds to a broker's."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.findings.client_findings import client_findings
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import GROUP_NOT_NAMED, Finding
from rollcall.inputs.printed.reading import merged, read_files, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import holder_sentence
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import MEMBER, group_of
from tests.printed.recorded import BROKERS, CASES, expected_of, groups_of_case, own_rebalances
from tests.source_tree import ROOT

CLIENTS = ROOT / "tests" / "printed" / "clients"
NOON_MS = 1_772_366_400_000
"""2026-03-01 12:00:00 UTC."""
POLL_TIMEOUT = (
    "Application maximum poll interval (10000ms) exceeded by 478ms (adjust max.poll.interval.ms for long-running "
    "message processing): leaving group"
)
SESSION = (
    "Consumer group session timed out (in join-state steady) after {} ms without a successful response from the group "
    "coordinator (broker {}, last error was {}): revoking assignment and rejoining group"
)
BEAT = 'GroupCoordinator/8: Heartbeat for group "orders" generation id {}'
REBALANCING = (
    'Group "orders" heartbeat error response in state up (join-state {}, 3 partition(s) assigned): '
    "Broker: Group rebalance in progress"
)
JOIN = 'GroupCoordinator/8: Joining group "orders" with 1 subscribed topic(s) and member id "{}"'
JOIN_ANSWER = (
    "JoinGroup response: GenerationId {}, Protocol range, LeaderId {}, my MemberId {}, member metadata count 0: {}"
)
JOINED = f"GroupCoordinator/8: {JOIN_ANSWER.format(5, MEMBER, MEMBER, '(no error)')}"
SYNCED = "GroupCoordinator/8: SyncGroup response: Success (36 bytes of MemberState data)"
STEADY = ((0, BEAT.format(4)), (3000, REBALANCING.format("steady")))


def lines_of(*printed: tuple[int, str], client: str = "orders-1#consumer-1") -> list[str]:
    """A client's lines: (ms after noon, message)."""
    return [
        f"%7|{(NOON_MS + ms) // 1000}.{(NOON_MS + ms) % 1000:03}|CGRP|{client}| [thrd:main]: {text}"
        for ms, text in printed
    ]


def facts_of(*printed: tuple[int, str], client: str = "orders-1#consumer-1") -> list[LoggedFact]:
    return read_lines("app.log", lines_of(*printed, client=client)).facts


def keys_of(findings: list[Finding]) -> list[str]:
    return [one.finding for one in findings]


# ---------------------------------------------------------------- wrappers


WRAPPED = {
    "c": "%4|1772366400.542|MAXPOLL|orders#consumer-1| [thrd:main]: {}",
    "compose": "app-1       | %4|1772366400.542|MAXPOLL|orders#consumer-1| [thrd:main]: {}",
    "local stamp": "2026-03-01 20:00:00|1772366400.542|MAXPOLL|orders#consumer-1| [thrd:main]: {}",
    "python": "2026-03-01 12:00:00,542 WARNING MAXPOLL [orders#consumer-1] [thrd:main]: {}",
    ".net": "Warning|2026-03-01 12:00:00.542|orders#consumer-1|MAXPOLL| [thrd:main]: {}",
    "0.9": "%4|1772366400.542|MAXPOLL|orders#consumer-1| {}",
    "rdkafka-dotnet": "4|2026-03-01 12:00:00.542|orders#consumer-1|MAXPOLL| {}",
    "blanks": "2026-03-01 12:00:00,542 WARN orders#consumer-1 MAXPOLL [thrd:main]: {}",
    "labels": "2026-03-01 12:00:00,542 WARN clientId=orders#consumer-1, facility=MAXPOLL [thrd:main]: {}",
    "go": "[2026-03-01T12:00:00.542Z][orders#consumer-1][MAXPOLL][4][thrd:main]: {}",
    "clickhouse": "2026.03.01 12:00:00.542109 [ 7 ] {{}} <Warning> StorageKafka (t): [client.id:orders#consumer-1] "
    "[rdk:MAXPOLL] [thrd:main]: {}",
    "json": '{{"message": "%4|1772366400.542|MAXPOLL|orders#consumer-1| [thrd:main]: {}", "time": "2026-03-01"}}',
    "csv": '2026-03-01T12:00:09Z,"%4|1772366400.542|MAXPOLL|orders#consumer-1| [thrd:main]: {}"',
    "node": '{{"fac": "MAXPOLL", "severity": 4, "message": "[thrd:main]: {}", "name": "orders#consumer-1", '
    '"time": 1772366400.542}}',
    "node within a program's object": '{{"time": 1772366400542, "event": {{"fac": "MAXPOLL", "severity": 4, '
    '"message": "[thrd:main]: {}", "name": "orders#consumer-1"}}}}',
}
WITHOUT_A_TIME = {
    "blanks": "orders#consumer-1 MAXPOLL [thrd:main]: {}",
    "labels": "ClientId:orders#consumer-1 Level:Warning Facility:MAXPOLL Message: [thrd:main]: {}",
    "a label in quotes": 'level=warning client="orders#consumer-1" [thrd:main]: {}',
    "labels and commas": "Name: orders#consumer-1, Facility: MAXPOLL, Message: [thrd:main]: {}",
    "serilog": "[10:05:03 WRN] Kafka log: orders#consumer-1 MAXPOLL [thrd:main]: {}",
}
WITHOUT_A_CLIENT = {
    "node": '{{"severity": 4, "fac": "MAXPOLL", "message": "[thrd:main]: {}", "time": "2026-03-01T12:00:00.542Z"}}',
    "node within a program's object": '{{"timestamp": "2026-03-01T12:00:00.542Z", "line": 135, "data": {{"message": '
    '"event log", "data": {{"severity": 4, "fac": "MAXPOLL", "message": "[thrd:main]: {}"}}}}}}',
    "rust": "2026-03-01T12:00:00.542Z WARN librdkafka: MAXPOLL [thrd:main]: {}",
}


@pytest.mark.parametrize("line", WRAPPED.values(), ids=WRAPPED)
def test_each_wrapper_s_line_has_its_time_and_client(line: str) -> None:
    (fact,) = read_lines("app.log", [line.format(POLL_TIMEOUT)]).facts
    assert (fact.kind, fact.client_id, fact.at_ms) == (FactKind.POLL_TIMEOUT, "orders#consumer-1", NOON_MS + 542)


@pytest.mark.parametrize("line", WITHOUT_A_TIME.values(), ids=WITHOUT_A_TIME)
@pytest.mark.parametrize("name", ["orders#consumer-1", "eu:orders#consumer-3"])
def test_a_name_is_read_without_what_a_logger_prints_around_it(line: str, name: str) -> None:
    (fact,) = read_lines("app.log", [line.format(POLL_TIMEOUT).replace("orders#consumer-1", name)]).facts
    assert (fact.kind, fact.client_id) == (FactKind.POLL_TIMEOUT, name)


@pytest.mark.parametrize("line", WITHOUT_A_CLIENT.values(), ids=WITHOUT_A_CLIENT)
def test_a_line_is_read_though_its_client_is_not_named(line: str) -> None:
    (fact,) = read_lines("app.log", [line.format(POLL_TIMEOUT)]).facts
    assert (fact.kind, fact.client_id, fact.at_ms) == (FactKind.POLL_TIMEOUT, "", NOON_MS + 542)


# ---------------------------------------------------------------- one client


def test_an_ordinary_rebalance_is_one_whose_beginning_was_another_s() -> None:
    facts = facts_of(*STEADY, (3010, JOIN.format(MEMBER)), (3500, JOINED), (3510, SYNCED), (9000, BEAT.format(5)))
    (one,) = own_rebalances(facts)
    assert (one.from_generation_id, one.generation_id, one.outcome) == (4, 5, "completed")
    assert (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) == (NOON_MS + 3000, NOON_MS + 3500, NOON_MS + 3510)
    assert (one.cause.kind, one.held_by) == (CauseKind.UNKNOWN, None)
    assert client_findings(facts) == []


def test_a_late_answer_to_an_old_heartbeat_begins_no_rebalance() -> None:
    facts = facts_of(
        *STEADY, (3010, JOIN.format(MEMBER)), (3500, JOINED), (3501, REBALANCING.format("wait-sync")), (3510, SYNCED)
    )
    assert [one.generation_id for one in own_rebalances(facts)] == [5]


def test_a_client_that_joins_again_to_give_partitions_on_says_so() -> None:
    (_, again) = own_rebalances(
        facts_of(
            *STEADY,
            (3010, JOIN.format(MEMBER)),
            (3500, JOINED),
            (3510, SYNCED),
            (
                3520,
                'Group "orders": Rejoining group with 2 owned partition(s): rejoining group to redistribute previously '
                "owned partitions to other group members",
            ),
            (3530, JOIN.format(MEMBER)),
        )
    )
    assert (again.generation_id, again.cause.kind) == (6, CauseKind.COOPERATIVE_FOLLOWUP)


CHANGED = 'Group "orders": subscription updated from metadata change: rejoining group in state steady'


def test_whoever_finds_new_topics_first_begins() -> None:
    (first,) = own_rebalances(facts_of((0, BEAT.format(4)), (10, CHANGED)))
    (after,) = own_rebalances(facts_of(*STEADY, (3001, CHANGED)))
    assert (first.cause.kind, after.cause.kind) == (CauseKind.METADATA_CHANGED, CauseKind.UNKNOWN)


def _seen(partitions: int, topic: str = "clicks", error: str = "") -> str:
    return f"b-1:9092/1:   Topic {topic} with {partitions} partitions{error and ': Broker: ' + error}"


GONE = _seen(0, error="Unknown topic or partition")


@pytest.mark.parametrize(
    ("before", "changes", "behind", "what"),
    [
        ([_seen(3)], [GONE], [_seen(3)], "its metadata lacked the topic clicks (Unknown topic or partition) for 12 ms"),
        ([], [GONE], [_seen(3)], "its metadata lacked the topic clicks (Unknown topic or partition) for 12 ms"),
        ([_seen(3)], [GONE, "Topic clicks partition count changed from 3 to 0"], [_seen(0)], "and no later line has"),
        ([], ["Topic clicks partition count changed from 3 to 0"], [], "its metadata lacked the topic clicks, and no"),
        ([_seen(3)], [_seen(6)], [], "the topic clicks had 6 partitions in its metadata, and 3 before"),
        ([], ["Topic clicks partition count changed from 3 to 6"], [], "the topic clicks had 6 partitions in its"),
        ([GONE], [_seen(1)], [], "the topic clicks was in its metadata again, with 1 partition"),
        ([_seen(3)], [_seen(3), _seen(2, "views")], [], ""),
    ],
)
def test_the_topic_that_made_it_join_again_is_named(
    before: list[str], changes: list[str], behind: list[str], what: str
) -> None:
    printed = [(0, BEAT.format(4)), *((1, text) for text in before), *((5000, text) for text in changes)]
    facts = facts_of(*printed, (5000, CHANGED), (5001, JOIN.format(MEMBER)), *((5012, text) for text in behind))
    found = [one for one in client_findings(facts) if one.finding == "topic_changed"]
    assert [what in one.sentence and one.is_inferred for one in found] == [True] * bool(what)
    assert len(own_rebalances(facts)) == 1


def test_a_topic_that_changed_long_before_is_no_reason() -> None:
    facts = facts_of((0, BEAT.format(4)), (1, _seen(3)), (10, _seen(6)), (9000, CHANGED))
    assert [one for one in client_findings(facts) if one.finding == "topic_changed"] == []


def test_topics_alone_are_no_group() -> None:
    assert groups_in(facts_of((0, _seen(3)), (9, "Topic clicks partition count changed from 3 to 0"))) == []


def test_an_application_that_is_told_to_give_up_and_does_not_holds_the_others() -> None:
    (one,) = own_rebalances(
        facts_of(
            *STEADY,
            (3001, 'Group "orders": delegating revoke of 3 partition(s) to application on queue q: rebalance'),
            (33_000, REBALANCING.format("wait-unassign-call")),
        )
    )
    assert one.held_by is not None
    assert (one.held_by.member_id, one.held_by.length_ms) == ("orders-1#consumer-1", 30_000)
    assert not one.held_by.is_inferred


def test_an_epoch_by_which_a_member_leaves_is_none() -> None:
    beat = 'GroupCoordinator/8: ConsumerGroupHeartbeat response received for member id "m" with epoch {}'
    named = (1, 'Group "orders" coordinator set to broker b:9092/8')
    (left,) = own_rebalances(facts_of((0, beat.format(7)), named, (2, beat.format(-1)), (3, POLL_TIMEOUT)))
    assert (left.from_generation_id, left.generation_id) == (7, 8)


def test_a_client_that_is_closed_left() -> None:
    (one,) = own_rebalances(
        facts_of(
            (0, f'Group "orders": updating member id "" -> "{MEMBER}"'),
            (
                10,
                'Group "orders": unsubscribe from current subscription of size 1 (leave group=true, has joined=true, '
                f"{MEMBER}, join-state steady)",
            ),
            (20, 'Group "orders": leave (in state up)'),
            (30, f'Group "orders": updating member id "{MEMBER}" -> "(not-set)"'),
        )
    )
    assert (one.cause.kind, one.cause.member_id, one.began_at_ms) == (CauseKind.MEMBER_LEFT, MEMBER, NOON_MS + 20)


def test_a_new_id_is_not_the_one_that_left() -> None:
    left = own_rebalances(facts_of((0, POLL_TIMEOUT), (5000, f'Group "orders": updating member id "" -> "{MEMBER}"')))
    assert [one.cause.member_id for one in left] == [""]


def test_an_id_that_is_given_is_no_refusal() -> None:
    needed = "Broker: Group member needs a valid member ID"
    given, refused = facts_of(
        (0, JOIN_ANSWER.format(-1, "", MEMBER, needed)), (9, JOIN_ANSWER.format(-1, "", "", "Broker: Not coordinator"))
    )
    assert (given.kind, given.member_id) == (FactKind.MEMBER_ID_SET, MEMBER)
    assert (refused.kind, refused.error, refused.generation_id) == (FactKind.JOIN_REFUSED, "Not coordinator", None)


def test_a_coordinator_that_was_joined_does_not_deny_it() -> None:
    found = (0, 'Group "orders" coordinator set to broker b:9092/2')
    refused = (9000, JOIN_ANSWER.format(-1, "", "", "Broker: Not coordinator"))
    assert "coordinator_named_but_denies" in keys_of(client_findings(facts_of(found, refused)))
    joined_between = client_findings(facts_of(found, (100, JOINED), refused))
    assert keys_of(joined_between) == ["join_refused"]


def test_a_client_that_is_given_nothing_is_idle() -> None:
    idle = facts_of(
        (0, 'Group "orders": delegating assign of 0 partition(s) to application on queue q: new assignment')
    )
    assert "idle_member" in keys_of(client_findings(idle))


def test_a_connection_that_was_up_and_ends_did_not_fail() -> None:
    ended = (0, "GroupCoordinator: b:9092: Disconnected (after 600000ms in state UP)")
    failed = (
        9,
        "GroupCoordinator: b:9092: Connect to ipv4#10.0.0.7:9092 failed: Connection refused (after 2ms in state "
        "CONNECT, 3 identical error(s) suppressed)",
    )
    assert client_findings(facts_of(ended)) == []
    assert keys_of(client_findings(facts_of(ended, failed))) == ["connection_failed"]


# ---------------------------------------------------------------- sessions given up


def test_who_gives_up_in_a_rebalance_did_not_begin_it() -> None:
    group = group_of(*lines_of((0, SESSION.format(14_367, 1, "Broker: Group rebalance in progress"))))
    (one,) = group.rebalances
    assert (group.group_id, one.cause.kind, one.began_at_ms) == (GROUP_NOT_NAMED, CauseKind.UNKNOWN, None)
    assert one.held_by is not None
    assert (one.held_by.member_id, one.held_by.length_ms, one.held_by.is_inferred) == ("", None, True)
    assert holder_sentence(one.held_by).startswith(
        "The join phase took long (inferred): the rebalance outlasted this client's"
    )
    assert keys_of(group.findings) == ["client_session_timer", "client_gives_up_in_long_rebalance"]


def silences(apart_ms: int, error: str, second: str = "orders-2#consumer-1", broker: int = 1) -> list[str]:
    """What is found where two clients gave up."""
    first = lines_of((0, SESSION.format(32_299, 1, error)))
    other = lines_of((apart_ms, SESSION.format(32_299, broker, error)), client=second)
    return keys_of(group_of(*first, *other).findings)


def test_two_clients_that_lose_a_broker_at_once_have_a_cause_in_common() -> None:
    assert "common_cause" in silences(140, "Local: Timed out")
    assert "common_cause" not in silences(9000, "Local: Timed out")
    assert "common_cause" not in silences(140, "Local: Timed out", second="orders-1#consumer-1")
    assert "common_cause" not in silences(140, "Local: Timed out", broker=2)
    assert "common_cause" not in silences(140, "Broker: Group rebalance in progress")


# ---------------------------------------------------------------- reports, and a broker beside it


@pytest.mark.parametrize("case", [one for one in CASES if expected_of(one)["kind"].startswith("librdkafka")])
def test_all_that_a_report_shows_is_found(case: str) -> None:
    for group_id, wanted in expected_of(case)["groups"].items():
        found = [(one.finding, one.is_inferred) for one in groups_of_case(case)[group_id].findings]
        for event in wanted["events"]:
            assert (event["event"], event["certainty"] == "inferred") in found


def test_a_recorded_client_says_why_its_member_left() -> None:
    client = str(CLIENTS / "ca-mixed-payments-post.log.gz")
    broker = str(BROKERS / "ca-mixed.log.gz")
    alone = {group.group_id: group for group in groups_in(merged(read_files([broker])))}["payments-post"]
    both = {group.group_id: group for group in groups_in(merged(read_files([broker, client])))}
    (at_2,) = [one for one in alone.rebalances if one.generation_id == 2]
    (why_2,) = [one for one in both["payments-post"].rebalances if one.generation_id == 2]
    assert (at_2.cause.is_inferred, why_2.cause.is_inferred, why_2.cause.kind) == (True, False, CauseKind.POLL_TIMEOUT)
    assert GROUP_NOT_NAMED not in both


def test_an_id_that_all_clients_of_the_library_have_names_no_group() -> None:
    member_id = f"rdkafka-{MEMBER[-36:]}"
    broker = (
        "[2026-03-01 12:00:00,000] INFO [GroupCoordinator 1]: Member {} in group orders has left, removing it from the "
        "group (kafka.coordinator.group.GroupCoordinator)"
    )
    groups = groups_in(
        [
            *read_lines("server.log", [broker.format(f"MemberMetadata(memberId={member_id}, clientId=rdkafka)")]).facts,
            *facts_of((0, POLL_TIMEOUT), client="rdkafka#consumer-1"),
        ]
    )
    assert GROUP_NOT_NAMED in [group.group_id for group in groups]


def test_versions_before_0_11_print_a_time_a_level_and_the_client_before_the_message() -> None:
    printed = [
        'HEARTBEAT: orders#consumer-1: Group "orders" heartbeat error response in state up (join state assigned, '
        "1 partition(s) assigned): Broker: Group rebalance in progress",
        'ASSIGN: orders#consumer-1: Group "orders": delegating revoke of 1 partition(s) to application rebalance '
        "callback",
        'CGRPJOINSTATE: orders#consumer-1: Group "orders" changed join state init -> wait-join',
        "JOINGROUP: orders#consumer-1: JoinGroup response: GenerationId 40, Protocol range, "
        f"LeaderId {MEMBER} (me), my MemberId {MEMBER}, 2 members in group: (no error)",
    ]
    lines = [f"1772366400.{ms:03} RDKAFKA-7-{text}" for ms, text in enumerate(printed)]
    facts = read_lines("app.log", lines).facts
    assert [fact.kind for fact in facts] == [
        FactKind.GROUP_IS_REBALANCING,
        FactKind.PARTITIONS_REVOKED,
        FactKind.JOIN_SENT,
        FactKind.JOINED,
    ]
    assert {(fact.client_id, fact.clock) for fact in facts} == {("orders#consumer-1", Clock.UTC)}
    assert [fact.at_ms for fact in facts] == [NOON_MS + ms for ms in range(4)]


def test_one_fencing_that_stands_in_several_lines_is_one() -> None:
    fenced = "Static consumer fenced by other consumer with same group.instance.id"
    beat = 'HEARTBEAT|{}| [thrd:main]: Group "orders" heartbeat error response in state up '
    lines = [
        f"%7|1594908244.958|{beat.format('orders-1#consumer-1')}"
        f"(join state started, 1 partition(s) assigned): Broker: {fenced}",
        f"%0|1594908244.959|FATAL|orders-1#consumer-1| [thrd:main]: Fatal error: Broker: {fenced}: "
        f"Fatal consumer error: Broker: {fenced}",
    ]
    (found,) = group_of(*lines).findings
    assert (found.finding, [fact.line_number for fact in found.facts]) == ("fenced", [1, 2])
