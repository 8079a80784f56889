"""A reply as a scenario's file writes an answer: ids by their names, and in an order where Kafka has none.

Knows the shape of replies; must not know a rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Answer = dict[str, Any]
Reply = Mapping[str, Any]
Naming = Callable[[str], str]
"""What a member id is called."""


def answer_of(reply: Reply, name_of: Naming) -> Answer:
    """What a reply says, as a file writes it."""
    error = {"error": reply["error_code"]} if "error_code" in reply else {}
    match reply["api"]:
        case "JoinGroup":
            return error | _joined(reply, name_of)
        case "SyncGroup":
            protocol = {"protocol_type": reply.get("protocol_type"), "protocol": reply.get("protocol_name")}
            return error | protocol | {"assignment": reply["assignment"]}
        case "LeaveGroup" if "members" in reply:
            return error | {"members": [_named(m, name_of) | {"error": m["error_code"]} for m in reply["members"]]}
        case "ConsumerGroupHeartbeat":
            return error | _beaten(reply, name_of)
        case "OffsetCommit" | "OffsetDelete":
            return error | {"partitions": _partition_errors(reply["topics"])}
        case "OffsetFetch":
            return {"groups": [_fetched(group) for group in reply["groups"]]}
        case "DescribeGroups":
            return {"groups": _by("group", (_described(group, name_of) for group in reply["groups"]))}
        case "ConsumerGroupDescribe":
            return {"groups": _by("group", (_described_consumers(group, name_of) for group in reply["groups"]))}
        case "ListGroups":
            return error | {"groups": _by("group", map(_listed, reply["groups"]))}
        case "DeleteGroups":
            deleted = ({"group": r["group_id"], "error": r["error_code"]} for r in reply["results"])
            return {"groups": _by("group", deleted)}
        case "FindCoordinator":
            return {"coordinators": [_found(c) for c in reply.get("coordinators", [reply])]}
        case _:
            return error


def _by(name: str, answers: Iterable[Answer]) -> list[Answer]:
    return sorted(answers, key=lambda answer: str(answer[name]))


def _named(member: Reply, name_of: Naming) -> Answer:
    return {"member": name_of(member["member_id"]), "instance": member.get("group_instance_id")}


def _joined(reply: Reply, name_of: Naming) -> Answer:
    members = (_named(member, name_of) | {"metadata": member["metadata"]} for member in reply["members"])
    return {
        "generation": reply["generation_id"],
        "protocol_type": reply.get("protocol_type"),
        "protocol": reply["protocol_name"],
        "leader": name_of(reply["leader"]),
        "member": name_of(reply["member_id"]),
        "skip_assignment": reply.get("skip_assignment", False),
        "members": _by("member", members),
    }


def _beaten(reply: Reply, name_of: Naming) -> Answer:
    reported = reply["assignment"]
    return {
        "member": name_of(reply["member_id"] or "") or None,
        "member_epoch": reply["member_epoch"],
        "heartbeat_interval_ms": reply["heartbeat_interval_ms"],
        "partitions": None if reported is None else _assigned(reported),
    }


def _described(group: Reply, name_of: Naming) -> Answer:
    members = (
        _named(member, name_of)
        | {
            "client_id": member["client_id"],
            "metadata": member["member_metadata"],
            "assignment": member["member_assignment"],
        }
        for member in group["members"]
    )
    return {
        "group": group["group_id"],
        "error": group["error_code"],
        "state": group["group_state"],
        "protocol_type": group["protocol_type"],
        "protocol": group["protocol_data"],
        "members": _by("member", members),
    }


def _described_consumers(group: Reply, name_of: Naming) -> Answer:
    return {
        "group": group["group_id"],
        "error": group["error_code"],
        "state": group["group_state"],
        "group_epoch": group["group_epoch"],
        "assignment_epoch": group["assignment_epoch"],
        "assignor": group["assignor_name"],
        "members": _by("member", (_described_consumer(member, name_of) for member in group["members"])),
    }


def _described_consumer(member: Reply, name_of: Naming) -> Answer:
    kind = {"type": ("classic", "consumer")[member["member_type"]]} if "member_type" in member else {}
    return kind | {
        "member": name_of(member["member_id"]),
        "instance": member["instance_id"],
        "rack": member["rack_id"],
        "member_epoch": member["member_epoch"],
        "client_id": member["client_id"],
        "topics": sorted(member["subscribed_topic_names"]),
        "regex": member["subscribed_topic_regex"],
        "assigned": _assigned(member["assignment"]),
        "target": _assigned(member["target_assignment"]),
    }


def _assigned(assignment: Reply) -> dict[str, list[int]]:
    return {entry["topic"]: sorted(entry["partitions"]) for entry in assignment["topic_partitions"]}


def _topic_name(topic: Reply) -> str:
    """Its name; where Kafka has its id, the trace has its name as `topic`."""
    name: str = topic["topic"] if "topic" in topic else topic["name"]
    return name


def _partition_errors(topics: list[Reply]) -> list[str]:
    return sorted(
        f"{_topic_name(topic)}/{partition['partition_index']} {partition['error_code']}"
        for topic in topics
        for partition in topic["partitions"]
    )


def _fetched(group: Reply) -> Answer:
    offsets = [
        f"{_topic_name(topic)}/{p['partition_index']} {p['committed_offset']}"
        + (f" '{p['metadata']}'" if p["metadata"] else "")
        + f" {p['error_code']}"
        for topic in group["topics"]
        for p in topic["partitions"]
    ]
    return {"group": group["group_id"], "error": group["error_code"], "offsets": sorted(offsets)}


def _listed(group: Reply) -> Answer:
    return {
        "group": group["group_id"],
        "protocol_type": group["protocol_type"],
        "state": group.get("group_state"),
        "type": group.get("group_type"),
    }


def _found(coordinator: Reply) -> Answer:
    node = "none" if coordinator["port"] == -1 else "this"
    return {"key": coordinator.get("key"), "error": coordinator["error_code"], "node": node}
