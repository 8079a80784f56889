"""A broker inside TLS that asks for users, with consumers by librdkafka that come and go and say what they have.

Knows how they are started and their words; must not know what is made of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.peers_kafka.kafka import broker
from tests.source_tree import ROOT
from tests.waiting import until

PASSWORD = "opensesame"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
LISTENER = "listener.name.plaintext"
PARTITIONS = 4
CLASSIC, CONSUMER = "orders-classic", "orders-consumer"
CERTIFICATES = ROOT / "tests" / "gateway" / "certificates"
AUTHORITY = str(CERTIFICATES / "ca.pem")
SHOWN, HIDDEN = "shown", "hidden"
"""Topics whose groups never commit: the shadow's user may learn the name of one from the cluster, of the other not."""
HEARTBEAT_MS = 500
CLASSIC_SESSION_MS = 4_000
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": AUTHORITY,
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    f"{LISTENER}.plain.sasl.jaas.config": f'{PLAIN} username="app" password="{PASSWORD}" user_app="{PASSWORD}";',
    f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:app;User:ANONYMOUS",
    "transaction.state.log.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1_000,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": 3_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
}
CLIENT = {
    "security.protocol": "SASL_SSL",
    "ssl.ca.location": AUTHORITY,
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
        command = [sys.executable, "-m", "tests.peers_kafka.reporting_consumer", json.dumps(settings), topic]
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


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster with its data in a folder, where user app may do all and user watcher, by SCRAM, nothing yet."""
    keystore = folder / "keystore.pem"
    keystore.write_text((CERTIFICATES / "server.key").read_text() + (CERTIFICATES / "server.pem").read_text())
    settings = {**SETTINGS, "ssl.keystore.location": keystore}
    with broker(folder, settings, [f"SCRAM-SHA-512=[name=watcher,password={PASSWORD}]"]) as address:
        cluster = Cluster(address, folder)
        try:
            yield cluster
        finally:
            cluster.stop()
