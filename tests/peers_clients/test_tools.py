"""What administrators' tools do before a gateway over the core."""

from tests.peers_clients.tool_rules import *  # noqa: F403
