"""Hostile texts made of recorded ones: numbers at their edges, strings of elsewhere, other error numbers, lost bytes.

Knows JSON and the layout of a log's line as texts; knows no meaning of a field.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

from tests.attack import hostile
from tests.source_tree import ROOT

LOGS = tuple(
    path
    for path in (
        *sorted((ROOT / "tests" / "captures").glob("*/requests.log.gz")),
        *sorted((ROOT / "tests" / "request_log" / "incidents").glob("*.log.gz")),
    )
    # Whole logs are played, each in a second at most: the large one is for other tests.
    if path.stat().st_size < 100_000
)
NUMBERS = (
    *(str(number) for number in hostile.INTEGERS),
    *("1000", "60000", "3600000", "604800000", "99999999999", "18446744073709551616", "0.5", "-0.5", "1e10", "-1e10"),
    *("1e300", "-1e300", "1e999", "-0", "NaN", "null", "true", '"1"', "[]", "{}", "1" + "0" * 400),
)
_NUMBER = re.compile(rb"(?<=[:\[,])-?\d+(?:\.\d+)?(?=[,}\]])")
_STRING = re.compile(rb'"[^"\\]{1,60}"')
_ERROR = re.compile(rb'(?<="errorCode":)-?\d+')
_ERRORS = (0, 14, 15, 16, 22, 23, 25, 26, 27, 30, 79, 81, 82, 84, 110, 113, -1, 32_767)
_STAMP_DIGITS = (1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 18, 19, 21, 22, 23)
_DEEP = (50, 500, 2_000, 100_000)


@cache
def recorded_lines(path: Path) -> tuple[bytes, ...]:
    """The lines of a recorded log."""
    return tuple(line for line in gzip.decompress(path.read_bytes()).split(b"\n") if line)


def changed(random: Random, text: bytes, pool: Sequence[bytes]) -> bytes:
    """The text with something hostile in it; pool: texts whose strings may stand in it."""
    match random.randrange(9):
        case 0 | 1 | 2:
            return _replaced(random, _NUMBER, text, random.choice(NUMBERS).encode())
        case 3:
            strings = _STRING.findall(random.choice(pool))
            return _replaced(random, _STRING, text, random.choice(strings) if strings else b'""')
        case 4:
            return _replaced(random, _ERROR, text, b"%d" % random.choice(_ERRORS))
        case 5:
            at = random.choice(_STAMP_DIGITS)
            return text[:at] + b"%d" % random.randrange(10) + text[at + 1 :]
        case 6:
            return _replaced(random, _STRING, text, _quoted(hostile.text(random)))
        case 7 if random.random() < 0.1:
            levels = random.choice(_DEEP)
            return _replaced(random, _NUMBER, text, b"[" * levels + b"]" * levels)
        case _:
            return hostile.mutated(random, text)


def _replaced(random: Random, what: re.Pattern[bytes], text: bytes, by: bytes) -> bytes:
    one = what.search(text, random.randrange(len(text) + 1)) or what.search(text)
    if one is None:
        return text
    return text[: one.start()] + by + text[one.end() :]


def _quoted(text: str) -> bytes:
    return b'"' + text.encode("utf-8", "surrogatepass").replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
