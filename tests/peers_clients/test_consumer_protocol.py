"""What the consumers of two libraries with `group.protocol=consumer` (KIP-848) do before a gateway over the core."""

from tests.peers_clients.consumer_protocol_rules import *  # noqa: F403
