"""What unmodified consumers do before a gateway over the core."""

from tests.peers_clients.consumer_rules import *  # noqa: F403
