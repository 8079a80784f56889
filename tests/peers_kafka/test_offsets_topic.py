"""A real cluster's groups, by its __consumer_offsets alone, for a user who may do little else than read that topic.

Consumers of both protocols come, go and are killed, and so is the shadow. What it tells is held against what Kafka's
own admin client says in the end, and against what the consumers said of themselves.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from duck_sql.engine import ask
from tests.peers_kafka.kafka import broker
from tests.readme.shown import block_with
from tests.source_tree import ROOT
from tests.streaming.live import now_ms, read_rows
from tests.waiting import until

PASSWORD = "opensesame"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
LISTENER = "listener.name.plaintext"
PARTITIONS = 4
CLASSIC, CONSUMER = "orders-classic", "orders-consumer"
SHOWN, HIDDEN = "shown", "hidden"
"""Topics whose groups never commit: of one the cluster tells the shadow's user the name, of the other it does not."""
HEARTBEAT_MS = 500
CLASSIC_SESSION_MS = 4_000
SLACK_MS = 1_500
"""How much later than Kafka a client's callback may run on a busy machine."""
REBALANCE_MS = 2 * HEARTBEAT_MS + SLACK_MS
"""How long a classic rebalance takes in which everybody lives: all hear of it with their next heartbeat."""
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    f"{LISTENER}.plain.sasl.jaas.config": f'{PLAIN} username="app" password="{PASSWORD}" user_app="{PASSWORD}";',
    f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:app;User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1_000,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": 3_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
}
CLIENT = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "app",
    "sasl.password": PASSWORD,
}


class Said(NamedTuple):
    """A span in which a client had a partition, as it said itself. to_ms None: it said no end."""

    client_id: str
    partition: int
    from_ms: int
    to_ms: int | None


@dataclass
class Client:
    """One consumer and its words."""

    client_id: str
    process: subprocess.Popen[str]
    lines: list[dict[str, Any]] = field(default_factory=list)

    def listen(self) -> None:
        assert self.process.stdout is not None
        self.lines += []
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    @property
    def held(self) -> set[int]:
        found: set[int] = set()
        for line in list(self.lines):
            change = found.update if line["event"] == "assigned" else found.difference_update
            change(line["partitions"])
        return found

    def spans(self) -> Iterator[Said]:
        began: dict[int, int] = {}
        for line in self.lines:
            for partition in line["partitions"]:
                if line["event"] == "assigned":
                    began[partition] = line["at_ms"]
                elif partition in began:
                    yield Said(self.client_id, partition, began.pop(partition), line["at_ms"])
        for partition, at_ms in began.items():
            yield Said(self.client_id, partition, at_ms, None)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0


class Cluster:
    """A broker, its admin, and the consumers that were ever started."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder
        self.client: dict[str, Any] = {"bootstrap.servers": address, **CLIENT}
        self.admin = AdminClient(self.client)
        self.clients: dict[str, list[Client]] = defaultdict(list)
        topics = [NewTopic(name, PARTITIONS, 1) for name in ("orders", SHOWN, HIDDEN)]
        for made in self.admin.create_topics(topics).values():
            made.result()
        self._is_over = threading.Event()
        self._producing = threading.Thread(target=self._produce, daemon=True)
        self._producing.start()

    def _produce(self) -> None:
        """Records all the time, so that there is something to commit."""
        producer = Producer(self.client)
        while not self._is_over.wait(0.1):
            for partition in range(PARTITIONS):
                producer.produce("orders", b"x", partition=partition)
            producer.poll(0)
        producer.flush(5)

    def start(self, group: str, topic: str = "orders", *, commits: bool = True) -> Client:
        protocol = "classic" if group == CLASSIC else "consumer"
        client_id = f"{group}-{len(self.clients[group])}"
        settings = {
            **self.client,
            "group.id": group,
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "group.protocol": protocol,
            "enable.auto.commit": commits,
            "auto.commit.interval.ms": 500,
        }
        if protocol == "classic":
            settings |= {"session.timeout.ms": CLASSIC_SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}
        command = [sys.executable, "-m", "tests.peers_kafka.told_consumer", json.dumps(settings), topic]
        pipe = subprocess.PIPE
        client = Client(client_id, subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True))
        threading.Thread(target=client.listen, daemon=True).start()
        self.clients[group].append(client)
        return client

    def await_shared(self, group: str, *clients: Client) -> None:
        """Until these have all partitions among them, each once and at least one."""

        def is_shared() -> bool:
            shares = [client.held for client in clients]
            return all(shares) and sorted(n for share in shares for n in share) == list(range(PARTITIONS))

        until(is_shared, lambda: f"{group}: {[client.lines for client in clients]}")

    def stop(self) -> None:
        self._is_over.set()
        for client in (one for of_group in self.clients.values() for one in of_group):
            if client.process.poll() is None:
                client.process.kill()
            client.process.wait()
        self._producing.join()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with broker(tmp_path, SETTINGS, [f"SCRAM-SHA-512=[name=watcher,password={PASSWORD}]"]) as address:
        cluster = Cluster(address, tmp_path)
        yield cluster
        cluster.stop()


class Shadow:
    """`rollcall shadow` as the user watcher, with the settings of a file."""

    def __init__(self, cluster: Cluster) -> None:
        self.home = cluster.folder / "home"
        conf = cluster.folder / "shadow.conf"
        conf.write_text(
            "kafka.security.protocol=SASL_PLAINTEXT\nkafka.sasl.mechanism=SCRAM-SHA-512\n"
            f'kafka.sasl.jaas.config={SCRAM} username="watcher" password="{PASSWORD}";\n'
        )
        places = ["--conf", str(conf), "--home", str(self.home)]
        self.command = [sys.executable, "-m", "jobs.rollcall", "shadow", f"kafka://{cluster.address}", *places]
        self.log = cluster.folder / "shadow.log"

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, cwd=ROOT, stdout=log, stderr=log)

    def stop(self) -> str:
        self.process.terminate()
        assert self.process.wait(120) == 0, self.log.read_text()
        return self.log.read_text()

    def await_facts(self, query: str, what: str) -> list[tuple[Any, ...]]:
        """The rows of a query once there are any."""

        def are_there() -> list[tuple[Any, ...]] | None:
            assert self.process.poll() is None, self.log.read_text()
            return self.rows(query) if (self.home / "effects" / "_delta_log").exists() else None

        return until(are_there, lambda: f"{what}: {self.log.read_text()}", within_s=180, every_s=0.5)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in ask(self.home, query).rows]


@pytest.fixture
def shadow(cluster: Cluster) -> Iterator[Shadow]:
    shadow = Shadow(cluster)
    yield shadow
    if shadow.process.poll() is None:
        shadow.process.kill()
        shadow.process.wait()


def test_a_cluster_is_told_as_its_admin_and_its_clients_tell_it(cluster: Cluster, shadow: Shadow) -> None:
    groups = (CLASSIC, CONSUMER)
    first = {group: [cluster.start(group)] for group in groups}
    for group in groups:
        cluster.await_shared(group, *first[group])
        first[group].append(cluster.start(group))
    quiet = [cluster.start(topic, topic, commits=False) for topic in (SHOWN, HIDDEN)]
    for group in groups:
        cluster.await_shared(group, *first[group])
    for topic, client in zip((SHOWN, HIDDEN), quiet, strict=True):
        cluster.await_shared(topic, client)
    allow(cluster.admin)
    shadow.start()
    shadow.await_facts(f"select 1 from groups where group_id = '{CONSUMER}' and member_count = 2", "the first members")

    third = {group: cluster.start(group) for group in groups}
    for group in groups:
        cluster.await_shared(group, *first[group], third[group])
    # Nobody has told it to stop: what it had done is not done again, and nothing of what follows is missed.
    shadow.process.kill()
    shadow.process.wait()
    for group in groups:
        first[group][0].close()
        cluster.await_shared(group, first[group][1], third[group])
    shadow.start()
    killed_ms = now_ms()
    for group in groups:
        first[group][1].process.kill()
        cluster.await_shared(group, third[group])
    ends = f"select 1 from sessions where client_id = '{{}}-1' and ended_at >= timestamp_millis({killed_ms})"
    for group in groups:
        shadow.await_facts(ends.format(group), f"the end of a killed member of {group}")
    told = shadow.stop()
    assert "records read" in told
    for line in block_with("text", "following __consumer_offsets").splitlines()[1:]:
        # Without when it was, and how long a machine took for it.
        assert re.sub(r"^\S+ +|, [0-9.]+ s$", "", line) in told

    expect_each_fact_once(shadow)
    for group in groups:
        expect_what_the_admin_says(cluster, shadow, group)
        expect_what_the_clients_said(cluster, shadow, group, killed_ms)
    topics = dict(shadow.rows("select group_id, max(topic) from assignments group by group_id"))
    assert topics[SHOWN] == SHOWN
    assert topics[HIDDEN] != HIDDEN
    assert len(topics[HIDDEN]) == 22
    assert not read_rows(str(shadow.home / "quarantine"))


def allow(admin: AdminClient) -> None:
    """What the README says that a user needs; and of some topics the names."""
    wanted = [
        (ResourceType.TOPIC, "__consumer_offsets", AclOperation.READ),
        (ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE),
        *((ResourceType.TOPIC, name, AclOperation.DESCRIBE) for name in ("orders", SHOWN)),
    ]
    literal, may = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    acls = [AclBinding(kind, name, literal, "User:watcher", "*", what, may) for kind, name, what in wanted]
    for made in admin.create_acls(acls).values():
        made.result()


def expect_each_fact_once(shadow: Shadow) -> None:
    """A group's facts are numbered from one on, none twice and none left out."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in read_rows(str(shadow.home / "effects")):
        numbers[row["group_id"]].append(row["seq"])
    for group, found in numbers.items():
        assert sorted(found) == list(range(1, len(found) + 1)), group


def expect_what_the_admin_says(cluster: Cluster, shadow: Shadow, group: str) -> None:
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


def expect_what_the_clients_said(cluster: Cluster, shadow: Shadow, group: str, killed_ms: int) -> None:
    """Each span of ownership against the clients' own callbacks.

    A consumer group's members take and give up a partition with a heartbeat. A classic group's hold theirs until the
    next generation's assignment comes, while a client gives all up as soon as it hears of the rebalance.
    """
    said = [span for client in cluster.clients[group] for span in client.spans()]
    query = (
        f"select client_id, partition, from_at, to_at from assignments where group_id = '{group}' "
        "order by client_id, partition, from_at"
    )
    told = [
        Said(name, partition, ms(start), None if end is None else ms(end))
        for name, partition, start, end in shadow.rows(query)
    ]
    ours_and_theirs = list(zip(merged(told), merged(said), strict=True))
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
