"""Request logs of any length, made of real brokers' lines: a busy one, and one of groups at rest.

Every copy of a group has a name, clients and addresses of its own, so that it behaves as the recorded one did. Knows a
line's text only as far as names, generations and times are replaced in it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
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
            group_parts = line.split(GROUP_PREFIX)
            for copy in range(copies):
                named = f"{copy}-{GROUP_PREFIX}".join(group_parts)
                out.write(named.replace(HOST_PREFIX, f"127.{copy % 250 + 1}.{copy // 250 + 1}."))
    return len(lines) * copies


def write_resting_log(path: Path, groups: int, minutes: float) -> int:
    """Groups of six that form, and then send nothing but a heartbeat every three seconds; how many lines it has."""
    lines = [line for line in _recorded(RESTING) if f'"groupId":"{RESTING_GROUP}"' in line]
    of_generation = [line for line in lines if f'"generationId":{GENERATION},' in line and '"errorCode":0' in line]
    formed = max(lines.index(line) for line in lines if '"SYNC_GROUP"' in line and line in of_generation) + 1
    beats = {
        line.split('"memberId":"')[1][:60]: line
        for line in of_generation
        if '"HEARTBEAT"' in line and '"errorCode":0}' in line
    }
    assert len(beats) == MEMBERS, sorted(beats)
    written = 0
    with path.open("w") as out:
        for line in lines[:formed]:
            out.writelines(_copied(line, copy) for copy in range(groups))
            written += groups
        begin = datetime.fromisoformat(lines[formed - 1][1:24].replace(",", "."))
        copies = [_copied(beat, copy)[24:] for copy in range(groups) for beat in beats.values()]
        for moment in _moments(begin, minutes):
            for place, rest in enumerate(copies):
                at = moment + timedelta(milliseconds=HEARTBEAT_MS * place // len(copies))
                out.write(f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}{rest}")
            written += len(copies)
    return written


def _recorded(capture: str) -> list[str]:
    with gzip.open(CAPTURES / capture / "requests.log.gz", "rt") as recorded:
        return recorded.readlines()


def _copied(line: str, copy: int) -> str:
    return line.replace(RESTING_GROUP, f"{copy}-{RESTING_GROUP}").replace(
        HOST_PREFIX, f"127.{copy % 250 + 1}.{copy // 250 + 1}."
    )


def _moments(begin: datetime, minutes: float) -> Iterator[datetime]:
    for beat in range(1, round(minutes * 60_000 / HEARTBEAT_MS) + 1):
        yield begin + timedelta(milliseconds=HEARTBEAT_MS * beat)
