"""The rows of a what-if's sweep, small enough to draw by hand. Knows their columns."""

from __future__ import annotations

from typing import Any


def rows(*values: int) -> list[dict[str, Any]]:
    figures = {name: 1 for name in ("rebalancing_s", "unserved_partition_s", "rebalances", "partitions_moved")}
    figures |= {"longest_detection_s": 2, "wrongly_expired": 0}
    common = {"swept": "session.timeout.ms", "group_id": None, "fidelity": 0.9, **figures}
    tried = [{**common, "run": "whatif", "value": value, "rebalances": value // 1000} for value in values]
    return [{**common, "run": "recorded", "value": None}, {**common, "run": "baseline", "value": None}, *tried]
