"""The kinds of homes that shadows make, as `home.json` names them."""

from __future__ import annotations

SHADOW = "shadow"
"""Of a request log."""
TOPIC_SHADOW = "topic shadow"
BOTH_SHADOW = "shadow of both"
"""Of a request log and a topic."""
PRINTED_SHADOW = "shadow of a broker's log"
PRINTED_BOTH_SHADOW = "shadow of a broker's log and a topic"
