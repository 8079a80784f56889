"""Lines that a paste broke at a width, put together as they were printed.

A run is a line that begins an entry, and the lines behind it that begin none. If it ends in the name of a class, all of
it is one line that was broken. Otherwise the width at which the file is broken has to show, and says where a line ends.
A break stands within a word or between two. What a run says is believed if all readings that fit say the same. Knows
how a line begins and ends, and is given what one says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import add
from typing import NamedTuple

from rollcall.inputs.printed.logged_facts import BROKER, LoggedFact

MOST_PARTS = 200
"""Lines of a run: what does not end within them is taken line by line."""
_RUN_CHARACTERS = 1 << 17
"""Maximum length of a run. More than the ids in a line can have."""
_AT_ONCE, _CHARACTERS_AT_ONCE = 1_000, 1 << 23
_USUAL = re.compile(r"\[?20\d\d-\d\d-\d\d")
"""How most programs' lines begin."""
_BEGINNING = re.compile(
    r"\[?\{\s*(?:\"|\Z)|\"|\[(?:Group ?(?:Coord|Metad)|Consumer |pod/)|[A-Za-z0-9][\w.-]{0,80} *\| "
    r"|(?:time|ts|t|level|lvl|msg)="
    r"|.{0,60}?(?:\d:\d\d:\d\d|\b\d{10}\.\d{3}\b|\b(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b)"
)
_STACK = re.compile(r"\t|\s*(?:at [\w.$/@]+[(<]|Caused by: |\.\.\. \d)")
_CLASS = re.compile(
    r"\((?!\w+\.(?:java|kt|scala|groovy):)(?:[A-Za-z_$][\w$]*\.)+[A-Za-z_$][\w$]*(?::\d+)?\)(?: \[[^\]\[]*\])?\s*\Z"
)
"""What a frame of a stack ends in is the name of a file."""
_LONGEST_CLASS = 300
_ENOUGH = 3
"""Breaks that show a width: fewer may be accidents."""
_NARROWEST, _WIDEST = 40, 512
"""Columns."""
_LONGEST_WORD = 64
"""A longer word counts as one of this length."""
_MOSTLY, _PARTLY = 0.8, 0.4
"""Shares of breaks. Remarks between the lines look like breaks as well."""
_MAY_BE_OPEN = {"member_id", "other_member_id", "reason", "client_reason", "partitions"}
"""Fields that a broker's line may lack without a change of meaning."""
_HYPHEN = re.compile(r"\S-\Z")
_HYPHEN_AND_BLANK = re.compile(r"\S- ")


class _Run(NamedTuple):
    numbers: list[int]
    parts: list[str]
    begins: bool
    is_closed: bool
    """Whether it ends in the name of a class."""


class _Width(NamedTuple):
    """How a file is broken."""

    columns: int
    joint: str
    """What the break took away: a blank between words, or nothing."""
    is_hard: bool

    def is_full(self, part: str, after: str) -> bool:
        """Whether a line had to be broken here, so that the next one continues it."""
        if self.is_hard:
            return self.columns - 1 <= len(part) <= self.columns
        return len(part.rstrip()) + 1 + len(after.lstrip().partition(" ")[0]) >= self.columns


class BrokenLines:
    """The lines of one file. says: what a line says, None if nothing."""

    def __init__(self, says: Callable[[str], LoggedFact | None]) -> None:
        self._says = says
        self._breaks: Counter[tuple[int, int, bool]] = Counter()
        """For each break: the length of the line before, of the word behind, and whether a blank stands at it."""
        self._lengths: Counter[int] = Counter()
        """Of all lines."""
        self._width: _Width | None = None
        self._hyphens = 0
        """Breaks behind a hyphen."""
        self._has_hyphen_and_blank = False
        """Whether a blank stands behind a hyphen within a line, so that a break there may have been one."""
        self._has_strays = False
        """Whether lines stand in the file that belong to no entry, so that one may stand behind any line."""
        self._is_left_open = False
        """Whether the line before began an entry and has no class at its end."""
        self.put_together = 0
        self.doubtful: set[int] = set()
        """Numbers of lines whose readings say different things."""
        self._open: dict[int, set[str]] = {}
        """The fields in which the readings of a line differ, where it says the same otherwise."""

    def together(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Each line as it was printed, with the number of its first part."""
        rest, held = iter(lines), list[tuple[int, str]]()
        while taken := [*_some(rest)]:
            held += taken
            if all(_USUAL.match(line) for _, line in held):
                yield from held[:-1]
                held = held[-1:]
                continue
            runs = [*_runs(held)]
            yield from self._read(runs[:-1])
            held = [*zip(runs[-1].numbers, runs[-1].parts, strict=True)]
        yield from self._read([*_runs(held)])

    def without_what_is_open(self, fact: LoggedFact) -> LoggedFact:
        """The same without what another reading of its line says otherwise."""
        differing = self._open.get(fact.line_number)
        return fact._replace(**dict.fromkeys(differing, "")) if differing else fact  # type: ignore[arg-type]

    def _read(self, runs: Sequence[_Run]) -> Iterator[tuple[int, str]]:
        for run in runs:
            if run.begins and not any(map(_STACK.match, run.parts[1:])):
                self._breaks.update(
                    (len(before), min(len(after.lstrip().partition(" ")[0]), _LONGEST_WORD), before.endswith(" "))
                    for before, after in pairwise(run.parts)
                    if len(before) <= _WIDEST
                )
                self._hyphens += sum(_HYPHEN.search(part) is not None for part in run.parts[:-1])
            self._has_hyphen_and_blank |= any(_HYPHEN_AND_BLANK.search(part.rstrip()) for part in run.parts)
        self._lengths.update(min(len(part), _WIDEST + 1) for run in runs for part in run.parts)
        self._width = _width_of(self._breaks, self._lengths)
        self._has_strays |= any(map(self._is_followed_by_a_stray, runs))
        for run in runs:
            if self._is_left_open and run.is_closed and len(run.parts) > 1:
                # The end may be that of the line before, and what it closes be written by a client.
                self.doubtful.update(run.numbers)
            yield from self._read_run(run)
            self._is_left_open = run.begins and not run.is_closed

    def _read_run(self, run: _Run) -> Iterator[tuple[int, str]]:
        numbered = [*zip(run.numbers, run.parts, strict=True)]
        if len(numbered) == 1 or any(map(_STACK.match, run.parts[1:])):
            yield from numbered
        elif not run.begins:
            yield from [(run.numbers[0], _rest(run.parts))] if run.is_closed else numbered
        elif run.is_closed:
            yield self._one_of(run.numbers, self._readings(run.parts))
        else:
            end = self._end_of(run.parts)
            if end == MOST_PARTS:
                self.doubtful.update(run.numbers)
            yield from self._open_line(run.numbers[:end], run.parts[:end])
            yield from numbered[end:]

    def _is_followed_by_a_stray(self, run: _Run) -> bool:
        """Whether a line that continues nothing is among these: a remark, or a stack."""
        if not run.begins:
            return any(map(str.strip, run.parts))
        return not run.is_closed and self._end_of(run.parts) < len(run.parts)

    def _end_of(self, parts: Sequence[str]) -> int:
        """How many parts a line has that no class closes, as the width shows it."""
        width = self._width
        if width is None:
            return 1
        ends = (place for place, two in enumerate(pairwise(parts), 1) if not width.is_full(*two))
        return next(ends, len(parts))

    def _open_line(self, numbers: Sequence[int], parts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """A line whose end is not certain: it may have ended with each of its parts, and other text follow."""
        readings = self._readings(parts) if len(parts) > 1 else []
        if all(self._says(reading) is None for reading in readings):
            if readings and self._says(parts[0]) is not None:
                self.doubtful.update(numbers)
            yield from zip(numbers, parts, strict=True)
            return
        joint = "" if self._width is None else self._width.joint
        shorter = accumulate(parts[:-1], lambda before, after: f"{before}{joint}{after}")
        may_be_shorter = self._has_strays or self._width is None or not self._width.is_hard
        yield self._one_of(numbers, [*readings, *(shorter if may_be_shorter else ())])

    def _readings(self, parts: Sequence[str]) -> list[str]:
        """What the line may have been, the likeliest first."""
        width, lengths = self._width, {len(part) for part in parts[:-1]}
        if width is None:
            hard = [_within_words(parts, max(lengths))] if max(lengths) - min(lengths) <= 1 else []
            return hard + self._between_words(parts, max(lengths))
        if width.is_hard and all(map(width.is_full, parts[:-1], parts[1:])):
            return [_within_words(parts, width.columns)]
        if width.joint:
            return self._between_words(parts, width.columns)
        return ["".join(parts), *self._between_words(parts, width.columns)] if width.is_hard else ["".join(parts)]

    def _between_words(self, parts: Sequence[str], columns: int) -> list[str]:
        """Parts with blanks between them; and each way to read it where one break may stand within a word."""
        parts, joints, doubtful = [part.strip() for part in parts], [""], list[int]()
        at_hyphens = self._hyphens >= _ENOUGH and not self._has_hyphen_and_blank
        for place, (before, after) in enumerate(pairwise(parts), 1):
            is_within = _HYPHEN.search(before) is not None and at_hyphens
            long_word = len(before.rpartition(" ")[2]) + len(after.partition(" ")[0])
            joints.append("" if is_within else " ")
            if not is_within and (
                before.endswith("-") or after.startswith("-") or (len(before) >= columns and long_word > columns)
            ):
                doubtful.append(place)
        ways = [joints, *([*joints[:place], "", *joints[place + 1 :]] for place in doubtful)]
        return ["".join(map(add, way, parts)) for way in ways]

    def _one_of(self, numbers: Sequence[int], readings: Sequence[str]) -> tuple[int, str]:
        """The first reading with a meaning; doubtful if another one has another meaning."""
        self.put_together += 1
        said = [(reading, fact) for reading in dict.fromkeys(readings) for fact in (self._says(reading),) if fact]
        if not said:
            return numbers[0], readings[0]
        reading, first = said[0]
        differing = {name for _, fact in said for name in fact._fields if getattr(fact, name) != getattr(first, name)}
        if first.dialect == BROKER and differing <= _MAY_BE_OPEN:
            self._open[numbers[0]] = differing
        elif differing:
            self.doubtful.update(numbers)
        return numbers[0], reading


def _some(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the next lines, as many as are read at once."""
    characters = 0
    for count, numbered in enumerate(lines, 1):
        yield numbered
        characters += len(numbered[1])
        if count == _AT_ONCE or characters > _CHARACTERS_AT_ONCE:
            return


def _rest(parts: Sequence[str]) -> str:
    """The end of a line whose beginning is not here, with its class apart, by which it is known."""
    text = "".join(parts)
    found = _CLASS.search(text)
    return text if found is None else f"{text[: found.start()].rstrip()} {found[0]}"


def _within_words(parts: Sequence[str], columns: int) -> str:
    """Parts of one width as a line; an editor takes away the blanks at the ends of lines."""
    return "".join([*(part.ljust(columns) for part in parts[:-1]), parts[-1]])


def _width_of(breaks: Counter[tuple[int, int, bool]], of_lines: Counter[int]) -> _Width | None:
    """The width that most breaks show; None: they show none."""
    total = breaks.total()
    lengths: Counter[int] = Counter()
    for (length, _, _), times in breaks.items():
        lengths[length] += times
    if total < _ENOUGH:
        return None
    (commonest, times), widest = lengths.most_common(1)[0], max(lengths)
    full = sum(times for (length, word, _), times in breaks.items() if length + 1 + word >= widest)
    even = times + lengths[commonest - 1]
    is_widest = even >= _ENOUGH and max(of_lines) == commonest
    if commonest >= _NARROWEST and (even >= _MOSTLY * total or (is_widest and even >= _MOSTLY * full)):
        return _Width(commonest, "", is_hard=True)
    kept = sum(times for (_, _, has_blank), times in breaks.items() if has_blank)
    if full < _PARTLY * total or widest < _NARROWEST:
        return None
    return _Width(widest, "" if kept >= _PARTLY * total else " ", is_hard=False)


def _runs(lines: Sequence[tuple[int, str]]) -> Iterator[_Run]:
    """The lines in runs. One ends where the next line begins an entry, is empty or far, or where its class stands."""
    numbers, parts, begins, end, characters = list[int](), list[str](), False, "", 0
    for number, line in lines:
        is_beginning = _USUAL.match(line) is not None or _BEGINNING.match(line) is not None
        characters += len(line)
        is_next = bool(numbers) and number == numbers[-1] + 1 and len(numbers) < MOST_PARTS
        is_next &= characters <= _RUN_CHARACTERS
        if numbers and (is_beginning or not is_next or not line.strip() or parts[0].startswith(("{", "[{"))):
            yield _Run(numbers, parts, begins, is_closed=False)
            numbers, parts, end = [], [], ""
        if not numbers:
            begins, characters = is_beginning, len(line)
        numbers.append(number)
        parts.append(line)
        end = (end + line)[-_LONGEST_CLASS:]
        if line.rstrip().endswith((")", "]")) and _CLASS.search(end) is not None:
            yield _Run(numbers, parts, begins, is_closed=True)
            numbers, parts, end = [], [], ""
    if numbers:
        yield _Run(numbers, parts, begins, is_closed=False)
