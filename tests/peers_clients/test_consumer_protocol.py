"""What the consumers of two libraries with `group.protocol=consumer` (KIP-848) do before a gateway over the core."""

from __future__ import annotations

from tests.peers_clients.consumer_protocol_rules import (
    test_a_running_classic_group_is_converted_member_by_member_and_back,
    test_members_join_subscribe_to_other_topics_close_and_are_killed,
    test_static_members_that_are_restarted_have_their_share_again_and_nobody_notices,
    test_those_that_are_paused_beyond_their_session_lose_their_share_and_get_one_again,
)

__all__ = [
    "test_a_running_classic_group_is_converted_member_by_member_and_back",
    "test_members_join_subscribe_to_other_topics_close_and_are_killed",
    "test_static_members_that_are_restarted_have_their_share_again_and_nobody_notices",
    "test_those_that_are_paused_beyond_their_session_lose_their_share_and_get_one_again",
]
