"""The topic partitions that a line names, whoever printed it.

Knows how clients print partitions. Must not know what a line says about them.
"""

from __future__ import annotations

import json
import re

from app_logs.logged_facts import LoggedFact

_NAMED = re.compile(r"(?P<topic>[A-Za-z0-9._-]{1,249})[-/](?P<partition>\d{1,9})(?![\w.-])")


def partitions_in(fact: LoggedFact) -> frozenset[tuple[str, int]]:
    """`orders-0, orders-1`, `orders/0` or `{"orders": [0, 1]}` as topics and partitions; empty if none is named."""
    if fact.partitions.startswith("{"):
        try:
            return frozenset((topic, int(one)) for topic, given in json.loads(fact.partitions).items() for one in given)
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass
    return frozenset((one["topic"], int(one["partition"])) for one in _NAMED.finditer(fact.partitions))
