"""What Kafka's coordinator prints of a classic group, message by message. Must not know how they are read."""

from __future__ import annotations

JOINS = "Dynamic member with unknown member id joins group {} in Empty state. Created a new member id "
REJOIN = " and requesting the member to rejoin with this id."
PREPARES = "Preparing to rebalance group {} in state PreparingRebalance with old generation {} (reason: "


def given_an_id(member_id: str, group: str = "g") -> str:
    return JOINS.format(group) + member_id + REJOIN


def added(member_id: str, group: str = "g") -> str:
    return f"Pending dynamic member with id {member_id} joins group {group} in Empty state. Adding to the group now."


def preparing(generation_id: int, reason: str, group: str = "g") -> str:
    return f"{PREPARES.format(group, generation_id)}{reason})."


def joining(member_id: str, client_reason: str = "not provided") -> str:
    return f"Adding new member {member_id} with group instance id null; client reason: {client_reason}"


def formed(generation_id: int, members: int, leader: str, group: str = "g") -> tuple[str, str]:
    led = f"Assignment received from leader {leader} for group {group} for generation {generation_id}. "
    return (
        f"Stabilized group {group} generation {generation_id} with {members} members.",
        f"{led}The group has {members} members, 0 of which are static.",
    )


def failed(member_id: str, group: str = "g") -> str:
    return f"Member {member_id} in group {group} has failed, removing it from the group."


def expired(member_id: str) -> str:
    return f"removing member {member_id} on heartbeat expiration."
