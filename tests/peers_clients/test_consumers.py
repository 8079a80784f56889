"""What unmodified consumers do before a gateway over the core: `consumer_rules`, each a test."""

from __future__ import annotations

from tests.peers_clients.consumer_rules import (
    test_a_consumer_goes_on_where_its_group_committed,
    test_a_cooperative_member_never_lets_go_of_what_it_keeps,
    test_a_static_member_that_is_restarted_has_its_share_again_and_nobody_notices,
    test_all_kinds_of_client_share_in_one_group,
    test_one_consumer_has_every_partition,
    test_one_that_is_paused_beyond_its_session_loses_its_share_and_gets_one_again,
    test_the_share_of_one_that_is_killed_goes_to_the_others_after_its_session,
    test_three_kinds_of_client_cooperate_in_one_group,
    test_three_share_and_one_joins_and_one_closes,
)

__all__ = [
    "test_a_consumer_goes_on_where_its_group_committed",
    "test_a_cooperative_member_never_lets_go_of_what_it_keeps",
    "test_a_static_member_that_is_restarted_has_its_share_again_and_nobody_notices",
    "test_all_kinds_of_client_share_in_one_group",
    "test_one_consumer_has_every_partition",
    "test_one_that_is_paused_beyond_its_session_loses_its_share_and_gets_one_again",
    "test_the_share_of_one_that_is_killed_goes_to_the_others_after_its_session",
    "test_three_kinds_of_client_cooperate_in_one_group",
    "test_three_share_and_one_joins_and_one_closes",
]
