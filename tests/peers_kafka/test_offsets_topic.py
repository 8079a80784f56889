"""A real cluster's groups, by its __consumer_offsets alone, for a user who may do little else than read that topic.

Consumers of both protocols, of two libraries, come, go and are killed, and so is the shadow; others commit in
transactions; all of it inside TLS. What the shadow reports is compared with what Kafka's admin client says in the end,
and with what the consumers said of themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.request import urlopen

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from rollcall.cli.doctor import findings, kafka_settings
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.tables.home import Home
from tests.peers_clients.fleet import Fleet
from tests.peers_kafka.cluster_shadow import ClusterShadow
from tests.peers_kafka.secured_cluster import (
    AUTHORITY,
    CLASSIC,
    CONSUMER,
    HEARTBEAT_MS,
    HIDDEN,
    PARTITIONS,
    PASSWORD,
    SCRAM,
    SHOWN,
    Cluster,
    Said,
    running_cluster,
)
from tests.peers_kafka.transactions import Transactions
from tests.readme.shown import block_with
from tests.streaming.live import expect_each_fact_once, now_ms, read_rows
from tests.waiting import WITHIN_S, until

JAVA, EXACTLY_ONCE = "orders-java", "orders-exactly-once"
"""A group of Java clients, and one that commits in transactions alone."""
SLACK_MS = 1_500
"""How much later than Kafka a client's callback may run on a busy machine."""
REBALANCE_MS = 2 * HEARTBEAT_MS + SLACK_MS
"""How long a classic rebalance takes in which everybody lives: all hear of it with their next heartbeat."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def java(cluster: Cluster) -> Iterator[Fleet]:
    user = {"user": "app", "password": PASSWORD, "mechanism": "PLAIN", "ca": AUTHORITY}
    with Fleet(cluster.address, JAVA, "orders", protocol="consumer", **user) as fleet:
        yield fleet


@pytest.fixture
def shadow(cluster: Cluster) -> Iterator[ClusterShadow]:
    """As the user watcher."""
    settings = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": AUTHORITY,
        "kafka.sasl.jaas.config": f'{SCRAM} username="watcher" password="{PASSWORD}";',
        "spark.coordinator.metrics.listen": "127.0.0.1:0",
    }
    shadow = ClusterShadow(cluster.folder, f"kafka://{cluster.address}", settings=settings)
    yield shadow
    shadow.end()


def without_times(text: str) -> str:
    """Lines without when it was, and how long a machine took for it."""
    return re.sub(r"(?m)^\S+ +| in [0-9.]+ m?s\b", "", text)


def test_a_cluster_is_reported_as_its_admin_and_its_clients_tell_it(
    cluster: Cluster, shadow: ClusterShadow, java: Fleet
) -> None:
    groups = (CLASSIC, CONSUMER)
    by_java = [java.start("java")]
    transactions = Transactions(cluster.client, EXACTLY_ONCE)
    transactions.commit("orders", 5)
    first = {group: [cluster.start(group)] for group in groups}
    for group in groups:
        cluster.await_shared(group, *first[group])
        first[group].append(cluster.start(group))
    quiet = [cluster.start(topic, topic, commits=False) for topic in (SHOWN, HIDDEN)]
    for group in groups:
        cluster.await_shared(group, *first[group])
    for topic, client in zip((SHOWN, HIDDEN), quiet, strict=True):
        cluster.await_shared(topic, client)
    java.await_shares(by_java, PARTITIONS)
    is_followable, why = followable(cluster)
    assert not is_followable
    assert "Topic authorization failed" in why
    allow(cluster.admin)
    assert followable(cluster) == (True, "this user can read it.")
    shadow.start()
    by_java.append(java.start("java"))
    shadow.await_rows(f"select 1 from groups where group_id = '{CONSUMER}' and member_count = 2", "the first members")

    java.await_shares(by_java, PARTITIONS)
    transactions.commit("orders", 7, is_aborted=True)
    third = {group: cluster.start(group) for group in groups}
    for group in groups:
        cluster.await_shared(group, *first[group], third[group])
    # Nobody has asked it to stop: what it had done is not done again, and nothing of what follows is missed.
    shadow.kill()
    for group in groups:
        first[group][0].close()
        cluster.await_shared(group, first[group][1], third[group])
    by_java[0].close()
    java.await_shares(by_java[1:], PARTITIONS)
    assert by_java[1].ask("commit", "orders/0", 3) == 3
    shadow.start()
    transactions.commit("orders", 9)
    killed_ms = now_ms()
    for group in groups:
        first[group][1].process.kill()
        cluster.await_shared(group, third[group])
    ends = f"select 1 from sessions where client_id = '{{}}-1' and ended_at >= timestamp_millis({killed_ms})"
    for group in groups:
        shadow.await_rows(ends.format(group), f"the end of a killed member of {group}")
    reported_offset = "select 1 from offsets where group_id = '{}' and committed_offset = {}"
    for group, offset in ((EXACTLY_ONCE, 9), (JAVA, 3)):
        shadow.await_rows(reported_offset.format(group, offset), f"the last commit of {group}")
    transactions.close()
    figures = {
        f'kafka_consumergroup_members{{consumergroup="{CONSUMER}"}} 1.0',
        f'kafka_consumergroup_current_offset{{consumergroup="{JAVA}",partition="0",topic="orders"}} 3.0',
    }
    until(lambda: figures <= set(metrics(shadow).splitlines()), lambda: metrics(shadow), WITHIN_S, every_s=1)
    printed = shadow.stop()
    assert "records read" in printed
    assert f"following {TOPIC} of kafka://{cluster.address}, taken for Kafka 4.4, on " in printed
    for line in block_with("text", "following __consumer_offsets").splitlines()[1:]:
        assert without_times(line) in without_times(printed)

    expect_each_fact_once(shadow.home)
    expect_what_the_admin_says(cluster, shadow, JAVA)
    assert committed(shadow, JAVA) == [
        (3, shadow.rows(f"select member_id from members where group_id = '{JAVA}'")[0][0])
    ]
    assert committed(shadow, EXACTLY_ONCE) == [(5, ""), (9, "")]
    for group in groups:
        expect_what_the_admin_says(cluster, shadow, group)
        expect_what_the_clients_said(cluster, shadow, group, killed_ms)
    topics: dict[str, str] = dict(shadow.rows("select group_id, max(topic) from assignments group by group_id"))
    assert topics[SHOWN] == SHOWN
    assert topics[HIDDEN] != HIDDEN
    assert len(topics[HIDDEN]) == 22
    assert not read_rows(shadow.home.quarantine)


def metrics(shadow: ClusterShadow) -> str:
    """What Prometheus has of the shadow that was started last."""
    address = re.findall(r"health are at (\S+)\.\s", shadow.said())[-1]
    with urlopen(f"{address}/metrics", timeout=WITHIN_S) as answer:
        return str(answer.read().decode())


def allow(admin: AdminClient) -> None:
    """What docs/offsets-topic.md says that a user needs; and of some topics the names."""
    wanted = [
        (ResourceType.TOPIC, "__consumer_offsets", AclOperation.READ),
        (ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE),
        *((ResourceType.TOPIC, name, AclOperation.DESCRIBE) for name in ("orders", SHOWN)),
    ]
    literal, may = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    acls = [AclBinding(kind, name, literal, "User:watcher", "*", what, may) for kind, name, what in wanted]
    for made in admin.create_acls(acls).values():
        made.result()


def followable(cluster: Cluster) -> tuple[bool, str]:
    """What `rollcall doctor` says of the topic to the shadow's user."""
    settings = kafka_settings(f"kafka://{cluster.address}", cluster.folder / "shadow.conf")
    found = {finding.what: finding for finding in findings(Home(cluster.folder / "home"), settings)}
    assert found["cluster"].is_fine, found["cluster"].sentence
    return found[TOPIC].is_fine, found[TOPIC].sentence


def committed(shadow: ClusterShadow, group: str) -> list[tuple[int, str]]:
    """Every offset that is reported as committed, with whose partition it was."""
    rows = [row for row in read_rows(shadow.home.effects) if row["group_id"] == group]
    commits = [row for row in sorted(rows, key=lambda row: row["seq"]) if row["effect"] == "offsets_committed"]
    return [(json.loads(row["detail"])["offsets"][0]["committed_offset"], row["member_id"]) for row in commits]


def expect_what_the_admin_says(cluster: Cluster, shadow: ClusterShadow, group: str) -> None:
    """State, members and who has what, in the end."""
    described = cluster.admin.describe_consumer_groups([group])[group].result()
    rows = shadow.rows(f"select state, member_count from groups where group_id = '{group}'")
    assert [(state.lower(), count) for state, count in rows] == [(described.state.name.lower(), len(described.members))]
    own = f"group_id = '{group}'"
    found = shadow.rows(f"select member_id, client_id, client_host from members where {own} order by member_id")
    assert found == sorted((one.member_id, one.client_id, one.host) for one in described.members)
    owned = {
        (one.member_id, p.topic, p.partition) for one in described.members for p in one.assignment.topic_partitions
    }
    now = f"select member_id, topic, partition from assignments where {own} and to_at is null"
    assert set(shadow.rows(now)) == owned


def expect_what_the_clients_said(cluster: Cluster, shadow: ClusterShadow, group: str, killed_ms: int) -> None:
    """Each span of ownership against the clients' own callbacks.

    A consumer group's members take and give up a partition with a heartbeat. A classic group's hold theirs until the
    next generation's assignment comes, while a client gives all up as soon as it hears of the rebalance.
    """
    said = [span for client in cluster.clients[group] for span in client.spans()]
    query = (
        f"select client_id, partition, from_at, to_at from assignments where group_id = '{group}' "
        "order by client_id, partition, from_at"
    )
    reported = [
        Said(name, partition, ms(start), None if end is None else ms(end))
        for name, partition, start, end in shadow.rows(query)
    ]
    ours_and_theirs = list(zip(merged(reported), merged(said), strict=True))
    for ours, theirs in ours_and_theirs:
        assert ours[:2] == theirs[:2], (ours, theirs)
        assert abs(ours.from_ms - theirs.from_ms) <= HEARTBEAT_MS + SLACK_MS, (ours, theirs)
        if theirs.to_ms is None:
            # It lives on, or was killed and could say nothing any more.
            assert ours.to_ms is None or ours.to_ms >= killed_ms, (ours, theirs)
        else:
            assert ours.to_ms is not None, (ours, theirs)
            assert abs(ours.to_ms - theirs.to_ms) <= REBALANCE_MS, (ours, theirs)


def merged(spans: list[Said]) -> list[Said]:
    """What a client gives up and gets back at once, as in an eager rebalance, is one span."""
    found: list[Said] = []
    for span in sorted(spans, key=lambda one: (one.client_id, one.partition, one.from_ms)):
        last = found[-1] if found else None
        if last is not None and last[:2] == span[:2] and span.from_ms - (last.to_ms or 0) <= REBALANCE_MS:
            found[-1] = last._replace(to_ms=span.to_ms)
        else:
            found.append(span)
    return found


def ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
