"""The head of a line that Python's logging, loguru or Celery lays out: level, logger and what stands between.

People choose these layouts themselves, so no list of them is complete: `time - logger - LEVEL - text`,
`LEVEL:logger:text`, `[LEVEL] [logger] text`, `LEVEL | logger:function:line - text`, with a thread or process anywhere.
A head is read piece by piece, and believed if it has a dotted logger and a level, or a logger in brackets.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SEPARATORS = r"[\s|:,/-]{0,40}"
_LEVELS = "TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|SUCCESS"
LEVEL = rf"\[?(?P<level>{_LEVELS})\]?"
_LOGGER = r"\[?(?P<logger>[a-z_]\w{0,60}(?:\.\w{1,60}){1,10})(?:(?::[\w<>]{1,80})?:\d{1,6})?\]?"
_ASIDE = r"\[[^\]\[=]{1,100}\]|(?:Main|Fork|Spawn)?(?:PoolWorker|Thread|Process)(?:-\d{1,9})*|\d{1,9}"
_PROCESS = rf"(?P<process>[A-Za-z][\w@-]{{0,40}})(?=\s+\[?(?:{_LEVELS})\b)"
_PIECE = re.compile(rf"{SEPARATORS}(?:(?:{LEVEL}|{_LOGGER}|{_ASIDE}|{_PROCESS})(?=[\s|:,/\]-])\]?)")
_END = re.compile(SEPARATORS)
_DEFAULT = re.compile(rf"(?P<level>{_LEVELS}):(?P<logger>[\w.-]{{1,100}}):(?=\S)")
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
