"""Request logs of any length, made of real brokers' lines: a busy one, and one of groups at rest.

Every copy of a group has a name, clients and addresses of its own, so that it behaves as the recorded one did. Knows a
line's text only as far as names, generations and times are replaced in it.
"""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta
from pathlib import Path

CAPTURES = Path(__file__).parent.parent / "tests" / "captures"
RECORDED, GROUP_PREFIX, HOST_PREFIX = "j-busy-1", "grp-", "127.0.1."
RESTING, RESTING_GROUP, GENERATION, MEMBERS = "a-scale", "payments-svc", 3, 6
"""A recorded group of six, in its third generation."""
HEARTBEAT_MS = 3000


def write_busy_log(path: Path, copies: int) -> int:
    """Three minutes of forty groups that join, die and leave, many times side by side; how many lines it has.

    Copies of a line follow each other, at one moment.
    """
    lines = _recorded(RECORDED)
    with path.open("w") as out:
        for line in lines:
            out.writelines(_copied(line, GROUP_PREFIX, copy) for copy in range(copies))
    return len(lines) * copies


def write_resting_log(path: Path, groups: int, minutes: float) -> int:
    """Groups of six that form, and then send nothing but a heartbeat every three seconds; how many lines it has."""
    lines = [line for line in _recorded(RESTING) if f'"groupId":"{RESTING_GROUP}"' in line]
    taken = [line for line in lines if f'"generationId":{GENERATION},' in line and '"errorCode":0' in line]
    formed = max(lines.index(line) for line in taken if '"SYNC_GROUP"' in line) + 1
    heartbeats = (line for line in taken if '"HEARTBEAT"' in line and '"errorCode":0}' in line)
    beats = {line.split('"memberId":"')[1][:60]: line for line in heartbeats}
    assert len(beats) == MEMBERS, sorted(beats)
    at = datetime.fromisoformat(lines[formed - 1][1:24].replace(",", "."))
    copies = [_copied(beat, RESTING_GROUP, copy)[24:] for copy in range(groups) for beat in beats.values()]
    turns = round(minutes * 60_000 / HEARTBEAT_MS)
    with path.open("w") as out:
        for line in lines[:formed]:
            out.writelines(_copied(line, RESTING_GROUP, copy) for copy in range(groups))
        for turn in range(1, turns + 1):
            for place, rest in enumerate(copies):
                sent = at + timedelta(milliseconds=HEARTBEAT_MS * turn + HEARTBEAT_MS * place // len(copies))
                out.write(f"[{sent:%Y-%m-%d %H:%M:%S},{sent.microsecond // 1000:03}{rest}")
    return formed * groups + turns * len(copies)


def _recorded(capture: str) -> list[str]:
    with gzip.open(CAPTURES / capture / "requests.log.gz", "rt") as recorded:
        return recorded.readlines()


def _copied(line: str, group: str, copy: int) -> str:
    """A line of a copy, whose groups and hosts have names of their own."""
    return line.replace(group, f"{copy}-{group}").replace(HOST_PREFIX, f"127.{copy % 250 + 1}.{copy // 250 + 1}.")
