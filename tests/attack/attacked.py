"""What can be attacked: an input of the product, how a hostile case of it is made, and what it must stand.

Knows what every input has in common; must not know any of them.
"""

from __future__ import annotations

import logging
from random import Random
from types import TracebackType
from typing import Protocol


class Finding(Exception):
    """A case did what no case may do; the text says what, the same for the same fault."""


class FindingOfLog(logging.Handler):
    """Makes a finding of what a program would log and go on, until it is closed."""

    def __init__(self, name: str, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._logger = logging.getLogger(name)
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        raise Finding(record.getMessage())

    def close(self) -> None:
        self._logger.removeHandler(self)
        super().close()


def raised_at(error: BaseException) -> TracebackType:
    """Where an error was raised."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


class Attacked(Protocol):
    """One input of the product. Whatever `play` raises is a finding, and so is a case that takes too long."""

    name: str
    slow_s: float
    """A case may take so much processor time."""

    def renew(self) -> None:
        """Begins anew, as the product does after a start; called before the first case, and now and then.

        Nothing, where nothing is kept from case to case.
        """
        return

    def case(self, random: Random) -> bytes:
        """A hostile case, made of nothing but these random numbers."""

    def play(self, case: bytes) -> int:
        """Gives a case to the product; of how many hostile pieces it was. Raises Finding."""

    def close(self) -> None:
        """Ends the product, where something is open."""
        return

    def figures(self) -> str:
        """What else is worth reporting of the cases so far, empty if nothing."""
        return ""
