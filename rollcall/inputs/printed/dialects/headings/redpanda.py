"""How a Redpanda broker lays its log out, and how a log without a line about groups shows it."""

from __future__ import annotations

import re

PRINTS_NO_REBALANCES = (
    "its first line is laid out as Redpanda's are: Redpanda prints rebalances only at TRACE, and no such line is in "
    "it. The logs of the group's clients show these clients' part"
)
PLACE = r"[\w/:.-]{1,60}\.(?:cc|h):\d{1,6} - "
"""The place in the source, which stands before a message."""
_LAYOUT = re.compile(rf"\[shard +\d{{1,4}}(?::\w{{1,20}})?\] [\w/:.-]{{1,60}} - {PLACE}")
"""Seastar's layout with the place in the source. ScyllaDB's, which is Seastar's too, has none."""


def is_laid_out_as_redpanda_s(line: str) -> bool:
    """Whether a line has the layout of Redpanda's log."""
    return _LAYOUT.search(line) is not None
