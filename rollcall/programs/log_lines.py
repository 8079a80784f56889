"""Log lines of programs that serve, on standard error; whatever others put into them is shown and never acts.

A name, an error's text or a peer's word may hold a newline, which forges a line, or what acts on a terminal. A log line
is one line, what stands below it (a traceback) is indented, and of both such characters are written out. For programs
that read them, lines are JSON instead: {"at", "level", "logger", "message"}, and "trace" where there is one.

Knows logging; must not know who logs what.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, Literal

from rollcall.programs.timestamps import iso_utc
from rollcall.programs.visible import visible

Form = Literal["text", "json"]
FORMAT = "%(asctime)s %(name)s: %(message)s"
_INDENT = "  "


class VisibleFormatter(logging.Formatter):
    """The usual line, with `visible` text alone."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _below(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _below(super().formatStack(stack_info))


class JsonFormatter(logging.Formatter):
    """A line that is a JSON object, in which no text can act or forge another line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": iso_utc(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


_sentences = logging.getLogger("rollcall")


def log_to_standard_error(level: int, form: Form = "text") -> None:
    """From now on this process's log lines of at least this level are written, each made visible."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else VisibleFormatter(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
    _sentences.setLevel(logging.INFO)


def tell(sentence: str, *, is_error: bool = False) -> None:
    """Prints a sentence for the user, on standard output or error; as a log line if log lines are JSON."""
    if any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers):
        _sentences.log(logging.ERROR if is_error else logging.INFO, "%s", sentence)
    else:
        print(f"rollcall: {visible(sentence)}", file=sys.stderr if is_error else sys.stdout, flush=True)


def _below(text: str) -> str:
    return "\n".join(_INDENT + visible(line) for line in text.split("\n"))
