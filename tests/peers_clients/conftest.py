"""The coordinator that real clients meet: a gateway over the pure core, in a process of its own."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from rollcall.schemas.consumer_protocol import decode_assignment
from rollcall.serve.listeners.addresses import Address
from tests.gateway.process import serving
from tests.peers_clients.fleet import PATIENCE_S, Fleet
from tests.waiting import until
from tests.wire_client import Client

PARTITIONS = 12
TOPIC = "work"
SESSION_MS = 30_000
"""Nobody loses its session by a machine that is busy."""
SHORT_SESSION_MS = 6000
"""For tests that wait until a session is over: a member that loses its own meanwhile joins again."""
_numbers = itertools.count(1)


@dataclass
class Coordinator:
    """A gateway that runs. pace: by how much it is slower than a broker."""

    address: Address
    pace: float = 1.0

    @property
    def bootstrap(self) -> str:
        return str(self.address)

    def fleet(self, session_ms: int = SESSION_MS, **options: str) -> Fleet:
        """Consumers of a group of their own."""
        timing = {"session_ms": str(int(session_ms * self.pace)), "heartbeat_ms": str(int(300 * self.pace))}
        timing["max_poll_ms"] = str(int(60_000 * self.pace))
        fleet = Fleet(self.bootstrap, f"group-{next(_numbers)}", TOPIC, **{**timing, **options})
        fleet.patience_s *= self.pace
        return fleet

    def call(self, api: str, version: int, **values: Any) -> Any:
        async def once() -> Any:
            client = await Client.connect(self.address)
            client.patience_s = PATIENCE_S
            try:
                return await client.call(api, version, **values)
            finally:
                client.close()

        return asyncio.run(once())

    def set_session(self, group: str, session_ms: int) -> None:
        """What holds for members of the newer protocol in this group."""
        configs = [{"name": "consumer.session.timeout.ms", "config_operation": 0, "value": str(session_ms)}]
        altered = {"resource_type": 32, "resource_name": group, "configs": configs}
        (answer,) = self.call("IncrementalAlterConfigs", 1, resources=[altered]).responses
        assert answer.error_code.name == "none", answer

    def describe(self, group: str) -> Any:
        """The group as DescribeGroups describes it."""
        return self.call("DescribeGroups", 5, groups=[group]).groups[0]

    def describe_newer(self, group: str) -> Any:
        """The group as ConsumerGroupDescribe describes it, None: it is not one of the newer protocol."""
        (reported,) = self.call("ConsumerGroupDescribe", 1, group_ids=[group]).groups
        return reported if reported.error_code.name == "none" else None

    def members(self, group: str) -> dict[str, set[str]]:
        """The partitions that each client id of a group has, as the coordinator says, whatever the group's protocol."""
        newer = self.describe_newer(group)
        if newer is not None:
            return {
                member.client_id: {
                    f"{topic.topic_name}/{partition}"
                    for topic in member.assignment.topic_partitions
                    for partition in topic.partitions
                }
                for member in newer.members
            }
        found: dict[str, set[str]] = {}
        for member in self.describe(group).members:
            share = decode_assignment(member.member_assignment) if member.member_assignment else None
            found[member.client_id] = {f"{p.topic}/{p.partition}" for p in share.partitions} if share else set()
        return found

    def member_ids(self, group: str) -> dict[str, str]:
        """The member id of each client id, likewise."""
        described = self.describe_newer(group) or self.describe(group)
        return {member.client_id: member.member_id for member in described.members}

    def await_stable(self, group: str, size: int) -> None:
        """Waits until the group is Stable with this many members."""

        def described() -> Any:
            return self.describe_newer(group) or self.describe(group)

        def is_stable() -> bool:
            reported = described()
            return reported.group_state == "Stable" and len(reported.members) == size

        until(is_stable, lambda: str(described()))


@pytest.fixture(scope="session")
def coordinator() -> Iterator[Coordinator]:
    settings = {
        "topics": f"{TOPIC}:{PARTITIONS},t1:4,t2:4",
        "group.min.session.timeout.ms": "500",
        "group.max.session.timeout.ms": "300000",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.session.timeout.ms": "8000",
        "group.consumer.heartbeat.interval.ms": "1000",
        "group.consumer.assignment.interval.ms": "0",
    }
    with serving(settings) as address:
        yield Coordinator(address)
