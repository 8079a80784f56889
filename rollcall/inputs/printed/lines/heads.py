"""The head of a line, as loggers lay it out: level, logger and what stands between.

`of_java` reads the layouts of log4j, logback and their like, which loggers of Go, .NET and Node share, and what they
put behind a message. `head_of` reads those of Python's logging, loguru and Celery: people choose them themselves, so no
list of them is complete (`time - logger - LEVEL - text`, `LEVEL:logger:text`, `[LEVEL] [logger] text`, `LEVEL |
logger:function:line - text`, with a thread or process anywhere). Such a head is read piece by piece, and believed if it
has a dotted logger and a level, or a logger in brackets. Knows layouts, not what lines say.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rollcall.inputs.printed.lines.entries import Entry

_LEVEL = re.compile(
    r"\[?(?P<level>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|VRB|DBG|INF|WRN|ERR|FTL) {0,8}\]?:?\s+"
    r"|(?:[A-Z]{3} )?\[(?P<bracketed>[a-z]{3,8}) {0,8}\]:?\s+"
    r"|(?P<small>trace|debug|info|notice|warn(?:ing)?|error|trce|dbug|fail|crit):\s+"
)
"""In small letters it is in brackets, or has a colon behind it."""
_FILE = r"(?:[\w.@-]{1,80}/){0,9}[\w.@-]{1,80}\.(?:go|rs|py|js|ts|rb):\d{1,6}[:\]]?\s+"
_CALLER = re.compile(rf"(?:\d{{1,10}} )?{_FILE}")
"""The file and line that a call of the logger stands in; glog has a thread before it."""
ZAP = re.compile(rf"(?P<level>[A-Za-z]{{4,6}})\s+(?:(?P<logger>[\w.-]{{1,80}})\s+)?{_FILE}")
"""Zap's console, whose tabs may be blanks in a paste."""
_OF_MONOLOG = " [] []"
"""What Monolog has behind a message that has no fields."""
_OF_LIBERTY = re.compile(r"[0-9a-f]{8} (?P<logger>[\w.$]{1,80}) +[A-Z] +")
_JUL_ONE_LINE = re.compile(
    r"(?P<logger>[\w.$]{1,200}) [\w.$<>]{1,100} (?P<level>FINEST|FINER|FINE|CONFIG|INFO|WARNING|SEVERE): "
)
_OF_DOT_NET = re.compile(r"(?P<logger>[A-Za-z_][\w.`+-]{0,200})\[\d{1,9}\]\s+")
"""As .NET's console prints it on one line, with the number of an event."""
_SPARK_CLASS = re.compile(r"(?P<logger>(?:\w{1,80}\.){0,9}[A-Z][\w$]{1,80})(?<!Exception)(?<!Error): ")
_THREAD = re.compile(r"\[[^\]\[]{1,200}\]\s+(?=[\w.$]+(?::\d+)?\s+-\s)")
_SHORT_CLASS = re.compile(r"(?P<logger>[\w.$]+)(?::\d+)?\s+-\s")
CLOSING = re.compile(r" \((?P<logger>[\w.$]+)(?::\d+)?\)(?: \[[^\]\[]*\])?\Z")
_CLOSING_IN_BRACKETS = re.compile(r" {2,4}\[(?P<logger>[a-z]\w*(?:\.\w+){2,20}(?:\$\w+)?)\]\Z")
"""As Debezium's images close a line."""


def of_java(entry: Entry) -> Entry:
    """Return an entry with its level, logger and message apart, in the layouts of log4j, logback and their like."""
    text, level, logger = entry.text.removesuffix(_OF_MONOLOG), "", ""
    found = _LEVEL.match(text)
    if found is not None:
        level, text = (found["level"] or found["bracketed"] or found["small"]).upper(), text[found.end() :]
    caller = _CALLER.match(text)
    text = text if caller is None else text[caller.end() :]
    named = _JUL_ONE_LINE.match(text) or _OF_LIBERTY.match(text)
    named = named or ((_SPARK_CLASS.match(text) or _OF_DOT_NET.match(text)) if level else None)
    if named is not None:
        level = named.groupdict().get("level") or level
        return entry._replace(text=text[named.end() :], level=level, logger=named["logger"])
    thread = _THREAD.match(text)
    text = text if thread is None else text[thread.end() :]
    short = _SHORT_CLASS.match(text)
    closing = CLOSING.search(text) or _CLOSING_IN_BRACKETS.search(text)
    if short is not None:
        logger, text = short["logger"], text[short.end() :]
    elif closing is not None:
        logger, text = closing["logger"], text[: closing.start()]
    return entry._replace(text=text, level=level, logger=logger)


SEPARATORS = r"[\s|:,/-]{0,40}"
_NAMED_LEVELS = "TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|SUCCESS"
LEVEL = rf"\[?(?P<level>{_NAMED_LEVELS})\]?"
_LOGGER = r"\[?(?P<logger>[a-z_]\w{0,60}(?:\.\w{1,60}){1,10})(?:(?::[\w<>]{1,80})?:\d{1,6})?\]?"
_ASIDE = r"\[[^\]\[=]{1,100}\]|(?:Main|Fork|Spawn)?(?:PoolWorker|Thread|Process)(?:-\d{1,9})*|\d{1,9}"
_PROCESS = rf"(?P<process>[A-Za-z][\w@-]{{0,40}})(?=\s+\[?(?:{_NAMED_LEVELS})\b)"
_PIECE = re.compile(rf"{SEPARATORS}(?:(?:{LEVEL}|{_LOGGER}|{_ASIDE}|{_PROCESS})(?=[\s|:,/\]-])\]?)")
_END = re.compile(SEPARATORS)
_DEFAULT = re.compile(rf"(?P<level>{_NAMED_LEVELS}):(?P<logger>[\w.-]{{1,100}}):(?=\S)")
"""As logging prints it if nobody configures it."""
_PIECES = 6
"""More stand in no head."""


_ASIDES = re.compile(rf"(?:{SEPARATORS}(?:{LEVEL.replace('?P<level>', '?:')}|{_ASIDE})(?=[\s|:,/\]-]))*{SEPARATORS}")


class LineHead(NamedTuple):
    level: str
    logger: str
    length: int
    process: str = ""
    """A word before the level: the process, where several print into one file."""


def asides_length(text: str) -> int:
    """How many characters of levels, threads and numbers a text without a logger begins with."""
    found = _ASIDES.match(text)
    return 0 if found is None else found.end()


def head_of(text: str) -> LineHead | None:
    """The head that a text without its time begins with; None: it has no such head."""
    default = _DEFAULT.match(text)
    if default is not None:
        return LineHead(default["level"], default["logger"] if "." in default["logger"] else "", default.end())
    level = logger = process = ""
    is_bracketed, end = False, 0
    for _ in range(_PIECES):
        found = None if level and logger else _PIECE.match(text, end)
        if found is None or (level and found["level"]) or (logger and found["logger"]):
            break
        level, logger = found["level"] or level, found["logger"] or logger
        process = found["process"] or process
        is_bracketed = is_bracketed or (found["logger"] is not None and "[" in found[0])
        end = found.end()
    is_apart = text[:1] in ("-", "|", ":")
    if not (logger and (level or is_bracketed)) and not (level and is_apart):
        return None
    separators = _END.match(text, end)
    return LineHead(level, logger, end if separators is None else separators.end(), process)
