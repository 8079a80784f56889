"""Log lines of programs that serve, on standard error; whatever others put into them is shown and never acts.

A name, an error's text or a peer's word may hold a newline, which forges a line, or what acts on a terminal. A log line
is one line, what stands below it (a traceback) is indented, and of both such characters are written out.

Knows logging; must not know who logs what.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from programs.visible import visible

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


def log_to_standard_error(level: int) -> None:
    """From now on this process's log lines of at least this level are written, each made visible."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])


def _below(text: str) -> str:
    return "\n".join(_INDENT + visible(line) for line in text.split("\n"))
