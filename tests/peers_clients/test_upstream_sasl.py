"""A gateway before a real Kafka that lets in only who it knows: clients need not know anything of that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.gateway.process import serving
from tests.peers_kafka.kafka import broker

NAME, PASSWORD = "gateway", "opensesame"
PLAIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{NAME}" password="{PASSWORD}"'
SCRAM = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{NAME}" password="{PASSWORD}"'
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LISTENER = "listener.name.plaintext"
RECORDS = 100


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker whose one listener asks for SASL, whatever its name."""
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        f"{LISTENER}.plain.sasl.jaas.config": f'{PLAIN} user_{NAME}="{PASSWORD}";',
        f"{LISTENER}.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
        f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
    }
    users = [f"{name}=[name={NAME},password={PASSWORD}]" for name in MECHANISMS if name.startswith("SCRAM")]
    with broker(tmp_path_factory.mktemp("kafka"), settings, users) as address:
        yield address


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_clients_write_and_read_through_a_gateway_that_is_known(mechanism: str, kafka: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    settings = {
        "gateway.upstream": kafka,
        "gateway.upstream.security.protocol": "SASL_PLAINTEXT",
        "gateway.upstream.sasl.mechanism": mechanism,
        "gateway.upstream.sasl.username": NAME,
        "gateway.upstream.sasl.password.file": str(tmp_path / "password"),
        "group.initial.rebalance.delay.ms": "0",
    }
    topic = f"through-{mechanism}"
    with serving(settings) as address:
        client: dict[str, Any] = {"bootstrap.servers": str(address)}
        admin = AdminClient(client)
        admin.create_topics([NewTopic(topic, 2, 1)])[topic].result()
        producer = Producer(client)
        for number in range(RECORDS):
            producer.produce(topic, str(number).encode())
        assert producer.flush(30) == 0
        consumer = Consumer({**client, "group.id": "readers", "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        read: set[int] = set()
        while len(read) < RECORDS:
            record = consumer.poll(30)
            assert record is not None, f"{len(read)} records were read"
            assert record.error() is None
            read.add(int(record.value() or b""))
        consumer.close()
    assert read == set(range(RECORDS))
