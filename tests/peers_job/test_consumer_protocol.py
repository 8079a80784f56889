"""What consumers with `group.protocol=consumer` (KIP-848) do before the Spark job: the first of those tests again."""

from __future__ import annotations

from tests.peers_clients.consumer_protocol_rules import test_members_join_subscribe_to_other_topics_close_and_are_killed

__all__ = ["test_members_join_subscribe_to_other_topics_close_and_are_killed"]
