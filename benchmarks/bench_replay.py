"""A replay from log file to history: lines a second, of busy groups and of groups at rest, and what memory it takes.

Measured as its user meets it: commands in processes of their own, from their start to the report. Knows the commands;
what a log says is `busy_log`'s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from benchmarks.busy_log import CAPTURES, write_busy_log, write_resting_log
from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.processes import MEBIBYTE, Ended, family_bytes, folder, run
from rollcall.inputs.offsets_topic.dumps.json_lines import write_line
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.records.decoding import encode_key, encode_value
from rollcall.inputs.offsets_topic.records.shapes import (
    GroupKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tests.offsets_topic.by_hand import T, classic

COPIES = int(os.environ.get("COPIES") or 15)
RESTING_GROUPS = 1_000
MINUTES, FEW_MINUTES = 8, 2.5
COMMITS = int(os.environ.get("COMMITS") or 1_000_000)
PARTITIONS = 8
MEMBERS_A_GROUP, PARTITIONS_A_MEMBER = 4, 5
FIRST_MS = 1_790_000_000_000
_GROUP_METADATA, _OFFSET_COMMIT = 2, 1


def _replay(log: Path, home: Path, *words: str) -> Ended:
    return run("replay", str(log), "--home", str(home), *words, memory=family_bytes)


@bench
def incidents() -> Iterator[Figure]:
    """An incident's file, from the command to the report."""
    for name, goal_s in (("d-kill", 2.0), ("j-busy-1", 3.0)):
        with folder() as path:
            # At the first start of all, Python compiles the modules.
            _, found = (_replay(CAPTURES / name / "requests.log.gz", path / home) for home in ("first", "second"))
        yield Figure(f"from_command_to_report_{name}", found.seconds, "s", at_most(goal_s))


@bench
def busy() -> Iterator[Figure]:
    """Three minutes of 600 groups that join, die and leave; half of the lines are commits."""
    yield from _by_one_and_two(lambda log: write_busy_log(log, COPIES), f"{40 * COPIES}_busy_groups", 25_000)


@bench
def resting() -> Iterator[Figure]:
    """Minutes of the day of 1,000 groups of six at a heartbeat every three seconds: an hour is 7.2 million lines."""
    name = f"{RESTING_GROUPS}_groups_at_rest"
    with folder() as path:
        write_resting_log(path / "short.log", RESTING_GROUPS, FEW_MINUTES)
        short = _replay(path / "short.log", path / "short")
    found = list(_by_one_and_two(lambda log: write_resting_log(log, RESTING_GROUPS, MINUTES), name, 45_000))
    yield from found
    (memory,) = (figure.value for figure in found if figure.name == f"memory_{name}")
    yield Figure("memory_to_that_of_a_third_of_it", memory * MEBIBYTE / short.memory_bytes, "times", at_most(1.3))


def _by_one_and_two(write_log: Callable[[Path], int], name: str, goal: int) -> Iterator[Figure]:
    with folder() as path:
        log = path / "requests.log"
        lines = write_log(log)
        two = _replay(log, path / "two", "--processes", "2")
        one = _replay(log, path / "one", "--processes", "1")
    yield Figure(f"lines_a_second_{name}", lines / two.seconds, "lines/s", at_least(goal))
    yield Figure(f"two_processes_to_one_{name}", one.seconds / two.seconds, "times", at_least(1.7))
    yield Figure(f"memory_{name}", two.memory_bytes / MEBIBYTE, "MiB", at_most(500))
    (percent,) = re.findall(r"parity: ([0-9.]+)%", two.printed)
    yield Figure(f"answers_equal_{name}", float(percent) / 100, "share", at_least(0.995))


@bench
def dump() -> Iterator[Figure]:
    """A dump of __consumer_offsets: commits beside a thousand groups' generations."""
    with folder() as path:
        records = _write_dump(path / "dump.jsonl", 1_000, COMMITS)
        found = _replay(path / "dump.jsonl", path / "home")
    yield Figure("records_a_second_of_a_dump", records / found.seconds, "records/s")
    yield Figure("memory_of_a_dump", found.memory_bytes / MEBIBYTE, "MiB", at_most(500))


def _write_dump(path: Path, groups: int, commits: int) -> int:
    """Writes four generations of every group, then commits from group to group; how many records these are.

    A member commits its partitions at once.
    """
    offsets = [0] * PARTITIONS
    with path.open("wb") as out:
        for at_ms, key, value, partition in chain(_generations(groups), _commits(groups, commits)):
            out.write(write_line(LogRecord(partition, offsets[partition], at_ms, key, value)) + b"\n")
            offsets[partition] += 1
    return sum(offsets)


def _commits(groups: int, count: int) -> Iterator[tuple[int, bytes, bytes, int]]:
    for number in range(count):
        request, place = divmod(number, PARTITIONS_A_MEMBER)
        turn, group = divmod(request, groups)
        committed = (turn % MEMBERS_A_GROUP) * PARTITIONS_A_MEMBER + place
        key = OffsetCommitKey(group=f"group-{group:04d}", topic=T, partition=committed)
        commit = OffsetCommitValue(offset=1_000 + turn, metadata="", commit_timestamp=FIRST_MS + turn)
        yield FIRST_MS + turn, encode_key(_OFFSET_COMMIT, key), encode_value(3, commit), group % PARTITIONS


def _generations(groups: int) -> Iterator[tuple[int, bytes, bytes, int]]:
    firsts = range(0, MEMBERS_A_GROUP * PARTITIONS_A_MEMBER, PARTITIONS_A_MEMBER)
    shares = [range(first, first + PARTITIONS_A_MEMBER) for first in firsts]
    for number in range(groups):
        group = f"group-{number:04d}"
        key = encode_key(_GROUP_METADATA, GroupKey(group=group))
        for generation in range(4):
            members = [classic(f"{group}-{n}", *share) for n, share in enumerate(shares if generation else [])]
            value = GroupMetadataValue(
                protocol_type="consumer" if members else "",
                generation=generation,
                protocol="range" if members else None,
                leader=members[0].member_id if members else None,
                current_state_timestamp=FIRST_MS + generation,
                members=members,
            )
            yield FIRST_MS, key, encode_value(3, value), number % PARTITIONS
