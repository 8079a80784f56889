"""Hostile printed lines: pieces of what brokers and clients printed, with lines changed, broken, joined and moved.

Watches that no reader and no rule fails at any of them, that the answer can be written, and that a shadow of such a log
that is killed between any two lines has rows that its table takes. Knows the entrances of printed lines.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from random import Random
from zoneinfo import ZoneInfo

import msgspec

from rollcall.cli.explain import Asked, _answer_lines
from rollcall.inputs.explained_files import Answer
from rollcall.inputs.printed.groups.live_groups import Given, LiveGroups
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.growing_log import GrowingLog
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.reading import UNREAD, align, in_zone, merged, read_lines
from rollcall.inputs.printed.story import NOT_FOLLOWED, groups_in
from rollcall.schemas.effect_rows import row_of, texts_of
from rollcall.shown.explained_json import as_json
from rollcall.tables.rows import typed_rows
from tests.attack import hostile
from tests.attack.attacked import Attacked, Finding, FindingOfLog
from tests.attack.recorded_texts import NUMBERS
from tests.printed.recorded import BROKERS, FIELD, INCIDENTS
from tests.source_tree import ROOT

ZONES = tuple(map(ZoneInfo, ("UTC", "America/New_York", "Pacific/Kiritimati", "Australia/Lord_Howe")))
LARGEST_BYTES = 200_000
SILENT_MS = 3_600_000
"""A log that stands still for this time has no more lines."""
TIMES = (
    *("1e999", "-1e999", "NaN", "1e30", "9" * 40, "0", "-1", "-99999999999999", "1772334720000", "1772334720.5"),
    *('"9999-12-31T23:59:59.999-23:59"', '"0001-01-01T00:00:00+23:59"', "null", "[]", "{}", "true"),
)
_NUMBER = re.compile(rb"-?\d+")
_DATE = re.compile(rb"\d{4}(?=-\d\d-\d\d)")
_FACTS = msgspec.json.Decoder(tuple[list[tuple[int, str]], list[LoggedFact], dict[str, Given]])


@cache
def recorded_logs() -> tuple[tuple[bytes, ...], ...]:
    """The lines of each small log that brokers and clients printed."""
    files = [*BROKERS.glob("*.gz"), *(ROOT / "tests/printed/clients").glob("*.gz"), *FIELD.glob("*.log")]
    files += [path for path in INCIDENTS.rglob("*.log*") if path.is_file()]
    texts = [
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in sorted(files)
    ]
    return tuple(tuple(text.split(b"\n")) for text in texts if text and len(text) < LARGEST_BYTES)


class PrintedLines(Attacked):
    """Pieces of recorded logs, some of their lines changed, explained as a whole and followed as they grow."""

    name = "printed-lines"
    slow_s = 2.0

    def __init__(self) -> None:
        self._facts = 0
        self._failed = FindingOfLog("rollcall.lines")

    def case(self, random: Random) -> bytes:
        lines = random.choice(recorded_logs())
        first = random.randrange(len(lines))
        taken = [*lines[first : first + random.choice((3, 10, 30, 60))]]
        for _ in range(random.choice((1, 2, 5, 10))):
            place = random.randrange(len(taken))
            match random.randrange(8):
                case 0:
                    taken.insert(random.randrange(len(taken) + 1), taken[place])
                case 1:
                    taken[place] += random.choice(random.choice(recorded_logs()))
                case 2 if len(taken) > 1:
                    del taken[place]
                case _:
                    taken[place] = changed(random, taken[place])
        return b"\n".join(taken)

    def play(self, case: bytes) -> int:
        lines = case.decode("utf-8", "replace").split("\n")
        zone = ZONES[len(case) % len(ZONES)]
        read = read_lines("server.log", lines)
        read.facts = in_zone(read.facts, zone)
        align([read])
        unread = next((note for note in read.notes if note.startswith(UNREAD.partition("{")[0])), None)
        if unread is not None:
            raise Finding(unread)
        groups = groups_in(merged([read]))
        self._facts += len(read.facts)
        for group in groups:
            failed = next((one.sentence for one in group.findings if one.finding == NOT_FOLLOWED), None)
            if failed is not None:
                raise Finding(failed)
            texts_of(group.group_id, [row_of(effect, seq) for seq, effect in enumerate(effects_of(group))])
        answer = Answer([read], groups, [])
        msgspec.json.encode(as_json(answer, groups))
        for _ in _answer_lines(answer, groups, Asked()):
            pass
        self._follow(lines, zone, len(case))
        return len(lines)

    def _follow(self, lines: list[str], zone: ZoneInfo, seed: int) -> None:
        """The same lines as they come, with a kill between any two reads."""
        random, numbered = Random(seed), [*enumerate(lines, 1)]
        log, groups, held = GrowingLog("server.log", zone), LiveGroups(), list[str]()
        while numbered:
            taken = random.choice((1, 2, 7, 100))
            read = log.read(numbered[:taken], is_pause=random.random() < 0.2)
            numbered = numbered[taken:]
            if any(why.partition(":")[0].endswith("Error") for _, why in read.doubtful):
                raise Finding(read.doubtful[0][1])
            groups.take(read.facts)
            if random.random() < 0.2:
                unread, facts, given = _FACTS.decode(msgspec.json.encode((log.unread, groups.facts, groups.given)))
                log, groups = GrowingLog("server.log", zone, unread), LiveGroups(facts, given)
            held += _due(groups, log.at_ms or 0)
        groups.take(log.read([], is_pause=True).facts)
        held += _due(groups, (log.at_ms or 0) + SILENT_MS)
        typed_rows(held)

    def close(self) -> None:
        self._failed.close()

    def figures(self) -> str:
        return f"{self._facts} facts read"


def _due(groups: LiveGroups, now_ms: int) -> list[str]:
    return [
        text
        for due in groups.due(now_ms)
        for text in texts_of(
            due.group_id, [row_of(effect, seq) for seq, effect in enumerate(due.effects, due.first_seq)]
        )
    ]


def changed(random: Random, line: bytes) -> bytes:
    """The line with something hostile in it, or in another layout."""
    match random.randrange(8):
        case 0 | 1:
            return _replaced(random, _NUMBER, line, random.choice(NUMBERS).encode())
        case 2:
            return _replaced(random, _DATE, line, random.choice((b"0000", b"0001", b"9999", b"1969", b"2099")))
        case 3:
            text = json.dumps(line.decode("utf-8", "replace"))
            return f'{{"message":{text},"ts":{random.choice(TIMES)},"a":[1e999]}}'.encode()
        case 4:
            at = random.randrange(len(line) + 1)
            return line[:at] + hostile.text(random).encode("utf-8", "surrogatepass") + line[at:]
        case 5:
            at = random.randrange(len(line) + 1)
            return line[:at] + b"\n" + line[at:]
        case 6:
            return random.choice((b"web_1 | ", b"[pod/a/b] ", b"2026-03-01T03:12:00Z stdout F ", b"> ", b"12:")) + line
        case _:
            return hostile.mutated(random, line)


def _replaced(random: Random, what: re.Pattern[bytes], line: bytes, by: bytes) -> bytes:
    found = [*what.finditer(line)]
    if not found:
        return line
    one = random.choice(found)
    return line[: one.start()] + by + line[one.end() :]
