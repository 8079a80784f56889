"""A request log as long as one likes: a real broker's log of forty groups, many times side by side.

Every copy has groups, clients and addresses of its own, so that a copy behaves as the recorded groups did. Knows a
line's text only as far as names are replaced in it.
"""

from __future__ import annotations

import gzip
from pathlib import Path

RECORDED = Path(__file__).parent.parent / "tests" / "captures" / "j-busy-1" / "requests.log.gz"
GROUP_PREFIX, HOST_PREFIX = "grp-", "127.0.1."


def write_busy_log(path: Path, copies: int) -> int:
    """Writes the log and gives the number of its lines; copies of a line follow each other, at one moment."""
    with gzip.open(RECORDED, "rt") as recorded:
        lines = recorded.readlines()
    with path.open("w") as out:
        for line in lines:
            group_parts = line.split(GROUP_PREFIX)
            for copy in range(copies):
                named = f"{copy}-{GROUP_PREFIX}".join(group_parts)
                out.write(named.replace(HOST_PREFIX, f"127.{copy % 250 + 1}.{copy // 250 + 1}."))
    return len(lines) * copies
