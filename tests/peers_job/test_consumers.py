"""What unmodified consumers and tools do before a gateway over the core, they do before the Spark job: the same tests.

Each commit asks some of them: tests/peers_clients has all.
"""

from __future__ import annotations

import pytest

from tests.peers_clients.consumer_protocol_rules import test_members_join_subscribe_to_other_topics_close_and_are_killed
from tests.peers_clients.consumer_rules import *  # noqa: F403
from tests.peers_clients.tool_rules import *  # noqa: F403

__all__ = ["test_members_join_subscribe_to_other_topics_close_and_are_killed"]

pytestmark = pytest.mark.nightly
