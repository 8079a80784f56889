"""What administrators' tools do before a gateway over the core, they do before the Spark job: the same tests again."""

from __future__ import annotations

from tests.peers_clients.tool_rules import (
    group,
    test_confluents_admin_client_knows_groups,
    test_kafka_consumer_groups_lists_and_describes,
    test_kafka_consumer_groups_resets_offsets_and_deletes,
    test_kafka_pythons_admin_client_knows_groups,
    test_tools_know_groups_of_the_newer_protocol_by_their_type,
)

__all__ = [
    "group",
    "test_confluents_admin_client_knows_groups",
    "test_kafka_consumer_groups_lists_and_describes",
    "test_kafka_consumer_groups_resets_offsets_and_deletes",
    "test_kafka_pythons_admin_client_knows_groups",
    "test_tools_know_groups_of_the_newer_protocol_by_their_type",
]
