"""A cluster is asked for its groups' sessions, by a real client; here the gateway is the cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rollcall.inputs.following.followed_cluster import ask_sessions
from rollcall.serve.listeners.addresses import Address
from tests.gateway.process import serving
from tests.wire_client import Client

SESSION = "consumer.session.timeout.ms"


async def make(address: Address, *groups: str) -> None:
    """Groups with sessions of their own: 50 s, 51 s and so on."""
    client = await Client.connect(address)
    for number, group in enumerate(groups):
        configs = [{"name": SESSION, "config_operation": 0, "value": str(50_000 + 1000 * number)}]
        altered = [{"resource_type": 32, "resource_name": group, "configs": configs}]
        await client.call("IncrementalAlterConfigs", 1, resources=altered)
        joins = {"rebalance_timeout_ms": 9000, "subscribed_topic_names": ["t1"], "topic_partitions": []}
        await client.call("ConsumerGroupHeartbeat", 1, group_id=group, member_id="m", member_epoch=0, **joins)
    client.close()


def test_sessions_are_asked_for_and_a_missing_right_is_reported(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("allow User:ANONYMOUS literal open ALL\nallow User:ANONYMOUS literal shut READ,DESCRIBE\n")
    with serving({"topics": "t1:4"}) as address:
        asyncio.run(make(address, "a", "b"))
        assert ask_sessions({"kafka.bootstrap.servers": str(address)}) == ({"a": 50_000, "b": 51_000}, "")
    with serving({"topics": "t1:4", "gateway.rules": rules}) as address:
        asyncio.run(make(address, "open", "shut"))
        found = ask_sessions({"kafka.bootstrap.servers": str(address)})
        assert found.by_group == {"open": 50_000}
        assert found.says == (
            "of 1 groups it is not known what is set for them (no right DESCRIBE_CONFIGS on the group): their members' "
            "sessions are taken for 45 s long."
        )


def test_what_cannot_be_asked_is_reported() -> None:
    found = ask_sessions({"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.ssl.truststore.location": "x.jks"})
    assert found.by_group == {}
    assert found.says.startswith("kafka.ssl.truststore.type=JKS: ")
