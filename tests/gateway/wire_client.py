"""What the tests' clients send: requests' fields, and a client that has become the only member of a group.

Knows the fields; must not know what is answered.
"""

from __future__ import annotations

from typing import Any

from rollcall.serve.listeners.addresses import Address
from tests.wire_client import Client

NEWEST = {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "LeaveGroup": 5, "ApiVersions": 3, "Metadata": 12}


def heartbeat(group: str = "g", member: str = "m", generation: int = 1) -> dict[str, Any]:
    return {"group_id": group, "member_id": member, "generation_id": generation}


def join(group: str = "g", member: str = "", protocol: str = "range", **more: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": protocol, "metadata": b"\0\1\0\0\0\0\0\0\0\0\0\0\0\0"}],
        **more,
    }


async def beaten(client: Client, member: str = "m", generation: int = 1, group: str = "g") -> str:
    """The error that a heartbeat is answered with."""
    answer = await client.call("Heartbeat", 4, **heartbeat(group, member, generation))
    return str(answer.error_code.name)


async def is_answered(client: Client) -> bool:
    """Whether a client that does nothing wrong is answered what the coordinator says."""
    return await beaten(client, group="nobody's") == "unknown_member_id"


async def is_served(address: Address) -> bool:
    """The same of a client that comes now."""
    client = await Client.connect(address)
    served = await is_answered(client)
    client.close()
    return served


async def park(client: Client, group: str = "g") -> tuple[str, int]:
    """Joins a group with a member: the id and the number of a JoinGroup that waits for that member to join again."""
    given = await client.call("JoinGroup", 9, **join(group))
    return given.member_id, client.send("JoinGroup", 9, **join(group, given.member_id))


async def alone_in(client: Client, group: str = "g", **more: Any) -> tuple[str, int]:
    """Member id and generation of a client that is the only member of a stable group."""
    given = await client.call("JoinGroup", 9, **join(group, **more))
    joined = await client.call("JoinGroup", 9, **join(group, given.member_id, **more))
    synced = await client.call(
        "SyncGroup",
        5,
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[{"member_id": joined.member_id, "assignment": b"mine"}],
    )
    assert synced.assignment == b"mine"
    return joined.member_id, joined.generation_id
