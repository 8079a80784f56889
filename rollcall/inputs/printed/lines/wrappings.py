"""Lines of a file as entries: what containers, shells and people put around a line is taken off, and its layout read.

Knows layouts, not what lines say. A line that no layout fits is an entry without a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rollcall.inputs.printed.lines.csv_lines import csv_line, csv_source, source_columns
from rollcall.inputs.printed.lines.entries import DATED, Clock, Entry, reason_of
from rollcall.inputs.printed.lines.fields import entry_of_fields, entry_of_json, fields_behind, logfmt_fields
from rollcall.inputs.printed.lines.heads import CLOSING, ZAP, head_of, of_java
from rollcall.inputs.printed.lines.stamps import Stamp, minute_ms, stamp_at
from rollcall.inputs.printed.lines.whole_lines import whole_lines

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|(?:ESC|\^\[|\\x1[bB]|\\u001[bB]|\\033|\\e|\u241b|\u2190)\[[0-9;]{0,20}m")
"""A colour, with its escape as it is or as an editor or a shell shows it."""
_GREP = re.compile(r"(?:[\w@-]{0,100}[./][\w@./-]{1,200}[:-])?(?:\d{1,9}[:-]|(?<=[:-]))(?=\[?\d{4}-\d\d-\d\d)")
"""A line's number, the name of its file, or both."""
_COMPOSE = re.compile(r"(?P<source>[A-Za-z0-9][\w.-]{0,80}) *\| ")
_STERN = re.compile(
    r"(?P<source>[a-z][a-z0-9]{0,62}(?:-[a-z0-9]{1,62}){1,9}[ /][a-z][a-z0-9-]{0,62}) (?=\[?20\d\d-\d\d-\d\d[ T])"
)
"""A pod and its container."""
_JOURNAL = re.compile(
    r"(?P<source>[\w.-]{1,255} [\w./-]{1,80})(?:\[\d{1,10}\]: | \d{1,10} - - "
    r"| \d{1,10} [\w.-]{1,32} (?:\[[\w.@-]{1,32}(?: [\w.@-]{1,32}=\"[^\"]{0,200}\"){0,20}\]){1,8} )"
)
"""A machine and its program, behind the time that systemd or RFC 5424's syslog prints."""
_STREAM = re.compile(r"(?!consumer|client/)(?P<source>[\w.-]{1,100}(?:/[\w.-]{1,100}){1,9}) (?=\S)")
"""CloudWatch's, behind its time, where messages of sarama's may stand too."""
_SERVICE = re.compile(r"(?:[A-Z]{3,8} *\| *)?(?:jvm \d{1,4}|wrapper) *\| (?=\d{4}/)")
"""Java Service Wrapper's, before its time."""
_POD = re.compile(r"\[(?P<source>pod/[\w./-]{1,200})\] ")
_LABELS = re.compile(r'(?P<labels>\{(?:"?[A-Za-z_]\w{0,60}"?[=:] ?"[^"]{0,400}"(?:, ?)?){1,60}\})[ \t]+(?=\S)')
"""Loki's, between its time and the line."""
_LABELLED_SOURCE = re.compile(r'[{," ](?:pod|pod_name|container|instance|host|hostname)"?[=:] ?"(?P<source>[^"]+)"')
_MARKDOWN = re.compile(r"(?:>\s*|\*\*|\|\s+|`)+")
_BOLD_ENDS = re.compile(r"(?P<part>[^*]{1,60})\*\* ")
"""Behind the first part of a line, which is in bold: its time, or its head."""
_SYSLOG = re.compile(
    r"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d (?P<time>\d\d:\d\d:\d\d) "
    r"(?:(?P<machine>\S{1,255}) (?P<source>[\w./-]{1,80})(?:\[\d+\])?|(?P<host>[\w.-]{1,255}(?=: \{))): "
)
"""Its time has no year, so only the time of day is taken. Before JSON the host may stand alone."""
_SYSLOG_LEVEL = re.compile(r"(?:<\d{1,3}>1 (?=\d{4}-\d\d-\d\dT)|(?:[A-Z][a-z]{3,8}|\d)\|(?=\d{4}-\d\d-\d\d ))")
"""As RFC 5424 has it before the time, or .NET: `Warning|`."""
_CRI = re.compile(r"(?:stdout|stderr) [FP] ")
_IN_BRACKETS = re.compile(r"(?:\([^()]{1,100}\)|\[\(null\)\] -) ")
"""Quarkus' thread, log4net's context."""
_OF_A_SERVICE = re.compile(r"(?:[\w.-]{1,80}/\d{1,10} on [\w.-]{1,255}: )?(?=\{)")
"""Bunyan's, between a level and an object."""
_JUL = re.compile(r"(?P<stamp>[A-Z][a-z]{2} \d\d?, \d{4},? \d\d?:\d\d:\d\d [AP]M) (?P<logger>[\w.$]+)(?: [^ ]+)?\s*\Z")
_JUL_LEVEL = re.compile(r"(?P<level>FINEST|FINER|FINE|CONFIG|INFO|WARNING|SEVERE): ")
_LEAD = re.compile(
    r"(?:-+ |[DIWEF], |\[[A-Za-z]{2,20}\] ?)?"
    r"(?:\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\]?:? ?|(?:debug|info|warn|error): )?(?:-+ )?(?=\[?\d{4}[-/])"
)
"""A level, Ruby's letter for one, or a program's name in brackets, before the time."""
_AS_SHIPPED = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d):([0-5]\d),(\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (\[.*) \(([\w.$]+)\)"
)
"""A broker's line as Kafka's own log4j settings print it: the most frequent layout, taken apart at once."""
_LOGFMT = re.compile(r"(?:time|ts|t|level|lvl|msg)=")
_TIME_AS_A_FIELD = re.compile(r"(?:time|ts|t)=\"?(?P<time>\d{4}[^\"=\s]{0,30}(?: [^\"=\s]{1,30})?)\"? (?=\w)")
"""Before a line that is not made of fields otherwise."""
_LABEL_LENGTH = 40
_EXCEPTION_FOLLOWS = ("] Rebalance failed.", " and rejoin the consumer group.")
"""Ends of a Java client's messages that lack their reason: it is the exception in the lines behind them."""
_EXCEPTION = re.compile(r"(?:[a-z]\w{0,30}\.){1,12}[A-Z]\w{0,80}(?:Exception|Error)\b")
_CONTINUES = ("\t", " ", "at ", "Caused by:", "... ")
_OF_NODE_S_DEBUG = re.compile(r"\s{1,4}[a-z][\w.-]{1,60}:[A-Za-z][\w:.-]{0,60} ")
"""Its lines are indented, and begin with who prints them."""
_MOST_PREFIXES = 16
"""Maximum number of marks or prefixes before a message, and of times."""
_OF_TIME = ("at_ms", "clock", "is_whole_seconds", "month_first_ms")
"""Fields of an entry."""
ENTRY_CHARACTERS = 1 << 20
ENTRY_LINES = 10_000
"""Maximum size of an entry with the lines that continue it. Further lines of it are dropped."""


class _Unfinished:
    """An entry that the next lines may continue. on_cut: gets its number once if it is longer than the limits."""

    def __init__(self, entry: Entry, on_cut: Callable[[int], None]) -> None:
        self._entry = entry
        self._on_cut = on_cut
        self._tail: list[str] = []
        self._characters = len(entry.text)
        self._lacks_exception = lacks_exception(entry.text)
        self._is_cut = False

    def takes(self, line: str) -> bool:
        """Return True if a line continues the entry, or has the exception that the entry lacks."""
        if continues(line):
            is_taken = bool(_ANSI.sub("", line).strip())
        else:
            is_taken = self._lacks_exception and (not line.strip() or is_exception(line))
        if is_taken and not self._is_cut:
            self._keep(line)
        return is_taken

    def _keep(self, line: str) -> None:
        self._lacks_exception &= not line.strip()
        self._characters += 1 + len(line)
        self._is_cut = self._characters > ENTRY_CHARACTERS or 1 + len(self._tail) == ENTRY_LINES
        if self._is_cut:
            self._on_cut(self._entry.line_number)
        else:
            self._tail.append(line)

    def finished(self) -> Entry:
        return joined(self._entry._replace(tail=(*self._tail,))) if self._tail else self._entry


class Above(NamedTuple):
    """What stands above lines of a file, and names the source of those that name none."""

    columns: tuple[int, ...] = ()
    """Those of sources, by an export's first line."""
    label: str = ""
    """The last heading of a reporter."""

    def below(self, number: int, line: str) -> Above:
        """Return what stands above the next line. number: of the line, from 1."""
        label = label_in(line)
        if number == 1:
            return Above(source_columns(line), label)
        return self._replace(label=label) if label else self

    def named(self, entry: Entry, line: str) -> Entry:
        """Return the entry of a line with its source."""
        if entry.source or not (self.label or self.columns):
            return entry
        return entry._replace(source=self.label or csv_source(line, self.columns))


NOTHING_ABOVE = Above()


def entries_in(
    file: str,
    lines: Iterable[tuple[int, str]],
    wanted: Callable[[str], bool],
    on_cut: Callable[[int], None] = lambda _: None,
    above: Above = NOTHING_ABOVE,
) -> Iterator[Entry]:
    """Yield each entry of a file, in the file's order. Skip lines that `wanted` refuses, unless they continue one.

    on_cut: gets the line number of each entry that is longer than the limits.
    """
    unfinished: _Unfinished | None = None
    heading: Entry | None = None
    for number, line in whole_lines(lines):
        begins_usually = number > 1 and line.startswith("[")  # Neither a heading nor the rest of one.
        if not begins_usually:
            above = above.below(number, line)
            if heading is not None and (found := _JUL_LEVEL.match(line)):
                # java.util.logging has two lines a record: when and where, then the level and the message.
                yield heading._replace(level=found["level"], text=line[found.end() :].rstrip())
                heading = None
                continue
        heading = None if begins_usually else jul_heading(file, number, line)
        if heading is not None:
            continue
        if unfinished is not None:
            if not begins_usually and unfinished.takes(line):
                continue
            yield unfinished.finished()
            unfinished = None
        if not wanted(line):
            continue
        unfinished = _Unfinished(above.named(entry_of(file, number, line), line), on_cut)
    if unfinished is not None:
        yield unfinished.finished()


def label_in(line: str) -> str:
    """A reporter's heading over a program's lines, as `consumer 2:`; empty: it is none."""
    return line[:-1] if line.endswith(":") and len(line) <= _LABEL_LENGTH and line[0].isalpha() else ""


def continues(line: str) -> bool:
    """Whether a line belongs to the entry before it: in a paste that is indented as a whole, one without a time."""
    if not line.startswith(_CONTINUES):
        return False
    return not line[0].isspace() or not (_is_dated(line.lstrip()) or _OF_NODE_S_DEBUG.match(line))


def _is_dated(text: str) -> bool:
    stamp = stamp_at(text)
    return stamp is not None and stamp.clock in DATED


def beginning_of(line: str) -> Entry | None:
    """The entry that a broker's line begins: it has a time, and does not continue the previous one. None: no entry."""
    entry = None if continues(line) else entry_of("", 0, line)
    return None if entry is None or entry.at_ms is None else entry


def jul_heading(file: str, number: int, line: str) -> Entry | None:
    """The first line of a record of java.util.logging: `Mar 02, 2026 4:05:11 PM some.Class method`."""
    found = _JUL.match(line)
    stamp = None if found is None else stamp_at(found["stamp"])
    if found is None or stamp is None:
        return None
    return Entry(file, number, "", stamp.at_ms, stamp.clock, stamp.is_whole_seconds, logger=found["logger"])


def entry_of(file: str, number: int, line: str) -> Entry:
    """One line, without what stands around it; as it is if its layout cannot be read."""
    try:
        return _laid_out_line(file, number, line)
    except Exception as error:
        # A line is input: whatever it makes a layout raise, the others are read.
        return Entry(file, number, line, unread=reason_of(error))


def _laid_out_line(file: str, number: int, line: str) -> Entry:
    as_shipped = _AS_SHIPPED.fullmatch(line)
    if as_shipped is not None:
        minute, second, ms, level, text, logger = as_shipped.groups()
        at_ms = minute_ms(minute)
        if at_ms is not None:
            return Entry(file, number, text, at_ms + int(second + ms), Clock.LOCAL, False, level, logger)
    text, source, outer = _unwrapped(_ANSI.sub("", line).strip())
    found = _of_fields(file, number, text)
    if found is None:
        text = _TIME_AS_A_FIELD.sub(r"\g<time> ", text, count=1) if _LOGFMT.match(text) else text
        lead = _LEAD.match(text)
        text, stamp, before = _behind_its_times(text if lead is None else text[lead.end() :], outer)
        outer = stamp or outer
        around = None if outer is None else _LABELS.match(text)
        if around is None and outer is not None and outer.clock is Clock.UTC:
            around = _JOURNAL.match(text) or _STREAM.match(text)
        if around is not None:
            named = _LABELLED_SOURCE.search(around["labels"]) if around.re is _LABELS else around
            source = source if named is None else named["source"]
            text, stamp, before = _behind_its_times(text[around.end() :], outer)
            outer, before = stamp or outer, before or outer
        found = _of_fields(file, number, text) if text.startswith("{") else None
        found = found or _object_behind_a_head(file, number, text)
        found = found or _laid_out(Entry(file, number, text), outer, before)
    if found.at_ms is None and outer is not None:
        found = _stamped(found, outer)
    return found._replace(source=found.source or source)


def _unwrapped(text: str) -> tuple[str, str, Stamp | None]:
    """A text without the marks and prefixes before it, the source that these name, and their time."""
    source, was_marked = "", False
    for _ in range(_MOST_PREFIXES):
        found = _SERVICE.match(text) or _MARKDOWN.match(text) or _GREP.match(text)
        found = found or _POD.match(text) or _COMPOSE.match(text)
        found = found or _SYSLOG_LEVEL.match(text) or _STERN.match(text)
        if found is None:
            break
        source = found.groupdict().get("source") or source
        was_marked = was_marked or found.re is _MARKDOWN
        text = text[found.end() :]
        bold = _BOLD_ENDS.match(text) if found[0].endswith("**") else None
        text = text if bold is None else f"{bold['part']} {text[bold.end() :]}"
    if was_marked:
        text = text.removesuffix("**").removesuffix("`").rstrip()
    syslog = _SYSLOG.match(text)
    if syslog is None:
        return text, source, None
    named = "/".join(filter(None, syslog.group("machine", "source", "host")))
    return text[syslog.end() :], named, stamp_at(syslog["time"] + " ")


def _of_fields(file: str, number: int, text: str) -> Entry | None:
    """An entry of a text that is made of fields: CSV, JSON or logfmt. A field that is a line itself is read as one."""
    from_csv = csv_line(text)
    if from_csv is not None:
        field, stamp = from_csv
        line = entry_of(file, number, field)
        return line if line.at_ms is not None or stamp is None else _stamped(line, stamp)
    if text.startswith("{"):
        entry = entry_of_json(file, number, text)
    else:
        pairs = logfmt_fields(text) if _LOGFMT.match(text) else None
        entry = None if pairs is None else entry_of_fields(file, number, dict(pairs))
    if entry is None or not (entry.message.startswith("{") or stamp_at(entry.message.lstrip("["))):
        return entry
    inner = entry_of(file, number, entry.message)
    if inner.at_ms is None:
        inner = inner._replace(**{name: getattr(entry, name) for name in _OF_TIME})
    return inner._replace(source=inner.source or entry.source)


def _behind_its_times(text: str, outer: Stamp | None) -> tuple[str, Stamp | None, Stamp | None]:
    """A text behind all the times that it begins with, the last of these, and the one before it."""
    stamp = stamp_at(text)
    for _ in range(_MOST_PREFIXES):
        if stamp is None:
            break
        rest = text[stamp.length :].lstrip(" \t|")
        cri = _CRI.match(rest)
        text = rest[cri.end() :] if cri else rest
        inner = stamp_at(text)
        if inner is None:
            break
        outer, stamp = stamp, inner
    return text, stamp, outer


def _object_behind_a_head(file: str, number: int, text: str) -> Entry | None:
    """An entry of JSON that has a level, a logger or a service before it; None: there is no such object."""
    if not text.endswith("}"):
        return None
    head = _laid_out(Entry(file, number, text), None, None)
    service = _OF_A_SERVICE.match(head.text)
    found = None if service is None else _of_fields(file, number, head.text[service.end() :])
    if found is None:
        return None
    return found._replace(level=found.level or head.level, logger=found.logger or head.logger)


def _laid_out(entry: Entry, stamp: Stamp | None, outer: Stamp | None) -> Entry:
    """The level, the logger and the message of a text behind its time."""
    zap = ZAP.match(entry.text)
    head = head_of(entry.text) if zap is None else None
    if zap is not None:
        entry = entry._replace(text=entry.text[zap.end() :], level=zap["level"].upper(), logger=zap["logger"] or "")
    elif head is None:
        entry = of_java(entry)
    else:
        text = entry.text[head.length :]
        aside = _IN_BRACKETS.match(text) if head.logger else None
        text = text if aside is None else text[aside.end() :]
        if stamp is None:
            text, stamp, outer = _behind_its_times(text, outer)
            text = text if stamp is None else text.lstrip(":")
        entry = entry._replace(text=text, level=head.level, logger=head.logger, source=head.process)
    behind = fields_behind(entry.text, blanks=zap is not None) if entry.text.endswith("}") else None
    if behind is not None:
        entry = entry._replace(message=behind[0], fields=behind[1])
    if stamp is None:
        return entry
    if stamp.clock is Clock.TIME_OF_DAY and outer is not None and outer.clock is not Clock.TIME_OF_DAY:
        stamp = outer
    return _stamped(entry, stamp)


def _stamped(entry: Entry, stamp: Stamp) -> Entry:
    at_ms, clock, is_whole_seconds, _, month_first_ms = stamp
    return entry._replace(at_ms=at_ms, clock=clock, is_whole_seconds=is_whole_seconds, month_first_ms=month_first_ms)


def lacks_exception(text: str) -> bool:
    """Return True if a message continues with the exception in the following lines."""
    return text.endswith(_EXCEPTION_FOLLOWS)


def is_exception(text: str) -> bool:
    """Return True if a text begins with an exception of Java's."""
    return _EXCEPTION.match(text) is not None


def joined(entry: Entry) -> Entry:
    """An entry whose message continues in the following lines: those that are not stack frames belong to its text."""
    if not entry.tail:
        return entry
    stripped = filter(None, map(str.strip, entry.tail))
    more = [line for line in stripped if not line.startswith(("at ", "Caused by:", "... "))]
    if not more or "\t" in entry.tail[0]:
        return entry
    text = " ".join((entry.text, *more))
    closing = None if entry.logger else CLOSING.search(text)
    return entry._replace(text=text if closing is None else text[: closing.start()])
