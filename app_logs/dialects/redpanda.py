"""How a Redpanda broker's log is known, of which no line is read: it prints rebalances only at TRACE."""

from __future__ import annotations

import re

PRINTS_NO_REBALANCES = (
    "its first line is laid out as Redpanda's are: Redpanda prints rebalances only at TRACE, and such lines are not "
    "read. The logs of the group's clients show these clients' part"
)
_LAYOUT = re.compile(r"\[shard +\d{1,4}(?::\w{1,20})?\] [\w/:.-]{1,60} - \w{1,60}\.(?:cc|h):\d{1,6} - ")
"""Seastar's layout with the place in the source. ScyllaDB's, which is Seastar's too, has none."""


def is_laid_out_as_redpanda_s(line: str) -> bool:
    """Whether a line has the layout of Redpanda's log."""
    return _LAYOUT.search(line) is not None
