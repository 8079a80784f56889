"""One request of each API that is about groups, of its newest version, and the error that is found in its answer.

Knows the fields; must not know what is answered.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from rollcall.serve.gateway.topic_ids import TopicIds
from tests.gateway.wire_client import heartbeat, join

T1 = TopicIds({"t1": 4, "t2": 4}).by_name["t1"]
COMMITTED = [{"partition_index": 0, "committed_offset": 5}]
ASKED: dict[str, dict[str, Any]] = {
    "JoinGroup": join(),
    "SyncGroup": {"group_id": "g", "protocol_type": "c", "protocol_name": "p"},
    "Heartbeat": heartbeat(),
    "LeaveGroup": {"group_id": "g", "members": [{"member_id": "m"}]},
    "OffsetCommit": {"group_id": "g", "topics": [{"topic_id": T1, "partitions": COMMITTED}]},
    "OffsetFetch": {"groups": [{"group_id": "g", "topics": [{"topic_id": T1, "partition_indexes": [0]}]}]},
    "OffsetDelete": {"group_id": "g", "topics": []},
    "DescribeGroups": {"groups": ["g", "h"]},
    "DeleteGroups": {"groups_names": ["g", "h"]},
    "ConsumerGroupDescribe": {"group_ids": ["g", "h"]},
    "DescribeConfigs": {"resources": [{"resource_type": 32, "resource_name": "g"}]},
    "AlterConfigs": {"resources": [{"resource_type": 32, "resource_name": "g"}]},
    "IncrementalAlterConfigs": {"resources": [{"resource_type": 32, "resource_name": "g"}]},
    "ConsumerGroupHeartbeat": {
        "group_id": "g",
        "member_id": "m",
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": ["t1"],
        "topic_partitions": [],
    },
}


def error_in(answer: Any) -> str:
    """The error of an answer, or of the first group in it."""
    if isinstance(answer, tuple):
        return error_in(answer[0]) if answer else "none"
    if not is_dataclass(answer):
        return "none"
    own = getattr(answer, "error_code", None)
    if own:
        return str(own.name)
    inner = (error_in(getattr(answer, field.name)) for field in fields(answer))
    return next((error for error in inner if error != "none"), "none")
